"""A program that is started for a trial, never by a shell, and never left behind.

It runs in a process group of its own, which is ended as a whole: when it takes too long, when it
leaves processes behind, and when we are interrupted or terminated.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from meseta.boundary import shown
from meseta.optimizer.evaluation import Evaluation, EvaluationFailed, read_evaluation
from meseta.optimizer.outcomes import ONE, Outcomes
from meseta.study.interrupts import deferred
from meseta.study.toml.keys import CommandObjective
from meseta.study.workers.hand_over import as_environment, as_json, filled
from meseta.study.workers.tail import LONGEST, Tail

GRACE = 2.0  # seconds from the request to end to the end
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def run_command(
    objective: CommandObjective,
    params: Mapping[str, Any],
    folder: Path,
    outcomes: Outcomes = ONE,
) -> Evaluation:
    """The outcomes that the program gives for these parameters, or EvaluationFailed."""
    directory = folder / (objective.directory or ".")
    try:
        arguments, environment, stdin = _input(objective, params)
    except KeyError as error:
        raise EvaluationFailed(f"the command needs a value of {error}, but has none") from None
    except ValueError as error:
        raise EvaluationFailed(f"the parameters cannot be handed over: {error}") from None
    arguments[0] = find_program(arguments[0], directory)
    code, stdout, stderr = _run(arguments, environment, stdin, directory, objective.timeout)
    written = stderr.last_lines()
    program = shown(objective.command[0])
    if code is None:
        reason = f"{program} took longer than {objective.timeout:g} s and was ended"
        raise EvaluationFailed(reason, written)
    if code:
        raise EvaluationFailed(f"{program} ended with {described(code)}", written)
    try:
        return _output(objective, stdout, outcomes)
    except EvaluationFailed as error:
        raise EvaluationFailed(error.reason, written) from None


def find_program(program: str, directory: Path) -> str:
    """The path of a program: relative ones start from the directory, bare names are looked up."""
    if not directory.is_dir():
        raise EvaluationFailed(f"there is no folder {directory} to run the command in")
    if os.sep not in program and "/" not in program:
        found = shutil.which(program)
        if found is None:
            beside = (directory / program).is_file()
            remedy = f"write './{program}'" if beside else "install it, or write its path"
            raise EvaluationFailed(f"there is no program {program!r} on the PATH; {remedy}")
        return os.path.abspath(found)
    path = directory / program
    if not path.is_file():
        raise EvaluationFailed(f"there is no program {program!r} in {directory}")
    if not os.access(path, os.X_OK):
        raise EvaluationFailed(f"{program!r} is not executable; write: chmod +x {program}")
    return str(path)


def _input(
    objective: CommandObjective, params: Mapping[str, Any]
) -> tuple[list[str], dict[str, str], bytes]:
    arguments, environment, stdin = list(objective.command), dict(os.environ), b""
    if objective.input == "arguments":
        arguments = [filled(argument, params) for argument in arguments]
    elif objective.input == "environment":
        environment |= as_environment(params)
    else:
        stdin = as_json(params).encode()
    return arguments, environment, stdin


def _run(
    arguments: list[str],
    environment: dict[str, str],
    stdin: bytes,
    directory: Path,
    timeout: float | None,
) -> tuple[int | None, Tail, Tail]:
    """Exit code (None: it took too long), stdout and stderr."""
    with tempfile.TemporaryFile() as file, termination_as_exit():
        file.write(stdin)
        file.seek(0)
        process: subprocess.Popen[bytes] | None = None
        try:
            with deferred():
                process = _started(arguments, environment, file, directory)
            assert process.stdout is not None
            assert process.stderr is not None
            stdout, stderr = Tail(process.stdout), Tail(process.stderr)
            code: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:  # also what an interrupt leaves, and what the program itself has left behind
            if process is not None:
                end(process)
        stdout.finish(GRACE)
        stderr.finish(GRACE)
    return code, stdout, stderr


def _started(
    arguments: list[str], environment: dict[str, str], stdin: IO[bytes], directory: Path
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            arguments,
            cwd=directory,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        hint = ""
        if getattr(error, "strerror", None) == "Exec format error":
            hint = "; the first line of a script must name what runs it, such as #!/bin/sh"
        raise EvaluationFailed(f"{shown(arguments[0])} cannot be started: {error}{hint}") from None


def end(process: "subprocess.Popen[bytes]") -> None:
    """End the program and all it has started: by a request first, then by force."""
    if process.poll() is None:
        _end_group(process, force=False)
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
        finally:
            _end_group(process, force=True)
            process.wait()
    else:
        _end_group(process, force=True)


def _end_group(process: "subprocess.Popen[bytes]", force: bool) -> None:
    if os.name == "nt":  # which has no groups that can be ended
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # nothing of it is left
        os.killpg(process.pid, signal.SIGKILL if force else signal.SIGTERM)


@contextmanager
def termination_as_exit() -> Iterator[None]:
    """Requests to terminate raise SystemExit, unless somebody else handles them."""
    mine = threading.current_thread() is threading.main_thread()
    numbers = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)} if mine else set()
    replaced = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _output(objective: CommandObjective, stdout: Tail, outcomes: Outcomes) -> Evaluation:
    """The evaluation that the program wrote to stdout."""
    lines = [line for line in stdout.content.splitlines() if line.strip()]
    if not lines:
        raise EvaluationFailed("the program wrote no result to stdout")
    if objective.output == "json":
        if not stdout.whole:
            raise EvaluationFailed(
                f"the program wrote {stdout.size} bytes, more than the {LONGEST} that JSON may "
                "have; choose output = 'last-line'"
            )
        return _from_json(_decoded(stdout.content), objective, outcomes)
    if len(lines) == 1 and not stdout.whole:
        raise EvaluationFailed(f"the last line of stdout is longer than {LONGEST} bytes")
    line = _decoded(lines[-1]).strip()
    if line.startswith("{"):
        return _from_json(line, objective, outcomes)
    if _NUMBER.fullmatch(line) or line.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return read_evaluation(float(line), "the last line of stdout", outcomes)
    raise EvaluationFailed(f"the last line of stdout must be a number, got {shown(line)}")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise EvaluationFailed(f"stdout is not UTF-8, got {shown(content)}") from None


def _from_json(text: str, objective: CommandObjective, outcomes: Outcomes) -> Evaluation:
    key = objective.key if "key" in objective.model_fields_set else outcomes.objective
    try:
        result = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EvaluationFailed(
            f"stdout must be JSON such as {{{json.dumps(key)}: 0.8}}, but it is not: {error}, got "
            f"{shown(text)}"
        ) from None
    return read_evaluation(result, "the JSON on stdout", outcomes, key)


def described(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
