"""Long work behind a progress bar: it goes on when the page is left."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from mnemic.errors import Conflict, MnemicError

Progress = Callable[[int, int], None]
KEPT = 50
"""Most finished jobs that can still be looked at."""


@dataclass(slots=True)
class Job:
    """One piece of work: its name, progress, and how it ended."""

    id: str
    name: str
    done: int = 0
    total: int = 0
    result: str = ""
    error: str = ""
    ended: bool = False

    def progress(self, done: int, total: int) -> None:
        """Note how far it is."""
        self.done, self.total = done, total


@dataclass(slots=True)
class Jobs:
    """The work of one explorer, one piece at a time."""

    _jobs: dict[str, Job] = field(default_factory=dict[str, Job])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, name: str, work: Callable[[Progress], str]) -> Job:
        """Start work on a thread; ``work`` returns a sentence about its result.

        Raises:
            Conflict: other work is under way.
        """
        with self._lock:
            if busy := next((job for job in self._jobs.values() if not job.ended), None):
                raise Conflict(f"{busy.name} is under way. Try again when it has ended.")
            for old in [*self._jobs][: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[old]
            id_ = secrets.token_urlsafe(9)
            job = self._jobs[id_] = Job(id_, name)
        threading.Thread(target=self._run, args=(job, work), name="mnemic-ui-job", daemon=True).start()
        return job

    @staticmethod
    def _run(job: Job, work: Callable[[Progress], str]) -> None:
        try:
            job.result = work(job.progress)
        except MnemicError as error:
            job.error = str(error)
        except Exception as error:  # noqa: BLE001 - shown on the page; a thread has no other reader
            job.error = f"{type(error).__name__}: {error}"
        finally:
            job.ended = True

    def get(self, id_: str) -> Job | None:
        """A job that is under way or ended not long ago."""
        return self._jobs.get(id_)
