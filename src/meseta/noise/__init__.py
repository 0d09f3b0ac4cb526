"""Laws of the input noise xi in g(x) = E f(x + xi)."""

from meseta.noise.common_shift import Common
from meseta.noise.discrete import Discrete
from meseta.noise.empirical import Empirical
from meseta.noise.independent import Independent
from meseta.noise.joint import Joint
from meseta.noise.laplace import Laplace
from meseta.noise.law import NoiseLaw, OneDimensional
from meseta.noise.log_normal import LogNormal
from meseta.noise.mixture import Mixture
from meseta.noise.normal import Normal
from meseta.noise.scipy_law import ScipyLaw, from_scipy
from meseta.noise.student import StudentT
from meseta.noise.triangular import Triangular
from meseta.noise.truncated_normal import TruncatedNormal
from meseta.noise.uniform import Uniform

__all__ = [
    "Common",
    "Discrete",
    "Empirical",
    "Independent",
    "Joint",
    "Laplace",
    "LogNormal",
    "Mixture",
    "NoiseLaw",
    "Normal",
    "OneDimensional",
    "ScipyLaw",
    "StudentT",
    "Triangular",
    "TruncatedNormal",
    "Uniform",
    "from_scipy",
]
