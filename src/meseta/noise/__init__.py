"""Laws of the input noise xi in g(x) = E f(x + xi)."""

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
from meseta.noise.shared import Shared
from meseta.noise.student import StudentT
from meseta.noise.substitution import Substituted, Substitution
from meseta.noise.triangular import Triangular
from meseta.noise.truncated_normal import TruncatedNormal
from meseta.noise.uniform import Uniform
from meseta.noise.units import in_units

__all__ = [
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
    "Shared",
    "StudentT",
    "Substituted",
    "Substitution",
    "Triangular",
    "TruncatedNormal",
    "Uniform",
    "from_scipy",
    "in_units",
    "resolved",
]
