"""The language of a search, for an embedder that knows English alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.errors import StoreError
from mnemic.text.english import is_english, mostly_english
from mnemic.types import RecordFilter

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime
    from mnemic.types import Hit

SAMPLE, FEWEST = 200, 10
"""Latest messages of which the language is detected, and the least number for a warning, which is not given twice."""

_SUBJECT = "The embedder does not know the language"
_ADVICE = (
    "most of the latest messages are not English, the only one that {model} knows. They are found by their words, and no "
    'result is graded strong. Open the memory with embedder="multilingual" and call memory.admin.reembed() once. This '
    "warning is given once per record."
)


def in_english(question: str, hits: Sequence[Hit]) -> bool:
    """Whether a question and its first hit are English."""
    return is_english(question) and all(is_english(hit.text) for hit in hits[:1])


def warn_of_other_languages(runtime: Runtime, user: str) -> None:
    """Warn, once per record, if most of what a user said lately is not English."""
    if runtime.notices.given(_SUBJECT):
        return
    latest = runtime.store.list_messages(user, RecordFilter(reach="user"), limit=SAMPLE, newest=True)
    if len(latest) < FEWEST or mostly_english([message.content for message in latest]):
        return
    try:
        given_before = not runtime.store.embedding.first_notice("language")
    except StoreError:  # a search goes on where nothing can be written
        given_before = False
    runtime.notices.warn(_SUBJECT, _ADVICE.format(model=runtime.indexer.embedder.id), given_before=given_before)
