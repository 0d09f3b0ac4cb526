"""Meseta: Bayesian optimization for designs that stay good when the inputs don't.

Heavy imports happen late: `import meseta` does not load torch, the first name you use does.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meseta.noise import Independent, Normal, Uniform
    from meseta.optimizer import Optimizer
    from meseta.parameters import Category, Float, Int
    from meseta.run import maximize, minimize

__version__ = "0.1.0.dev0"
__all__ = [
    "Category",
    "Float",
    "Independent",
    "Int",
    "Normal",
    "Optimizer",
    "Uniform",
    "maximize",
    "minimize",
]

_HOMES = {
    "Category": "meseta.parameters",
    "Float": "meseta.parameters",
    "Independent": "meseta.noise",
    "Int": "meseta.parameters",
    "Normal": "meseta.noise",
    "Optimizer": "meseta.optimizer",
    "Uniform": "meseta.noise",
    "maximize": "meseta.run",
    "minimize": "meseta.run",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'meseta' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
