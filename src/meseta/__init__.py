"""Meseta: Bayesian optimization for designs that stay good when the inputs don't.

Heavy imports happen late: `import meseta` does not load torch, the first name you use does.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meseta.noise import (
        Common,
        Confusion,
        Discrete,
        Empirical,
        Environment,
        Independent,
        Laplace,
        LogNormal,
        Mixture,
        Normal,
        StudentT,
        Triangular,
        TruncatedNormal,
        Uniform,
        from_scipy,
    )
    from meseta.optimizer import Optimizer
    from meseta.parameters import Category, Float, Int
    from meseta.run import maximize, minimize

__version__ = "0.1.0"
__all__ = [
    "Category",
    "Common",
    "Confusion",
    "Discrete",
    "Empirical",
    "Environment",
    "Float",
    "Independent",
    "Int",
    "Laplace",
    "LogNormal",
    "Mixture",
    "Normal",
    "Optimizer",
    "StudentT",
    "Triangular",
    "TruncatedNormal",
    "Uniform",
    "from_scipy",
    "maximize",
    "minimize",
]

_HOMES = {
    "Category": "meseta.parameters",
    "Common": "meseta.noise",
    "Confusion": "meseta.noise",
    "Discrete": "meseta.noise",
    "Empirical": "meseta.noise",
    "Environment": "meseta.noise",
    "Float": "meseta.parameters",
    "Independent": "meseta.noise",
    "Int": "meseta.parameters",
    "Laplace": "meseta.noise",
    "LogNormal": "meseta.noise",
    "Mixture": "meseta.noise",
    "Normal": "meseta.noise",
    "Optimizer": "meseta.optimizer",
    "StudentT": "meseta.noise",
    "Triangular": "meseta.noise",
    "TruncatedNormal": "meseta.noise",
    "Uniform": "meseta.noise",
    "from_scipy": "meseta.noise",
    "maximize": "meseta.run",
    "minimize": "meseta.run",
}


_MODULES = ("methods", "plot", "problems", "report")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"meseta.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'meseta' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_MODULES])
