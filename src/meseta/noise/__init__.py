"""Laws of the input noise xi in g(x) = E f(x + xi)."""

from meseta.noise.common_shift import Common
from meseta.noise.confusion import Confused, Confusion
from meseta.noise.discrete import Discrete
from meseta.noise.empirical import Empirical
from meseta.noise.environment import Environment
from meseta.noise.independent import Independent
from meseta.noise.joint import Joint
from meseta.noise.laplace import Laplace
from meseta.noise.law import NoiseLaw, OneDimensional
from meseta.noise.log_normal import LogNormal
from meseta.noise.mixture import Mixture
from meseta.noise.normal import Normal
from meseta.noise.placed import Edge, Placed
from meseta.noise.placing import resolved
from meseta.noise.scipy_law import ScipyLaw, from_scipy
from meseta.noise.student import StudentT
from meseta.noise.triangular import Triangular
from meseta.noise.truncated_normal import TruncatedNormal
from meseta.noise.uniform import Uniform
from meseta.noise.units import in_units

__all__ = [
    "Common",
    "Confused",
    "Confusion",
    "Discrete",
    "Edge",
    "Empirical",
    "Environment",
    "Independent",
    "Joint",
    "Laplace",
    "LogNormal",
    "Mixture",
    "NoiseLaw",
    "Normal",
    "OneDimensional",
    "Placed",
    "ScipyLaw",
    "StudentT",
    "Triangular",
    "TruncatedNormal",
    "Uniform",
    "from_scipy",
    "in_units",
    "resolved",
]
