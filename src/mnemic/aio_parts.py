"""The parts of AsyncMemory, each method one call on a worker thread."""

from __future__ import annotations

from mnemic.admin import Admin
from mnemic.lifecycle.links import Links
from mnemic.lifecycle.sessions import Sessions
from mnemic.runtime.settings import Settings
from mnemic.services.threads import OnWorkers, on_worker


class AsyncLinks(OnWorkers):
    """See ``Links``."""

    add = on_worker(Links.add)
    remove = on_worker(Links.remove)
    graph = on_worker(Links.graph)


class AsyncSessions(OnWorkers):
    """See ``Sessions``."""

    current = on_worker(Sessions.current)
    end = on_worker(Sessions.end)
    summarize = on_worker(Sessions.summarize)


class AsyncAdmin(OnWorkers):
    """See ``Admin``."""

    _wrapped: Admin

    @property
    def location(self) -> str:
        """See ``Admin.location``."""
        return self._wrapped.location

    @property
    def settings(self) -> Settings:
        """See ``Admin.settings``."""
        return self._wrapped.settings

    def redacted(self, text: str) -> str:
        """See ``Admin.redacted``; it does no I/O."""
        return self._wrapped.redacted(text)

    def without_recalled(self, text: str) -> str:
        """See ``Admin.without_recalled``; it does no I/O."""
        return self._wrapped.without_recalled(text)

    quarantine = on_worker(Admin.quarantine)
    release = on_worker(Admin.release)
    without_forgotten = on_worker(Admin.without_forgotten)
    emotion = on_worker(Admin.emotion)
    verify = on_worker(Admin.verify)
    flush = on_worker(Admin.flush)
    erased = on_worker(Admin.erased)
    log = on_worker(Admin.log)
    contexts = on_worker(Admin.contexts)
    counts = on_worker(Admin.counts)
    histogram = on_worker(Admin.histogram)
    questions = on_worker(Admin.questions)
    reembed = on_worker(Admin.reembed)
    backup = on_worker(Admin.backup)
    rekey = on_worker(Admin.rekey)
    export = on_worker(Admin.export)
    import_file = on_worker(Admin.import_file)
    import_from = on_worker(Admin.import_from)
    sync = on_worker(Admin.sync)
    vector = on_worker(Admin.vector)
    retire = on_worker(Admin.retire)
    erase_user = on_worker(Admin.erase_user)
