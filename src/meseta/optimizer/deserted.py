"""Whether a Dask cluster has lost its last worker.

It waits for another one, without a word and without end. Its nannies do not start a worker again
that dies while it starts, as it does where f ends its process at once.
"""

import time
from concurrent.futures import Executor
from typing import Any

GONE = 90.0  # seconds without any worker, after which none is expected


class Watched:
    """The cluster behind an executor; there is nothing to see at any other executor."""

    def __init__(self, executor: Executor) -> None:
        client = getattr(executor, "_client", None)
        sees = all(hasattr(client, name) for name in ("nthreads", "get_events"))
        self._client: Any = client if sees else None
        self._since: float | None = None  # when it was first seen without workers

    def is_deserted(self) -> bool:
        """Whether all workers are gone for long, and the last one did not leave by request."""
        if self._client is None:
            return False
        try:
            if self._client.nthreads():
                self._since = None
                return False
            now = time.monotonic()
            self._since = now if self._since is None else self._since
            return now - self._since >= GONE and self._died()
        except Exception:  # a cluster that is away says so by its futures
            return False

    def _died(self) -> bool:
        events = [event for _, event in self._client.get_events("all")]
        left = [each for each in events if each.get("action") == "remove-worker"]
        return bool(left) and not left[-1].get("expected", True)
