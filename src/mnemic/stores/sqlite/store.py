"""The SQLite store: rows, full text and vectors in one file, written in one transaction."""

from __future__ import annotations

import os
import stat
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from mnemic import errors
from mnemic.paths import path_of
from mnemic.protocols import Progress
from mnemic.services.processes import FileLock
from mnemic.stores.sql.connection import Durability
from mnemic.stores.sql.feed import SqlFeed
from mnemic.stores.sql.store import SqlStore
from mnemic.stores.sqlite import copies
from mnemic.stores.sqlite.cipher import Cipher, checked_key, is_encrypted
from mnemic.stores.sqlite.database import Database
from mnemic.stores.sqlite.erasure import Erasure
from mnemic.stores.sqlite.integrity import SqliteIntegrity
from mnemic.types import VerifyReport

FILE_NAME = "mnemic.db"


def _checked_path(folder: str | Path) -> Path:
    """The absolute path, checked for characters that the system or SQLite cannot handle."""
    path = path_of(folder, error=errors.ConfigurationError).absolute()  # the working directory may change
    try:
        str(path).encode()  # SQLite takes paths in UTF-8
        path.stat()
    except OSError:  # missing or not accessible: reported on opening
        return path
    except ValueError as error:
        raise errors.ConfigurationError(f"{str(folder)!r:.80} cannot be a folder here: {error}.") from error
    return path


def prepared(folder: Path) -> Path:
    """Create the folder, private and ignored by git; returns the path of the file.

    Raises:
        StoreUnavailable: it cannot be created or written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        gitignore = folder / ".gitignore"
        if not gitignore.exists() and not (folder / FILE_NAME).exists():
            gitignore.write_text("*\n")
    except FileExistsError as error:
        raise errors.StoreUnavailable(
            f"{folder} is a file; the memory needs a folder of its own. Give another path."
        ) from error
    except OSError as error:
        if not os.path.isfile(folder / FILE_NAME):  # noqa: PTH113 - Path.is_file raises for names that are too long
            raise errors.StoreUnavailable(f"The folder {folder} cannot be created or written: {error}.") from error
    return folder / FILE_NAME


class Feed(SqlFeed[Database]):
    """See ``RecordFeed``. The file has one writer at a time, so events are committed in the order of their numbers."""

    @property
    def folder(self) -> Path | None:
        """The folder of the file."""
        return None if self._db.path is None else self._db.path.parent

    def lock(self, what: str) -> FileLock:
        """A lock on a file in the folder.

        Raises:
            ConfigurationError: the record is in RAM.
        """
        if self.folder is None:
            raise errors.ConfigurationError(
                "A record in RAM is searched exactly and cannot be indexed in Chroma. Give the memory a folder, or leave "
                "vectors= out."
            )
        path = self.folder / f"{what}.lock"
        with suppress(OSError):  # without it the lock cannot be acquired
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock(path)


class SqliteStore(SqlStore[Database]):
    """A record in a folder. Safe for several threads and several processes at once.

    Args:
        folder: the folder of the file; created if missing, readable by its owner only. ``None`` keeps everything in RAM.
        durability: ``FULL`` survives power loss; ``NORMAL`` survives a killed process only, several times faster.
        key: encrypts the file: a passphrase or 32 bytes.

    Attributes:
        erasure: erasure, with the purge of bytes.
    """

    def __init__(
        self, folder: str | Path | None, *, durability: Durability = "FULL", key: str | bytes | None = None
    ) -> None:
        key = checked_key(key)
        path = None if folder is None else self._file(_checked_path(folder))
        super().__init__(Database(path, durability=durability, key=key), SqliteIntegrity())
        self.erasure = Erasure(self._db)

    @staticmethod
    def _file(folder: Path) -> Path:
        if copies.unfinished(folder):
            raise errors.StoreUnavailable(
                f"{folder} is an unfinished copy: its backup is running, or was interrupted. Nothing was changed. Repeat the "
                "backup, which removes the incomplete copy."
            )
        return prepared(folder)

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant of the record and that its files are in place; ``deep`` also checks the full text."""
        report, moved = super().verify(deep=deep), self._db.moved
        findings = (f"{moved}: nothing can be stored until it is opened again",) if moved else ()
        return replace(report, findings=(*report.findings, *findings))

    @staticmethod
    def at(folder: Path) -> bool:
        """Whether a folder contains a record; an empty file is none.

        Raises:
            StoreUnavailable: the folder cannot be accessed.
        """
        try:
            file = (folder / FILE_NAME).stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False
        except OSError as error:
            raise errors.StoreUnavailable(f"The folder {folder} cannot be accessed: {error.strerror}.") from error
        return stat.S_ISREG(file.st_mode) and file.st_size > 0

    @staticmethod
    def encrypted(folder: Path) -> bool:
        """Whether a folder contains an encrypted record."""
        return is_encrypted(folder / FILE_NAME)

    def backup(self, folder: Path, *, progress: Progress, check: bool = True) -> VerifyReport:
        """Copy the record into a new folder while it is in use, and verify the copy.

        Raises:
            InvalidInput: the folder is not empty.
            StoreCorrupt: the copy is damaged and ``check`` is set; it is deleted.
            StoreError: the record cannot be read, or the copy not written.
        """
        reports: list[VerifyReport] = []

        def verify_copy(copy: Path) -> None:
            with closing(_Copy(copy, key=self._db.key)) as store:
                reports.append(store.verify())
            if check and not reports[0].ok:
                raise errors.StoreCorrupt(
                    f"The copy of {self.location} is damaged: {reports[0].findings[0]}. It was deleted; check the record with "
                    "mnemic doctor --deep."
                )

        copies.copy(self._db, _checked_path(folder), FILE_NAME, verify_copy, progress)
        return reports[0]

    @property
    def key(self) -> str | bytes | None:
        """The key that the record was opened with."""
        return self._db.key

    @property
    def cipher(self) -> Cipher | None:
        """The encryption of the file; None for a plain one."""
        return self._db.cipher

    def rekey(self, key: str | bytes | None, *, progress: Progress) -> None:
        """Encrypt the record, change its key, or with None decrypt it; see ``rekey``."""
        copies.rekey(self._db, checked_key(key), progress)

    def feed(self) -> Feed:
        """The record as an outbox for a derived index. The first call gives the record its unique name.

        Raises:
            StoreReadOnly: the record cannot be written, and so not named.
        """
        return Feed(self._db)


class _Copy(SqliteStore):
    """A copy of a record in use. Memories that a consolidation had claimed are released when the copy is opened."""

    @staticmethod
    def _file(folder: Path) -> Path:
        return prepared(folder)

    def _idle(self) -> bool:
        return False


class InMemoryStore(SqliteStore):
    """A record that writes nothing to disk. All threads share one connection."""

    def __init__(self) -> None:
        super().__init__(None)
