"""What adapters of agent frameworks share, for those who write one.

An adapter translates: it turns the messages of its framework into ``ThreadMessage`` values and puts recalled text into a
prompt. The rest is here:

- whose memory a call is about: ``bound``, ``ScopeSource``, ``checked_memory``, ``bind``;
- which messages of a thread are new to the record, and their ids: ``Thread``, ``thread_of``, ``sent_at``, ``evidence``,
  ``unstored_in_session``, ``edited_out``, ``has_forgotten``, ``name_of``, ``Conversation``;
- storing what a run says, each message once, and a prompt that is sent again: ``store_new``, ``last_of_session``;
- what a message in parts says, media by reference: ``text_of_parts``;
- which tools an answer was given with: ``with_tools``;
- what is recalled for an answer: ``Recall``, ``RecallOptions``, ``recall_failures_logged``, ``checked_filters``,
  ``hit_metadata``;
- the tools ``remember``, ``recall``, ``correct`` and ``forget``: ``mnemic.adapters.tools``, and their arguments:
  ``mnemic.adapters.schemas``;
- when a framework is idle: ``OpenRuns``, ``run_of``.

Shared code that reads or writes is asynchronous; ``blocking`` runs it on the caller's thread, and ``in_worker`` runs blocking
code off the event loop. ``mnemic_testing.adapters`` has the conformance suite.
"""

from mnemic.adapters.binding import (
    Handle,
    ScopeSource,
    as_async,
    bind,
    bound,
    checked_filters,
    checked_location,
    checked_memory,
    checked_options,
    location_of,
)
from mnemic.adapters.calls import OpenRuns, blocking, in_worker, log_rejected, run_of
from mnemic.adapters.conversations import (
    AGAIN,
    COMPARED,
    LATEST,
    Conversation,
    edited_out,
    has_forgotten,
    last_of_session,
    name_of,
    note_edit,
    session_messages,
    session_words,
    shown_in_session,
    store_new,
    thread_of,
    unstored_in_session,
    without_open_requests,
)
from mnemic.adapters.injection import Recall, RecallOptions, hit_metadata, recall_failures_logged
from mnemic.adapters.threads import (
    Clean,
    Marks,
    Thread,
    ThreadMessage,
    Words,
    contains,
    evidence,
    sent_at,
    with_tools,
    words_of,
)
from mnemic.ingest import text_of_parts

__all__ = [
    "AGAIN", "COMPARED", "LATEST", "Clean", "Conversation", "Handle", "Marks", "OpenRuns", "Recall", "RecallOptions",
    "ScopeSource", "Thread", "ThreadMessage", "Words", "as_async", "bind", "blocking", "bound", "checked_filters",
    "checked_location", "checked_memory", "checked_options", "contains", "edited_out", "evidence", "has_forgotten",
    "hit_metadata", "in_worker", "last_of_session", "location_of", "log_rejected", "name_of", "note_edit",
    "recall_failures_logged", "run_of", "sent_at", "session_messages", "session_words", "shown_in_session", "store_new",
    "text_of_parts", "thread_of", "unstored_in_session", "with_tools", "without_open_requests", "words_of",
]  # fmt: skip
