"""What a new memory means for those it concerns."""

from mnemic.extraction.resolving import Resolution
from mnemic.flows.learning import related_changes
from mnemic.testing import memory_record
from mnemic.types import PutLink


def test_the_reason_for_one_never_quotes_another():
    known = {id_: memory_record(f"The code is {id_}.", id=id_) for id_ in ("first", "second", "third")}
    new = memory_record("The code is new.", id="new")
    for outcome in ("update", "outdated", "contradiction"):
        said = Resolution(outcome, ("first", "second"), 1.0, "the code is new, known is first", shortens=("third",))
        changes = related_changes(new, said, known)
        assert len(changes) == 3
        reasons = [change.link.reason if isinstance(change, PutLink) else change.reason for change in changes]
        assert reasons[0] == said.reason
        assert all(reason and "first" not in reason for reason in reasons[1:])
