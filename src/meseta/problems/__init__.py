"""The paper's benchmark problems, with exact g(x) = E f(x + xi).

`names()` lists them without loading torch, `get(name)` builds one, `within_model(seed)` draws one
from a Gaussian process.
"""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meseta.problems.gp_draw import within_model
    from meseta.problems.problem import Problem

__all__ = ["Problem", "get", "names", "within_model"]

_MAKERS = {
    "sin-linear": ("sin_linear", "sin_linear"),
    "rkhs": ("gaussians", "rkhs"),
    "gmm": ("gaussians", "gmm"),
    "polynomial": ("polynomial", "polynomial"),
    "hartmann3": ("gaussians", "hartmann3"),
    "hartmann6": ("gaussians", "hartmann6"),
    "gravity": ("gravity", "gravity"),
}
_HOMES = {"Problem": "problem", "within_model": "gp_draw"}


def names() -> list[str]:
    """The names `get` knows, in the order of the paper."""
    return list(_MAKERS)


def get(name: str) -> "Problem":
    """The problem of that name."""
    if name not in _MAKERS:
        close = get_close_matches(str(name).lower(), _MAKERS, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"no problem named {name!r}; {hint}available: {', '.join(_MAKERS)}")
    module, function = _MAKERS[name]
    make: Callable[[], Problem] = getattr(import_module(f"meseta.problems.{module}"), function)
    return make()


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'meseta.problems' has no attribute {name!r}")
    return getattr(import_module(f"meseta.problems.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
