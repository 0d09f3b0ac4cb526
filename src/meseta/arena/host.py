"""Runs an entrant: requests come in as lines of JSON, answers go out as such.

    PYTHON host.py ENTRANT.py BYTES

A process of its own, by the interpreter that the entrant asks for, which has NumPy and need not
have anything of ours. What the entrant prints goes to the error output, and its input is empty, so
that it disturbs nothing. No process may take more memory than BYTES, where the system knows that
limit.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHOWN = ("numpy", "scipy", "torch", "botorch", "gpytorch", "optuna", "matter-golem", "meseta")


def main(path: str, memory: int) -> None:
    _limit(memory)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(2, 1)  # whatever is printed from now on
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Modules beside this file are none of the entrant's, those beside its own are; they come last,
    # or a file optuna.py would hide the package from all others.
    sys.path[:] = [*_without(sys.path, HERE), str(Path(path).resolve().parent)]
    entrant: Any = None
    start = 0.0  # of what is counted: since the last answer, so work between calls counts, too
    for line in requests:
        request = json.loads(line)
        try:
            if request["do"] == "enter":
                made = _load(Path(path), "entrant").Entrant
                task = _load(HERE / "task.py", "arena_task").Task(**request["task"])
                _seed(request["task"]["seed"])
                start = processor_seconds()  # imports are not the entrant's time
                entrant = made(task)
                by_rule = getattr(entrant, "by_common_rule", False) is True
                result = {"versions": _versions(), "by_common_rule": by_rule}
            elif request["do"] == "ask":
                result = entrant.ask()
            elif request["do"] == "tell":
                entrant.tell(request["params"], request["values"])
                result = None
            else:
                result = entrant.recommend()
            now = processor_seconds()
            told = {"result": result, "seconds": now - start, "process": os.getpid()}
            answer = json.dumps(told, default=_plain)
            start = now
        except Exception:
            answer = json.dumps({"error": traceback.format_exc()[-4000:]})
        answers.write(answer + "\n")
        answers.flush()


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:  # on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or memory < most:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, most))


def processor_seconds() -> float:
    """Seconds of the processor that this process and those that it waited for have used.

    In one thread these are the seconds on a clock where nothing else runs, and they stay so where
    something does.
    """
    try:
        import resource
    except ImportError:  # on Windows: without processes that it started
        return time.process_time()
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + others.ru_utime + others.ru_stime


def _without(paths: list[str], folder: Path) -> list[str]:
    return [path for path in paths if not path or Path(path).resolve() != folder]


def _load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _seed(seed: int) -> None:
    """Make runs repeatable that draw from a global stream; one thread each."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": sys.version.split()[0]}
    for name in SHOWN:
        if name.replace("matter-", "") in sys.modules:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
    return found


def _plain(value: Any) -> Any:
    """Numbers of NumPy and torch as those of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is no plain number or text")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
