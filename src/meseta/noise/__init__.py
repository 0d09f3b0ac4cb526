"""Laws of the input noise xi in g(x) = E f(x + xi)."""

from meseta.noise.independent import Independent
from meseta.noise.law import NoiseLaw
from meseta.noise.normal import Normal
from meseta.noise.uniform import Uniform

__all__ = ["Independent", "NoiseLaw", "Normal", "Uniform"]
