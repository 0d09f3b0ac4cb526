"""An entrant at work in a process of its own, with time limits."""

import json
import os
import queue
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any

HOST = Path(__file__).with_name("host.py")
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM")
}
# Seconds on the clock for one of the processor: the machine may have other work to do.
SHARED = 5.0
TAIL = 2000  # bytes of what it printed that are kept with a failure


class EntrantError(Exception):
    """The entrant did what it must not do, or died."""


class TooSlow(EntrantError):
    """The entrant took longer than it may."""


class Guest:
    """The process of an entrant; its calls return a result and the seconds it took.

    Args:
        python: The interpreter.
        file: The file of the entrant.
        run_seconds: The time limit of all calls together, in seconds of the processor.
        step_seconds: The time limit of each.
    """

    def __init__(self, python: str, file: Path, run_seconds: float, step_seconds: float) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115
        self.left, self.step_seconds = run_seconds, step_seconds
        try:
            self._process = subprocess.Popen(
                [python, str(HOST), str(file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                env={**os.environ, **ONE_THREAD, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # so that what it starts ends with it
            )
        except OSError as error:
            self._printed.close()
            raise EntrantError(f"its interpreter {python} does not start: {error}") from error
        self._answers: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    def __enter__(self) -> "Guest":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what was still to be written has no reader
                    continue
        self._printed.close()

    def call(self, do: str, **arguments: Any) -> tuple[Any, float]:
        """What the entrant answers, and the seconds that it took for that."""
        allowed = min(self.left, self.step_seconds)
        limit = f"{allowed:.0f} s (limit of a {'step' if allowed == self.step_seconds else 'run'})"
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            raise EntrantError(f"it died before {do}: {self._last_words()}") from None
        try:
            line = self._answers.get(timeout=SHARED * allowed)
        except queue.Empty:
            self._end()
            raise TooSlow(
                f"too slow: {do} had not ended after {SHARED:g} times {limit} on the clock"
            ) from None
        if not line:
            raise EntrantError(f"it died in {do}: {self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise EntrantError(f"{do} failed: {answer['error']}")
        seconds = float(answer["seconds"])
        if seconds > allowed:
            self._end()
            raise TooSlow(f"too slow: {do} took {seconds:.0f} s of the processor, not {limit}")
        self.left -= seconds
        return answer["result"], seconds

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._answers.put(line)
        self._answers.put(b"")

    def _last_words(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it has closed its end and goes on
            self._end()
            code = self._process.wait()
        self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, self._printed.tell() - TAIL))
        said = self._printed.read().decode(errors="replace").strip()
        return f"exit code {code}; it had printed: {said or 'nothing'}"

    def _end(self) -> None:
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, 9)
            except (OSError, AttributeError):  # it has just ended, or there are no groups here
                self._process.kill()
        self._process.wait()
