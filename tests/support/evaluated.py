"""Objectives that processes load: without torch, and with a folder in which they leave marks."""

import os
import sys
import time
from pathlib import Path


def hill(params):
    return -((params["x"] - 0.3) ** 2)


def loud(params):
    print("loud " * 1000)
    print("louder " * 1000, file=sys.stderr)
    return hill(params)


def says_what_is_loaded(params):
    heavy = {"torch", "pandas", "optuna"} & set(sys.modules)
    if heavy:
        raise AssertionError(f"a worker has loaded {heavy}")
    return hill(params)


def forks(params):
    """A fork that returns as well, with another value."""
    fork = os.fork()
    if fork:
        os.waitpid(fork, 0)
    return hill(params) if fork else 100.0


class Awkward(Exception):
    """Can be pickled, but not made again from that; a pool of processes breaks by such."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("not for travel")


def fails(how, params):
    """Fails as `how` says where x is large."""
    if params["x"] < 0.5:
        return hill(params)
    match how:
        case "awkward":
            raise Awkward("one", "two")
        case "unpicklable":
            raise Unpicklable("a lock is in it")
        case "result":
            return lambda: None  # cannot be pickled, and is no number
        case "exit":
            sys.exit(3)
        case "error":
            raise OSError("the sensor fell off")


def interrupts(params):
    if params["x"] > 0.5:
        raise KeyboardInterrupt
    return hill(params)


class Unreachable:
    """Can be pickled, but not loaded by workers."""

    def __call__(self, params):
        return hill(params)

    def __reduce__(self):
        return _not_here, ()


def _not_here():
    raise ModuleNotFoundError("No module named 'solver'")


def marked(folder, params):
    """A mark for each call; the number of calls at this design so far is returned."""
    place = Path(folder) / repr(params["x"])
    place.mkdir(parents=True, exist_ok=True)
    (place / str(time.time_ns())).touch()
    return len(list(place.iterdir()))


def calls(folder):
    """How often f was called at each design."""
    return {float(place.name): len(list(place.iterdir())) for place in Path(folder).iterdir()}


def dies(folder, above, times, params):
    """Ends its process where x is larger than `above`, the first `times` times."""
    if marked(folder, params) <= times and params["x"] > above:
        time.sleep(0.1)  # others have begun
        os._exit(3)
    return hill(params)
