"""The output of a process, read while it runs and kept to its end."""

import os
import threading
from collections import deque
from typing import IO

from meseta.study.terminal import harmless

LONGEST = 2**20  # bytes of output that are kept: the last ones
LAST_LINES = 12  # lines of stderr in a message
LAST_LETTERS = 2000


class Tail:
    """The last bytes of a stream, read by a thread so that the program never waits for us."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.size = 0
        self._kept: deque[bytes] = deque()
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        kept = 0
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 2**16):
                self._kept.append(chunk)
                self.size += len(chunk)
                kept += len(chunk)
                while kept - len(self._kept[0]) >= LONGEST:
                    kept -= len(self._kept.popleft())

    def finish(self, seconds: float) -> None:
        """Wait for the end; not for long, if a process that got away holds the stream open."""
        self._thread.join(seconds)

    @property
    def content(self) -> bytes:
        return b"".join(tuple(self._kept))[-LONGEST:]

    @property
    def whole(self) -> bool:
        return self.size <= LONGEST

    def lines(self) -> list[str]:
        """The lines as text that steers no terminal, for people."""
        text = self.content.decode("utf-8", errors="replace")
        return [harmless(line.expandtabs()) for line in text.splitlines() if line.strip()]

    def last_lines(self) -> str:
        """The last lines that a message can hold."""
        return "\n".join(self.lines()[-LAST_LINES:])[-LAST_LETTERS:]
