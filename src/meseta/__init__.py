"""Meseta: Bayesian optimization for designs that stay good when the inputs don't.

Heavy imports happen late: `import meseta` does not load torch, the first name you use does.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meseta.measures import (
        AtLeast,
        AtMost,
        Between,
        CVaR,
        MeanStd,
        OnTarget,
        Quantile,
        WorstCase,
        Yield,
    )
    from meseta.noise import (
        Discrete,
        Empirical,
        Environment,
        Independent,
        Laplace,
        LearnedNormal,
        LogNormal,
        Mixture,
        NoiseFit,
        NoiseLaw,
        Normal,
        Shared,
        StudentT,
        Substitution,
        Triangular,
        TruncatedNormal,
        Uniform,
        fit_noise,
        from_scipy,
    )
    from meseta.optimizer.ask_tell import Optimizer
    from meseta.optimizer.record import Recommendation, Trial
    from meseta.optimizer.settings import Settings
    from meseta.run import Result, maximize, minimize
    from meseta.space.parameter import Categorical, Float, Int
    from meseta.space.space import Space

__version__ = "0.2.0.dev0"
__all__ = [
    "AtLeast",
    "AtMost",
    "Between",
    "CVaR",
    "Categorical",
    "Discrete",
    "Empirical",
    "Environment",
    "Float",
    "Independent",
    "Int",
    "Laplace",
    "LearnedNormal",
    "LogNormal",
    "MeanStd",
    "Mixture",
    "NoiseFit",
    "NoiseLaw",
    "Normal",
    "OnTarget",
    "Optimizer",
    "Quantile",
    "Recommendation",
    "Result",
    "Settings",
    "Shared",
    "Space",
    "StudentT",
    "Substitution",
    "Trial",
    "Triangular",
    "TruncatedNormal",
    "Uniform",
    "WorstCase",
    "Yield",
    "fit_noise",
    "from_scipy",
    "maximize",
    "minimize",
]

_HOMES = {
    "AtLeast": "measures",
    "AtMost": "measures",
    "Between": "measures",
    "CVaR": "measures",
    "MeanStd": "measures",
    "OnTarget": "measures",
    "Quantile": "measures",
    "WorstCase": "measures",
    "Yield": "measures",
    "Categorical": "space.parameter",
    "Environment": "noise",
    "Float": "space.parameter",
    "Int": "space.parameter",
    "NoiseFit": "noise.fitting",
    "NoiseLaw": "noise",
    "Optimizer": "optimizer.ask_tell",
    "Recommendation": "optimizer.record",
    "Result": "run",
    "Settings": "optimizer.settings",
    "Space": "space.space",
    "Trial": "optimizer.record",
    "fit_noise": "noise.fitting",
    "maximize": "run",
    "minimize": "run",
}  # all others are noise laws


_MODULES = {
    "methods": "acquisition.methods",
    "plot": "report.plot",
    "problems": "problems",
    "report": "report",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"meseta.{_MODULES[name]}")
    if name not in __all__:
        raise AttributeError(f"module 'meseta' has no attribute {name!r}")
    return getattr(import_module(f"meseta.{_HOMES.get(name, 'noise')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_MODULES])
