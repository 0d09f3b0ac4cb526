"""The record of a benchmark problem: f, its robust counterpart g, and where g is best."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from meseta.boundary import missing
from meseta.noise import Normal

if TYPE_CHECKING:
    from matplotlib.figure import Figure
else:  # loaded when somebody plots
    Figure = object

# of points (m, d); declared `...`, since those of `Problem` take whatever becomes such an array
Function = Callable[..., Float64[np.ndarray, " m"]]


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Optimise g(x) = E f(x + xi), xi ~ noise, over a box, observing f(x) + eps only.

    `f` and `g` map points of shape (m, d) to values of shape (m,), in the problem's own units and
    direction. `f` holds outside the box too: only the design x is confined to it. `budget` and
    `num_initial` are the evaluations of one run of the paper and how many of them start it.
    """

    name: str
    title: str
    names: tuple[str, ...]
    f: Function
    g: Function
    bounds: Float64[np.ndarray, "2 d"]
    noise: Normal
    direction: Literal["maximize", "minimize"]
    x_star: Float64[np.ndarray, " d"]
    g_star: float
    budget: int
    num_initial: int
    source: str
    noise_variance: float = 1e-6

    def __post_init__(self) -> None:
        for field in ("f", "g"):
            function = getattr(self, field)
            if not isinstance(function, _Checked):
                object.__setattr__(self, field, _Checked(function, self.name, self.names))

    @property
    def dimension(self) -> int:
        return len(self.names)

    @property
    def space(self) -> dict[str, tuple[float, float]]:
        """The box by name: lower and upper end of every parameter."""
        lower, upper = self.bounds.tolist()
        return dict(zip(self.names, zip(lower, upper, strict=True), strict=True))

    @property
    def noise_by_name(self) -> dict[str, Normal]:
        """The law of every parameter's perturbation; they are independent."""
        widths = self.noise.in_dimension(self.dimension).standard_deviation.tolist()
        return {name: Normal(width) for name, width in zip(self.names, widths, strict=True)}

    def regret(self, x: ArrayLike) -> Float64[np.ndarray, " m"]:
        """|g(x) - g*|."""
        return np.abs(self.g(x) - self.g_star)

    def plot(self, resolution: int = 120) -> Figure:
        """A Matplotlib figure of f and g: curves, maps, or slices through the robust optimum."""
        try:
            from meseta.problems.picture import draw
        except ImportError as error:
            raise missing(f"plots need matplotlib ({error})", "plot") from error
        return draw(self, resolution)


@final
@dataclass(frozen=True, eq=False)
class _Checked:
    """A function of points that refuses what is not a finite (m, d) array."""

    function: Function
    problem: str
    names: tuple[str, ...]

    def __call__(self, x: ArrayLike) -> Float64[np.ndarray, " m"]:
        return self.function(_points(x, self.problem, self.names))


def _points(x: ArrayLike, problem: str, names: tuple[str, ...]) -> Float64[np.ndarray, "m d"]:
    d = len(names)
    expected = f"{problem} expects points of shape (m, {d}), one row per point: {', '.join(names)}"
    try:
        points = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{expected}; got {x!r}, which is no array of numbers") from error
    if points.ndim != 2 or points.shape[1] != d:
        remedy = "write x.reshape(-1, 1)" if d == 1 else "write x[None, :] for a single point"
        raise ValueError(f"{expected}; got shape {points.shape}; {remedy}")
    if not np.isfinite(points).all():
        rows = np.flatnonzero(~np.isfinite(points).all(-1))
        raise ValueError(f"{expected}; got nan or infinity in row {rows[0]}; leave such rows out")
    return points
