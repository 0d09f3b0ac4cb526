"""Laws of the input noise xi in g(x) = E f(x + xi)."""

from meseta.noise.law import NoiseLaw
from meseta.noise.normal import Normal
from meseta.noise.uniform import Uniform

__all__ = ["NoiseLaw", "Normal", "Uniform"]
