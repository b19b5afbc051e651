"""Encryption of a file: its key, and what SQLite3 Multiple Ciphers is told.

Each page, also of the log, is encrypted and authenticated by ChaCha20-Poly1305. Where a plain file begins with the name of
its format, an encrypted one begins with 16 random bytes: the salt of its key.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import Any, Protocol

import apsw

from mnemic.errors import ConfigurationError, MissingExtra, WrongKey

KEY, SALT, HEAD = 32, 16, 24
"""Bytes of a key, of a salt, and of the beginning of a file that tells whether it is encrypted."""
COST = 1 << 16
"""Of scrypt, with blocks of 8: 64 MB and 0.2 s for each guess of a passphrase. A constant of the format."""
_PLAIN = b"SQLite format 3\0"
_FRACTIONS = b"\x40\x20\x20"
"""What every SQLite file has at offset 21, encrypted or not."""


class Keyed(Protocol):
    """A connection that can be given a key."""

    def pragma(self, name: str, value: str | int | None = None) -> Any:
        """Set a pragma."""
        ...


class Cipher:
    """The key of one file, derived once for all connections to it.

    Args:
        key: a passphrase, or 32 bytes that are the key itself.
        salt: that of an existing file; by default a new one.
    """

    def __init__(self, key: str | bytes, salt: bytes = b"") -> None:
        salt = salt or secrets.token_bytes(SALT)
        if isinstance(key, str):
            key = hashlib.scrypt(key.encode(), salt=salt, n=COST, r=8, p=1, maxmem=COST << 11, dklen=KEY)
        self._text = f"raw:{key.hex()}{salt.hex()}"

    def unlock(self, db: Keyed) -> None:
        """Give a connection the key, before anything is read."""
        db.pragma("cipher", "chacha20")
        db.pragma("key", self._text)

    @property
    def query(self) -> str:
        """The key as the query of a URI."""
        return f"cipher=chacha20&key={self._text}"


def checked_key(key: object) -> str | bytes | None:
    """A key that can be used here; None for none.

    Raises:
        ConfigurationError: it is neither a passphrase nor 32 bytes.
        MissingExtra: the SQLite of this installation cannot encrypt.
    """
    if key is None:
        return None
    if not (isinstance(key, str) and key.isprintable() and key) and not (isinstance(key, bytes) and len(key) == KEY):
        raise ConfigurationError(
            f"key must be a passphrase, or {KEY} bytes such as secrets.token_bytes({KEY}). The one given is a "
            f"{type(key).__name__} that is neither."
        )
    if not hasattr(apsw, "mc_version"):
        raise MissingExtra(
            "An encrypted memory",
            "encrypted",
            run="pip install --force-reinstall --no-deps apsw-sqlite3mc (its files have the names of apsw's: it has to be "
            "installed last, and again after each upgrade of apsw)",
        )
    return key


def head_of(path: Path) -> bytes:
    """The beginning of a file; empty if there is none.

    It is read through SQLite: closing an ordinary file handle would release the locks of this process on the file.
    """
    try:
        file = apsw.VFSFile("", str(path.absolute()), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    except (apsw.Error, ValueError):  # missing or not accessible: reported on opening
        return b""
    try:
        return file.xRead(HEAD, 0) if file.xFileSize() >= HEAD else b""
    except apsw.Error:
        return b""
    finally:
        file.xClose()


def is_encrypted(path: Path) -> bool:
    """Whether a file is an encrypted database."""
    return os.path.isfile(path) and _is_encrypted(head_of(path))  # noqa: PTH113 - Path.is_file may raise


def _is_encrypted(head: bytes) -> bool:
    return head[21:24] == _FRACTIONS and not head.startswith(_PLAIN)


def cipher_for(path: Path, head: bytes, key: str | bytes | None) -> Cipher | None:
    """The cipher of a file that begins with ``head``; None for a plain one.

    Raises:
        WrongKey: the file is encrypted and there is no key, or the reverse.
    """
    if key is None:
        if _is_encrypted(head):
            raise WrongKey(
                f"{path} is encrypted. Give its key: key=...; the commands take it from MNEMIC_KEY or the keyring."
            )
        return None
    if head.startswith(_PLAIN):
        raise WrongKey(
            f"{path} is not encrypted, and a key was given. Encrypt it with mnemic rekey, or open it without the key."
        )
    return Cipher(key, head[:SALT])
