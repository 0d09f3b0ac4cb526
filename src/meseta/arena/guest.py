"""An entrant at work in a process of its own, with time limits."""

import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from meseta.arena import keeper

HOST = Path(__file__).with_name("host.py")
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM")
}
# Seconds on the clock for one of the processor: the machine may have other work to do.
SHARED = 5.0
TAIL = 2000  # bytes of what it printed that are kept with a failure
IMPORTS = 120.0  # seconds on the clock that imports have, which do not count
LONGEST = 6000  # characters that are kept of an error
MEMORY = 12 * 2.0**30  # bytes
DEAD = 1.0  # seconds after which one is asked whether it still lives


class EntrantError(Exception):
    """The entrant did what it must not do, or died. What is said is short, and can be written."""

    def __init__(self, said: str) -> None:
        text = said.encode("utf-8", errors="backslashreplace").decode()
        long = len(text) > LONGEST
        super().__init__(f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}" if long else text)


class TooSlow(EntrantError):
    """The entrant took longer than it may."""


class Guest:
    """The process of an entrant; its calls return a result and the seconds it took.

    Args:
        python: The interpreter.
        file: The file of the entrant.
        run_seconds: The time limit of all calls together, in seconds of the processor; five times
            that on the clock.
        step_seconds: The time limit of each.
        memory: The memory that each of its processes may take, in bytes.
    """

    def __init__(
        self,
        python: str,
        file: Path,
        run_seconds: float,
        step_seconds: float,
        memory: float = MEMORY,
    ) -> None:
        self._printed = b""  # the end of it
        self.run_seconds, self.step_seconds = run_seconds, step_seconds
        self.left, self._clock = run_seconds, SHARED * run_seconds
        self._others = 0.0
        command = [python, str(HOST), str(file), str(int(memory))]
        self._kept = keeper.can_adopt()
        if self._kept:
            keep = [sys.executable, "-I", "-S", str(keeper.__file__), str(os.getpid())]
            command = [*keep, *command]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **ONE_THREAD, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # so that what it starts ends with it
            )
        except OSError as error:
            raise EntrantError(f"its interpreter {python} does not start: {error}") from error
        self._answers: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        self._printing = threading.Thread(
            target=self._keep_end, args=(self._process.stderr,), daemon=True
        )
        self._printing.start()

    def __enter__(self) -> "Guest":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()
        self._printing.join(DEAD)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what was still to be written has no reader
                    continue

    def call(self, do: str, **arguments: Any) -> tuple[Any, float]:
        """What the entrant answers, and the seconds that it took for that."""
        allowed = min(self.left, self.step_seconds)
        limit = f"{allowed:.3g} s"
        if allowed == self.step_seconds:
            limit += " (limit of a step)"
        else:
            limit += f" (what was left of the {self.run_seconds:g} s of a run)"
        began = time.monotonic()
        clock = min(SHARED * allowed, self._clock)
        end = began + clock + (IMPORTS if do == "enter" else 0.0)
        self._send(json.dumps({"do": do, **arguments}).encode() + b"\n", end)
        line = self._answer(end)
        if line is None:
            self._end()
            raise TooSlow(
                f"too slow: {do} had not ended after {clock:.3g} s on the clock, where a step, and "
                f"a run, may take {SHARED:g} times what they may take of the processor"
            )
        if not line:
            raise EntrantError(self._died(do))
        try:
            answer = json.loads(line)
            error, seconds = answer.get("error"), float(answer.get("seconds", 0.0))
            host = answer.get("process")  # not ours where a script starts the interpreter
            if not (math.isfinite(seconds) and seconds >= 0):
                raise ValueError(seconds)
        except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
            self._end()
            raise EntrantError(
                f"it, or its interpreter, wrote where only answers are expected: {line[:200]!r}"
            ) from None
        if error is not None:
            raise EntrantError(f"{do} failed: {error}")
        if do != "enter":
            self._clock -= time.monotonic() - began
        # those of processes that it started and has not waited for; others are in its answer
        others = 0.0
        if self._kept:
            below = keeper.family(self._process.pid)
            others = sum(used for pid, used in below.items() if pid != host)
        seconds = max(0.0, seconds + others - self._others)
        self._others = others
        if seconds > allowed:
            self._end()
            raise TooSlow(f"too slow: {do} took {seconds:.3g} s of the processor, not {limit}")
        self.left -= seconds
        return answer.get("result"), seconds

    def _send(self, request: bytes, end: float) -> None:
        """Write a request; one that does not read it is given up at the end of its time."""
        stream = self._process.stdin
        assert stream is not None

        def write() -> None:
            try:
                stream.write(request)
                stream.flush()
            except (OSError, ValueError):  # no answer will come, which says it
                return

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        writer.join(max(0.0, end - time.monotonic()))

    def _answer(self, end: float) -> bytes | None:
        """A line, an empty one if it died, None if its time is over."""
        while (left := end - time.monotonic()) > 0:
            try:
                return self._answers.get(timeout=min(DEAD, left))
            except queue.Empty:
                # what it started may hold its end of the pipe open
                if self._process.poll() is not None and self._answers.empty():
                    return b""
        return None

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._answers.put(line)
        self._answers.put(b"")

    def _keep_end(self, stream: IO[bytes]) -> None:
        """It may print without end."""
        try:
            while printed := os.read(stream.fileno(), 65536):
                self._printed = (self._printed + printed)[-TAIL:]
        except (OSError, ValueError):  # closed meanwhile
            return

    def _died(self, do: str) -> str:
        try:
            code: int | str = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it has closed its end and goes on
            code = "none"
        self._end()
        self._printing.join(DEAD)
        said = self._printed.decode(errors="replace").strip()
        return f"it had printed: {said or 'nothing'}\nit died in {do}, exit code {code}"

    def _end(self) -> None:
        """End it and what it started, also where it has ended itself."""
        if self._kept:
            self._process.terminate()
        else:
            try:
                os.killpg(self._process.pid, 9)
            except (OSError, AttributeError):  # nobody is left, or there are no groups here
                self._process.kill()
        try:
            self._process.wait(2 * keeper.PATIENCE)
        except subprocess.TimeoutExpired:  # it has stopped its keeper
            self._process.kill()
            self._process.wait()
