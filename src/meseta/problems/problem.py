"""The record of a benchmark problem: f, its robust counterpart g, and where g is best."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from jaxtyping import Bool, Float64
from numpy.typing import ArrayLike

from meseta.boundary import missing
from meseta.measures import Constraint, Mean, Measure
from meseta.noise import Environment, NoiseLaw, OneDimensional, Substitution
from meseta.problems.in_use import drawn
from meseta.space.parameter import Categorical, Design, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure
else:  # loaded when somebody plots
    Figure = object

# of points (m, d); declared `...`, since those of `Problem` take whatever becomes such an array
Function = Callable[..., Float64[np.ndarray, " m"]]
Functions = Callable[..., Float64[np.ndarray, "m c"]]
# by parameter; a tuple of names has a joint law
LawsByName = Mapping[Any, NoiseLaw | Substitution]
Board = Literal["mean", "risk", "constraints"]

# The shares of the noise that keep constraints are known to this.
ROUNDING = 1e-9
BETTER = 1e-6  # of the worst regret: by so much no design is better than the optimum
# Of an environment variable without limits an experiment can set all but this share: 3 sigma.
BEYOND = 2.7e-3


def unlimited(x: Float64[np.ndarray, "m d"]) -> Float64[np.ndarray, "m c"]:
    """The shares of a problem without constraints: there are none."""
    return np.empty((len(x), 0))


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Optimise g(x) = E f(x + xi), xi ~ noise, over a box, observing f(x) + eps only.

    `f` and `g` map points of shape (m, d) to values of shape (m,), in the problem's own units and
    direction. `f` holds outside the box too: only the design x is confined to it. `budget` and
    `num_initial` are the evaluations of one run and how many of them start it.

    Another `measure` than the mean may take the place of E. Where there is an `environment`, f
    takes points (m, d + e), the design and then these quantities, and g designs only. Where there
    are `constraints`, the best design is the best of those that keep them.
    """

    name: str
    title: str
    names: tuple[str, ...]  # of the parameters of a design
    f: Function
    g: Function
    bounds: Float64[np.ndarray, "2 d"]
    noise: NoiseLaw | LawsByName  # of all parameters, or of those that are perturbed by name
    direction: Literal["maximize", "minimize"]
    x_star: Float64[np.ndarray, " d"]
    g_star: float
    budget: int
    num_initial: int
    source: str
    noise_variance: float = 1e-6
    g_worst: float = float("nan")  # of all designs, whether or not they keep the constraints
    kinds: Mapping[str, Parameter] = field(default_factory=dict)  # whole numbers, steps, choices
    environment: Mapping[str, NoiseLaw] = field(default_factory=dict)
    measure: Measure = field(default_factory=Mean)
    outcomes: Mapping[str, Function] = field(default_factory=dict)  # of the same points as f
    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    shares: Functions = unlimited  # of the noise within each constraint, of designs
    board: Board = "mean"
    differs: str = ""  # from the source
    certificate: str = ""  # how g and its optimum are known

    def __post_init__(self) -> None:
        points = (*self.names, *self.environment)
        for name, columns in (("f", points), ("g", self.names), ("shares", self.names)):
            object.__setattr__(self, name, self._checked(getattr(self, name), columns))
        checked = {name: self._checked(each, points) for name, each in self.outcomes.items()}
        object.__setattr__(self, "outcomes", checked)

    def _checked(self, function: Function, names: tuple[str, ...]) -> Function:
        if isinstance(function, _Checked):
            return function
        return _Checked(function, self.name, names)

    @property
    def dimension(self) -> int:
        return len(self.names)

    @property
    def space(self) -> dict[str, tuple[float, float] | Parameter]:
        """What `Optimizer` takes: the parameters of a design, then the environment, by name."""
        lower, upper = self.bounds.tolist()
        ranges: dict[str, tuple[float, float]] = dict(
            zip(self.names, zip(lower, upper, strict=True), strict=True)
        )
        for name, law in self.environment.items():
            assert isinstance(law, OneDimensional)
            ranges[name] = law.interval(BEYOND)
        return {name: self.kinds.get(name, ends) for name, ends in ranges.items()}

    @property
    def law(self) -> NoiseLaw:
        """The noise of all parameters of a design as one law; refused where there is no such."""
        if isinstance(self.noise, NoiseLaw) and not self.environment:
            return self.noise.in_dimension(self.dimension)
        raise ValueError(
            f"the noise of {self.name!r} is not one law of all parameters; use noise_by_name"
        )

    @property
    def noise_by_name(self) -> dict[Any, NoiseLaw | Substitution | Environment]:
        """What `Optimizer(noise=)` takes: laws by parameter, and of the environment."""
        laws: dict[Any, NoiseLaw | Substitution | Environment] = {}
        if isinstance(self.noise, Mapping):
            laws.update(self.noise)
        else:
            law = self.noise.in_dimension(self.dimension)
            if law.independent:
                laws.update(zip(self.names, law.marginals, strict=True))
            else:
                laws[self.names] = law
        return laws | {name: Environment(law) for name, law in self.environment.items()}

    @property
    def settings(self) -> dict[str, Any]:
        """All that `Optimizer(problem.space, **problem.settings)` has to know."""
        return {
            "noise": self.noise_by_name,
            "measure": self.measure,
            "constraints": dict(self.constraints),
            "outcomes": tuple(self.outcomes),
            "direction": self.direction,
            "num_initial": self.num_initial,
        }

    @property
    def asked(self) -> Float64[np.ndarray, " c"]:
        """The share of the noise that has to be within each constraint."""
        return np.array([each.probability for each in self.constraints.values()])

    @property
    def sign(self) -> int:
        """1 where large values are wanted, -1 where small ones are."""
        return 1 if self.direction == "maximize" else -1

    @property
    def worst_regret(self) -> float:
        """The largest regret there can be."""
        return abs(self.g_worst - self.g_star)

    def kept(self, x: ArrayLike) -> Bool[np.ndarray, " m"]:
        """Whether designs keep all constraints as often as is asked."""
        return np.asarray((self.shares(x) >= self.asked - ROUNDING).all(-1))

    def regret(self, x: ArrayLike) -> Float64[np.ndarray, " m"]:
        """g* less g(x), or the reverse; the largest for designs that break the constraints."""
        gap = self.sign * (self.g_star - self.g(x))
        if self.constraints:
            gap = np.where(self.kept(x), gap, self.worst_regret)
        if gap.min(initial=0.0) < -BETTER * self.worst_regret:
            best = np.asarray(x)[gap.argmin()].tolist()
            raise RuntimeError(
                f"the stored optimum of {self.name!r} is wrong: {best} is better than it by "
                f"{-gap.min():g}; please report it"
            )
        return np.maximum(gap, 0.0)

    def observe(self, points: ArrayLike) -> dict[str, Float64[np.ndarray, " m"]]:
        """All outcomes of points, exactly: "value", which is f, and the others by name."""
        return {
            "value": self.f(points),
            **{name: each(points) for name, each in self.outcomes.items()},
        }

    def observed(self, params: Mapping[str, Any], random: np.random.Generator) -> dict[str, float]:
        """All outcomes of an experiment by name, each with its noise of observation."""
        std = self.noise_variance**0.5
        return {
            name: float(exact[0]) + std * float(random.standard_normal())
            for name, exact in self.observe([self.row(params)]).items()
        }

    def row(self, params: Mapping[str, Any]) -> list[float]:
        """A design by name as a row of numbers; with the environment, if `params` has it."""
        names = (*self.names, *(name for name in self.environment if name in params))
        return [self._number(name, params[name]) for name in names]

    def params(self, row: ArrayLike) -> Design:
        """A row of numbers by name: whole numbers and choices as such."""
        values = np.asarray(row, dtype=np.float64).tolist()
        names = (*self.names, *self.environment)[: len(values)]
        return {name: self._value(name, each) for name, each in zip(names, values, strict=True)}

    def in_use(self, x: ArrayLike, num: int, seed: int = 0) -> Float64[np.ndarray, "n m p"]:
        """`num` draws of what each design becomes in use: points of f."""
        points = _points(x, self.name, self.names)
        choices = {n: k.count for n, k in self.kinds.items() if isinstance(k, Categorical)}
        return drawn(points, self.names, self.noise_by_name, choices, num, seed)

    def plot(self, resolution: int = 120) -> Figure:
        """A Matplotlib figure of f and g: curves, maps, or slices through the robust optimum."""
        try:
            from meseta.problems.picture import draw
        except ImportError as error:
            raise missing(f"plots need matplotlib ({error})", "plot") from error
        return draw(self, resolution)

    def _number(self, name: str, value: Any) -> float:
        kind = self.kinds.get(name)
        return float(kind.choices.index(value) if isinstance(kind, Categorical) else value)

    def _value(self, name: str, number: float) -> Any:
        kind = self.kinds.get(name)
        if isinstance(kind, Categorical):
            return kind.choices[round(number)]
        return number if kind is None else kind.from_columns([number])


@final
@dataclass(frozen=True, eq=False)
class _Checked:
    """A function of points that refuses what is not a finite (m, d) array."""

    function: Callable[..., Any]
    problem: str
    names: tuple[str, ...]

    def __call__(self, x: ArrayLike) -> Any:
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
