"""A memory on which awkward input is tried: what it gives, what it refuses, how long it takes, and that nothing is harmed."""

import re
import time
import unicodedata

from tests.faults import corpus

from mnemic import Memory, MnemicError
from mnemic.text.markup import is_blank

__all__ = ["CANARY", "HANGS", "LONGEST", "QUERY", "REFUSED", "Trial", "kept", "loosely", "plain"]

SURROGATE = re.compile("[\ud800-\udfff]")
HANGS = 5.0
"""Seconds of processor time, for every million characters begun, after which a call counts as hanging: waiting for a busy
machine is not counted."""
LONGEST, QUERY = 1_000_000, 100_000
CANARY = "The lighthouse keeper repairs the brass clock on Sundays."
REFUSED = (ValueError, TypeError, RecursionError, DeprecationWarning, corpus.Shout)
"""By what the schemas of the frameworks refuse values that are no text; whether ``NotImplemented`` is true is deprecated."""


def kept(text: str) -> str:
    """A text as it is kept: lone surrogates become U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


def plain(value: object, longest: int = LONGEST) -> bool:
    """Whether an entrance has to take it."""
    return isinstance(value, str) and len(value) <= longest and not is_blank(kept(value))


def loosely(text):
    """A text without what makes no other statement of it: how its letters are composed, and its white space."""
    return tuple(unicodedata.normalize("NFC", text).split())


class Trial:
    """A memory with something in it, and what has been tried on it."""

    def __init__(self) -> None:
        self.memory = Memory(":memory:", embedder="hashing", secrets="allow")
        self.memory.remember(CANARY, id="canary")
        self.tried, self.slowest = 0, 0.0

    def attempt(self, case, call, *also: type[BaseException], longest=LONGEST):
        """What a call gives, or the typed error it raises."""
        began = time.process_time()
        try:
            return call()
        except (MnemicError, *also) as error:
            return self.refused(case, error, forgiven=bool(also) or not plain(case.value, longest))
        finally:
            self.timed(case, time.process_time() - began)

    def framework(self, case, call, *also: type[BaseException], longest=LONGEST):
        """The same through a framework: it takes texts, and other values it may refuse by errors of the framework."""
        own = () if isinstance(case.value, str) and plain(case.value, longest) else (*REFUSED, *also)
        return self.attempt(case, call, *own, longest=longest)

    def timed(self, case, seconds: float) -> None:
        """Count a call, which must not hang."""
        self.tried += 1
        size = len(case.value) if isinstance(case.value, str) else 0
        self.slowest = max(self.slowest, seconds)
        assert seconds < HANGS * (1 + size // 1_000_000), f"{case} hangs: {seconds:.1f} s"

    @staticmethod
    def refused(case, error, *, forgiven):
        """An error that says something, about what need not be taken."""
        assert forgiven, f"{case}: refused by {error!r}"
        assert str(error), case
        return error

    def holds(self, cases) -> None:
        """What an entrance took is there, as it was said; of those that make the same statement, one."""
        records = self.memory.list(limit=None, include_expired=True)
        held = {loosely(record.content): record.content for record in records}
        taken = [kept(case.value) for case in cases if plain(case.value)]
        missing = [text for text in taken if loosely(text) not in held]
        assert not missing, missing[:5]
        altered = {held[loosely(text)] for text in taken} - {*taken}
        assert not altered, list(altered)[:5]

    def unharmed(self) -> None:
        """Nothing is lost, and searching works as before."""
        assert self.memory.search("Who repairs the brass clock?", k=1)[0].id == "canary"
        assert self.memory.get("canary").content == CANARY
        report = self.memory.admin.verify()
        assert report.ok, report.findings
