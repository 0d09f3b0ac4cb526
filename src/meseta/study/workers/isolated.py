"""A function in a process of its own: it can be ended when it takes too long, and may crash.

The process loads the module once and then answers one trial after the other. What it prints goes to
standard error. It ends when its parent does.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from meseta.optimizer.evaluation import Evaluation, EvaluationFailed
from meseta.optimizer.outcomes import ONE, Outcomes
from meseta.study.workers.command import described, end, termination_as_exit
from meseta.study.workers.hand_over import as_json

# Modules are found where this process finds them, whatever was done to its path.
_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from meseta.study.workers.isolated import serve; serve(*sys.argv[2:])"
)
POLL = 0.5  # seconds between looks whether the process still lives


class Isolated:
    """Evaluates trials by the function "module:function", each for at most `timeout` seconds."""

    def __init__(self, name: str, folder: Path, timeout: float, outcomes: Outcomes = ONE) -> None:
        self._name = name
        self._folder = folder
        self._timeout = timeout
        self._outcomes = json.dumps([outcomes.objective, outcomes.names])
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def __call__(self, params: Mapping[str, Any]) -> Evaluation:
        with termination_as_exit():
            try:
                answer = self._answer(self.start(), as_json(params))
            except BaseException:  # also an interrupt: it does not go on without us
                self.stop()
                raise
        if "failed" in answer:
            raise EvaluationFailed(answer["failed"])
        return Evaluation(**{**answer, "absent": tuple(answer["absent"])})

    def start(self) -> "subprocess.Popen[bytes]":
        """The process, with the module loaded; a ValueError says why that is not possible."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.stop()
        words = [json.dumps(sys.path), self._name, str(self._folder), self._outcomes]
        process = subprocess.Popen(
            [sys.executable, "-c", _CODE, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        self._process, self._answers = process, queue.SimpleQueue()
        reader = threading.Thread(
            target=_read_lines, args=(process.stdout, self._answers.put), daemon=True
        )
        reader.start()
        try:
            loaded = self._next(process, None)  # which is not part of a trial
            if "refused" in loaded:
                raise ValueError(loaded["refused"])
        except EvaluationFailed as error:
            self.stop()
            raise ValueError(f"{self._name!r} cannot be imported: {error}") from None
        except BaseException:
            self.stop()
            raise
        return process

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end(process)
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()

    def _answer(self, process: "subprocess.Popen[bytes]", params: str) -> dict[str, Any]:
        assert process.stdin is not None
        with suppress(OSError):  # it has ended, and _next says how
            process.stdin.write(params.encode() + b"\n")
            process.stdin.flush()
        return self._next(process, self._timeout)

    def _next(self, process: "subprocess.Popen[bytes]", timeout: float | None) -> dict[str, Any]:
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = POLL if until is None else min(POLL, until - time.monotonic())
            if left <= 0:
                raise EvaluationFailed(f"{self._name} took longer than {timeout:g} s and was ended")
            over = process.poll() is not None
            try:
                answer: dict[str, Any] = json.loads(self._answers.get(timeout=left))
                return answer
            except queue.Empty:
                if over:
                    code = described(process.returncode)
                    raise EvaluationFailed(f"{self._name} ended its process with {code}") from None


def _read_lines(stream: IO[bytes], put: Callable[[bytes], None]) -> None:
    with stream:
        for line in stream:
            put(line)


def serve(name: str, folder: str, named: str) -> None:
    """Answer every line of parameters by a line with the outcomes, whose names are JSON."""
    questions, answers = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what the function prints is no answer
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        with open(questions, "rb") as lines:
            for line in lines:
                asked.put(line)
        _vanish()  # nobody waits for an answer any more

    from meseta.study.toml.keys import PythonObjective
    from meseta.study.workers.objective import load

    threading.Thread(target=listen, daemon=True).start()

    def say(answer: dict[str, Any]) -> None:
        sys.stdout.flush()
        with open(answers, "wb", closefd=False) as line:
            line.write(json.dumps(answer).encode() + b"\n")

    try:
        objective, names = json.loads(named)
        evaluate = load(PythonObjective(python=name), folder, Outcomes(objective, tuple(names)))
    except ValueError as error:
        say({"refused": str(error)})
        return
    say({})
    while True:
        params = json.loads(asked.get())
        try:
            say(asdict(evaluate(params)))
        except EvaluationFailed as error:
            say({"failed": str(error)})


def _vanish() -> None:
    """End this process and all it has started."""
    if os.name != "nt" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
