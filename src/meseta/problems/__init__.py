"""Benchmark problems with exact g(x) = E f(x + xi): those of the paper, and others.

`names()` lists them without loading torch, `get(name)` builds one, `within_model(seed)` draws one
from a Gaussian process.
"""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from meseta.boundary import unknown

if TYPE_CHECKING:
    from meseta.problems.gp_draw import within_model
    from meseta.problems.problem import Board, Problem

__all__ = ["Problem", "get", "names", "of_paper", "within_model"]

_PAPER = {
    "sin-linear": ("sin_linear", "sin_linear"),
    "rkhs": ("gaussians", "rkhs"),
    "gmm": ("gaussians", "gmm"),
    "polynomial": ("polynomial", "polynomial"),
    "hartmann3": ("gaussians", "hartmann3"),
    "hartmann6": ("gaussians", "hartmann6"),
    "gravity": ("gravity", "gravity"),
}
# by board: what is asked of the values in use
_MAKERS: "dict[Board, dict[str, tuple[str, str]]]" = {
    "mean": {
        **_PAPER,
        "needles": ("airbo", "needles"),
        "ring": ("airbo", "ring"),
        "branin-williams": ("branin_williams", "branin_williams"),
        "otl-circuit": ("otl_circuit", "otl_circuit"),
        "crescent": ("crescent", "crescent"),
        "cliff": ("cliff", "cliff"),
        "branke": ("branke", "branke"),
    },
    "risk": {
        "branin-williams-quantile": ("branin_williams", "branin_williams_quantile"),
        "branin-williams-cvar": ("branin_williams", "branin_williams_cvar"),
        "sin-linear-quantile": ("tails", "sin_linear_quantile"),
        "sin-linear-cvar": ("tails", "sin_linear_cvar"),
        "piston": ("piston", "piston"),
        "borehole": ("borehole", "borehole"),
    },
    "constraints": {
        "constrained-polynomial": ("bertsimas", "constrained_polynomial"),
        "youn-choi": ("youn_choi", "youn_choi"),
        "curved-valley": ("youn_choi", "curved_valley"),
        "disc-brake": ("disc_brake", "disc_brake"),
        "speed-reducer": ("speed_reducer", "speed_reducer"),
        "pressure-vessel": ("pressure_vessel", "pressure_vessel"),
    },
}
_HOMES = {"Problem": "problem", "within_model": "gp_draw"}


def names(board: "Board | None" = None) -> list[str]:
    """The names `get` knows, those of the paper first.

    Args:
        board: Those alone that ask for the "mean", for another measure ("risk"), or have
            "constraints"; None: all.
    """
    if board is None:
        return [name for makers in _MAKERS.values() for name in makers]
    if board not in _MAKERS:
        raise ValueError(unknown("board", board, list(_MAKERS)))
    return list(_MAKERS[board])


def of_paper() -> list[str]:
    """The names of the paper's problems, in its order."""
    return list(_PAPER)


def get(name: str) -> "Problem":
    """The problem of that name."""
    known = {name: maker for makers in _MAKERS.values() for name, maker in makers.items()}
    if name not in known:
        close = get_close_matches(str(name).lower(), known, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"no problem named {name!r}; {hint}available: {', '.join(known)}")
    module, function = known[name]
    make: Callable[[], Problem] = getattr(import_module(f"meseta.problems.{module}"), function)
    return make()


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'meseta.problems' has no attribute {name!r}")
    return getattr(import_module(f"meseta.problems.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
