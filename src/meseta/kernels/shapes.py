"""All kernels of one dimension, by name."""

from meseta.kernels.matern import MATERN12, MATERN32, MATERN52
from meseta.kernels.squared_exponential import SQUARED_EXPONENTIAL
from meseta.kernels.stationary import Shape

_ALL: tuple[Shape, ...] = (SQUARED_EXPONENTIAL, MATERN12, MATERN32, MATERN52)
SHAPES: dict[str, Shape] = {shape.name: shape for shape in _ALL}
