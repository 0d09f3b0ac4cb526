"""Noise laws: the law of xi in g(x) = E f(x + xi).

The names are loaded with the first one that is used: the laws need torch, their catalogue does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from meseta.noise.catalogue import LAWS as LAWS

if TYPE_CHECKING:
    from meseta.noise.names import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name == "__all__":
        return __dir__()
    if name.startswith("_"):
        raise AttributeError(f"module 'meseta.noise' has no attribute {name!r}")
    return getattr(import_module("meseta.noise.names"), name)


def __dir__() -> list[str]:
    names = vars(import_module("meseta.noise.names"))
    return sorted(["LAWS", *(name for name in names if not name.startswith("_"))])
