"""BoTorch: the methods as acquisition functions, g as a model, whole iterations; in raw units."""

from meseta.gp.botorch_models import product_matern, to_botorch
from meseta.gp.fit import fit_surrogate
from meseta.gp.known import known_surrogate
from meseta.gp.robust import RobustPosterior
from meseta.integrations.botorch.acquisition import (
    NoisyInputEntropySearch,
    RobustAcquisition,
    RobustKnowledgeGradient,
)
from meseta.integrations.botorch.loop import IterationInfo, Optimum, nominal, recommend, suggest
from meseta.integrations.botorch.model import RobustModel

__all__ = [
    "IterationInfo",
    "NoisyInputEntropySearch",
    "Optimum",
    "RobustAcquisition",
    "RobustKnowledgeGradient",
    "RobustModel",
    "RobustPosterior",
    "fit_surrogate",
    "known_surrogate",
    "nominal",
    "product_matern",
    "recommend",
    "suggest",
    "to_botorch",
]
