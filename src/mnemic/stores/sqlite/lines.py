"""Lines of text in an encrypted file: an SQLite file with one table, under the key of a record."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import apsw

from mnemic.errors import WrongKey
from mnemic.stores.sqlite.cipher import Cipher, checked_key, cipher_for, head_of
from mnemic.stores.sqlite.database import open_connection, translate


def write_lines(file: Path, cipher: Cipher, lines: Iterable[str]) -> None:
    """Write lines to an empty file.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        with closing(open_connection(str(file), cipher)) as db:
            db.pragma("journal_mode", "OFF")  # an unfinished file is thrown away
            db.execute("CREATE TABLE lines(number INTEGER PRIMARY KEY, line TEXT NOT NULL)")
            with db:
                for line in lines:
                    db.execute("INSERT INTO lines(line) VALUES(?)", (line,))
    except apsw.Error as error:
        raise translate(error, str(file)) from error


def read_lines(file: Path, key: str | bytes | None) -> list[str]:
    """The lines of an encrypted file.

    Raises:
        ConfigurationError: the key is not valid, or the SQLite of this installation cannot decrypt.
        WrongKey: the file has another key, or none is given.
        StoreError: it cannot be read.
    """
    try:
        with closing(open_connection(str(file), cipher_for(file, head_of(file), checked_key(key)))) as db:
            return [str(row[0]) for row in db.execute("SELECT line FROM lines ORDER BY number")]
    except apsw.NotADBError as error:
        raise WrongKey(f"The key does not open {file}. An export has the key that its record had then.") from error
    except apsw.Error as error:
        raise translate(error, str(file)) from error
