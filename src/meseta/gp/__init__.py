"""Gaussian processes: the surrogate of f, the joint posterior of f and g, sample paths, maxima."""

from meseta.gp.botorch_model import RobustModel
from meseta.gp.fit import fit_surrogate
from meseta.gp.joint import JointMoments, JointPosterior
from meseta.gp.known import known_surrogate
from meseta.gp.robust import RobustPosterior
from meseta.gp.surrogate import product_matern

__all__ = [
    "JointMoments",
    "JointPosterior",
    "RobustModel",
    "RobustPosterior",
    "fit_surrogate",
    "known_surrogate",
    "product_matern",
]
