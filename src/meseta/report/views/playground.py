"""The model as the page carries it: all that it needs to compute f and g at any design by itself.

Everything is in the units of the model (unit cube, standardised values); `played` computes the same
figures from it as the script of the page does.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.joint import JointPosterior
from meseta.noise import Empirical, Independent, NoiseLaw, Normal
from meseta.noise.draws import draw, quantile
from meseta.noise.joint import own_and_shared
from meseta.noise.law import OneDimensional
from meseta.noise.panels import composite, panels
from meseta.noise.placed import Placed
from meseta.noise.substitution import Substituted
from meseta.optimizer.fitted import in_cube
from meseta.report.views.subject import Subject
from meseta.space.parameter import Categorical
from meseta.space.parameter import Float as Number
from meseta.space.space import Design

DRAWS = 1024  # of the noise, for the distribution of values
TOGETHER = 512  # of them, for averages over noise that moves several columns
ORDER = 16  # Gauss-Legendre nodes on a panel of a law
FAR = 3.0  # widths of the range: noise farther out needs no panels of its own
PIECES = 32  # panels of a law, at most, besides those that its density asks for
MOST_NODES, STRATA = 640, 512  # nodes of a law; equally likely ones, where it has more or an edge
TABULATED = 1025  # places in the table of a width that is a function of the design
MOST_VALUES, MOST_POINTS = 1000, 2000  # that the page can factorise at once

Rows = tuple[tuple[float, ...], ...]
Row = tuple[float, ...]


@dataclass(frozen=True)
class Part:
    """One Gaussian process of the mixture, given the data."""

    weight: float
    variance: float
    mean: float
    shapes: tuple[str, ...]  # of the kernel, one for each column
    lengthscale: Row
    alpha: Row  # K^-1 (y - mean)
    noise: Row  # variances on the diagonal of K; empty: the page computes no intervals


@dataclass(frozen=True)
class Data:
    """What is observed: averages of f over points, one point for most of them."""

    points: Rows
    weights: Row
    counts: tuple[int, ...]  # the number of points of each value


@dataclass(frozen=True)
class Place:
    """How zeta moves the value of a column; see `Placed`."""

    kind: Literal["shift", "relative", "multiply", "width", "replace"]
    low: float
    high: float
    edge: Literal["allow", "clip", "reflect", "truncate"]
    log: bool
    offset: float
    unit: float
    width: Row  # at equal steps of x from 0 to 1; empty: it is no function of x


@dataclass(frozen=True)
class Column:
    """The noise of one column by itself: Normal in closed form, or nodes."""

    std: float
    bias: float
    nodes: Row  # of zeta, or of xi; empty: Normal
    weights: Row
    place: Place | None  # None: xi is added to x


@dataclass(frozen=True)
class Together:
    """Noise that moves several columns, by draws of it."""

    dims: tuple[int, ...]
    drawn: Rows  # beside those of each column by itself


@dataclass(frozen=True)
class Confused:
    """A category: with probability matrix[i][j], choice j in place of i."""

    dims: tuple[int, ...]
    choices: Rows
    matrix: Rows
    drawn: Row  # numbers between 0 and 1


@dataclass(frozen=True)
class Noise:
    """The noise of all columns."""

    columns: tuple[Column, ...]
    own: Rows  # draws of zeta or xi of each column by itself
    added: Row  # what single values scatter by at these, standardised; empty: by nothing
    together: tuple[Together, ...]
    confused: tuple[Confused, ...]

    @property
    def joint(self) -> set[int]:
        """The columns that are not moved by themselves."""
        together = {i for each in self.together for i in each.dims}
        return together | {i for each in self.confused for i in each.dims}


@dataclass(frozen=True)
class Knob:
    """One parameter as the page lets its reader move it."""

    name: str
    column: int  # the first of its columns
    choices: tuple[Any, ...]  # in the terms of the user; empty: a number
    low: float
    high: float
    log: bool
    step: float | None
    whole: bool
    robust: float  # its value at the robust optimum; of a category the number of the choice
    nominal: float
    design: bool  # False: an environment variable, which has no setting
    noisy: bool
    fixed: str  # why its tolerance cannot be moved; empty: it can


@dataclass(frozen=True)
class Playground:
    """The model, the noise and the parameters."""

    parts: tuple[Part, ...]
    data: Data
    noise: Noise
    knobs: tuple[Knob, ...]
    row: Row  # the robust optimum in the unit cube, with typical environment variables
    sign: float
    y_offset: float
    y_scale: float
    possible: tuple[float, float]
    averaged: bool  # values with unseen noise are averages over few draws here
    learned: bool  # widths of the noise were learned, and count as known here
    ruled: bool  # not every design is allowed


def playground(subject: Subject) -> Playground | str:
    """The model of a subject; a text says why there is none."""
    optimizer, space = subject.optimizer, subject.optimizer.space
    law = in_cube(subject.law, space)
    noise = _noise(subject, law)
    if noise is None:
        return "the noise of a parameter has a law that is known by samples alone"
    mixture = optimizer.fitted.mixture
    unseen = mixture.heaviest.observed.places is not None
    if unseen:  # under any other law than today's: then these values do not depend on it
        still = Independent([Normal(0.0)] * space.num_columns)
        mixture = optimizer.fitted.mixture_under(still)
    data = _data(mixture.heaviest)
    small = len(data.counts) <= MOST_VALUES and len(data.points) <= MOST_POINTS
    parts = [_part(p, w, small) for p, w in zip(mixture.parts, mixture.weights, strict=True)]
    units = subject.units
    return Playground(
        parts=tuple(parts),
        data=data,
        noise=noise,
        knobs=tuple(_knob(subject, noise, name) for name in subject.parameters),
        row=_row(subject.x_robust[0]),
        sign=subject.sign,
        y_offset=float(units.y_offset),
        y_scale=float(units.y_scale),
        possible=optimizer.settings.possible,
        averaged=unseen,
        learned=bool(optimizer.learned),
        ruled=bool(space.rules),
    )


def _part(posterior: JointPosterior, weight: float, small: bool) -> Part:
    kernel = posterior.kernel.kernel
    added = posterior.jitter * (posterior.observed.own.diagonal() + posterior.noise_variance).mean()
    return Part(
        weight=weight,
        variance=float(kernel.variance),
        mean=float(posterior.mean),
        shapes=kernel.shapes,
        lengthscale=_row(kernel.lengthscale),
        alpha=_row(posterior.alpha),
        noise=_row(posterior.noise_variance + added) if small else (),
    )


def _data(posterior: JointPosterior) -> Data:
    observed = posterior.observed
    X, unseen, places = observed.X, observed.unseen, observed.places
    if unseen is None or places is None:
        return Data(_rows(X), (1.0,) * len(X), (1,) * len(X))
    averaged = zip(places.z, places.weights, strict=True)
    one = torch.ones(1, dtype=torch.double)
    each = [
        next(averaged) if hidden else (row[None], one)
        for row, hidden in zip(X, unseen.rows.tolist(), strict=True)
    ]
    return Data(
        _rows(torch.cat([z for z, _ in each])),
        _row(torch.cat([w for _, w in each])),
        tuple(len(w) for _, w in each),
    )


def _noise(subject: Subject, law: NoiseLaw) -> Noise | None:
    space = subject.optimizer.space
    d = space.num_columns
    marginals, _ = own_and_shared(law.in_dimension(d), d)
    shortest = torch.stack(
        [part.kernel.kernel.lengthscale for part in subject.optimizer.fitted.mixture.parts]
    ).amin(0)
    columns = [_column(m, float(l)) for m, l in zip(marginals, shortest, strict=True)]
    found = tuple(column for column in columns if column is not None)
    if len(found) < d:
        return None
    core, x = subject.optimizer.fitted.mixture, subject.x_robust
    draws = draw(law, d, DRAWS, subject.generator(11), scatters=core.heaviest.scatters)
    together = [
        Together(tuple(dims), _rounded_rows(_all_alike(part, drawn, subject.generator(12))))
        for dims, part, drawn in draws.shared
        if not isinstance(part, Substituted)
    ]
    confused = [
        Confused(tuple(dims), part.choices, part.matrix, _row(drawn))
        for dims, part, drawn in draws.shared
        if isinstance(part, Substituted)
    ]
    own = _rounded_rows(draws.own)
    added = () if draws.scores is None else _rounded_rows(core.scatter(x) * draws.scores[None])[0]
    return Noise(found, own, added, tuple(together), tuple(confused))


def _all_alike(law: NoiseLaw, drawn: Tensor, generator: torch.Generator) -> Float[Tensor, "m k"]:
    """Draws of a law; of measured deviations each as often as any other, as far as that goes."""
    if not isinstance(law, Empirical):
        return drawn
    measured = torch.tensor(law.samples, dtype=torch.double).view(len(law.samples), -1)
    order = torch.randperm(len(measured), generator=generator)
    return measured[order[torch.arange(len(drawn)) % len(measured)]]


def _column(marginal: NoiseLaw, lengthscale: float) -> Column | None:
    if isinstance(marginal, Normal):
        std = float(marginal.covariance_matrix.sqrt())
        return Column(std, float(marginal.mean), (), (), None)
    law = marginal.law if isinstance(marginal, Placed) else marginal
    if not isinstance(law, OneDimensional):
        return None
    place = _place(marginal) if isinstance(marginal, Placed) else None
    edge = "allow" if place is None else place.edge
    zeta, weights = _rule(law, edge, lengthscale, 1 / _stretch(marginal))
    return Column(0.0, 0.0, _row(zeta), _row(weights), place)


def _place(placed: Placed) -> Place:
    x = torch.linspace(0, 1, TABULATED, dtype=torch.double)
    width = () if placed.width is None else _row(placed.stretch(placed.to_raw(x)[:, None])[:, 0])
    if placed.kind != "width":
        width = ()
    return Place(
        placed.kind,
        placed.low,
        placed.high,
        placed.edge,
        placed.log,
        placed.offset,
        placed.unit,
        width,
    )


def _stretch(marginal: NoiseLaw) -> float:
    """How far a unit of zeta moves x at most, to first order."""
    if not isinstance(marginal, Placed):
        return 1.0
    if marginal.kind == "replace":
        return 1 / abs(marginal.unit)
    raw = marginal.to_raw(torch.tensor([0.0, 0.5, 1.0], dtype=torch.double))
    far = marginal.stretch(raw[:, None])[:, 0].abs()
    if marginal.log:
        far = far / raw.abs()
    return max(float((far / marginal.unit).max()), 1e-12)


def _rule(
    law: OneDimensional, edge: str, lengthscale: float, unit: float
) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
    """Nodes and weights of a law: exact for smooth functions, equally likely ones at an edge.

    `unit` is the zeta that moves x by 1.
    """
    values, masses = law.atoms
    discrete = float(masses.sum()) > 1 - 1e-12
    if discrete and len(values) <= MOST_NODES:
        return values, masses
    if edge == "allow" and not discrete:
        low, high = law.interval(1e-12)
        a, b = law.interval(1e-6)
        a, b = max(a, -FAR * unit), min(b, FAR * unit)  # farther out f is not known anyway
        # with twice the noise of today a panel is as wide as two lengthscales
        pieces = min(PIECES, int((b - a) / (unit * lengthscale)) + 1)
        cuts = torch.linspace(a, b, pieces + 1, dtype=torch.double).tolist() if a < b else []
        found = panels(law, low, high, tuple(sorted({*law.breaks, *cuts})))
        if len(found.low) * ORDER + len(values) <= MOST_NODES:
            nodes, weights = composite(law, found, ORDER)
            nodes, weights = torch.cat([values, nodes]), torch.cat([masses, weights])
            heavy = weights > 1e-15
            return nodes[heavy], weights[heavy] / weights[heavy].sum()
    u = (torch.arange(STRATA, dtype=torch.double) + 0.5) / STRATA
    return quantile(law, u), torch.full((STRATA,), 1 / STRATA, dtype=torch.double)


def _knob(subject: Subject, noise: Noise, name: str) -> Knob:
    space, parameter = subject.optimizer.space, subject.parameter(name)
    place = space.columns_of(name)
    dims = range(place.start, place.stop)
    design = name in subject.design
    best = [_at(subject, name, each.params) for each in (subject.robust, subject.nominal)]
    if isinstance(parameter, Categorical):
        choices, low, high = parameter.choices, 0.0, float(parameter.count - 1)
    else:
        choices, low, high = (), float(parameter.low), float(parameter.high)
    moved = any(_noisy(noise.columns[i]) or i in noise.joint for i in dims)
    fixed = "" if design else "nobody sets it: it varies by itself"
    step = 1.0 if isinstance(parameter, Categorical) else parameter.step
    return Knob(
        name=subject.name(name),
        column=place.start,
        choices=tuple(subject.value(name, each) for each in choices),
        low=low,
        high=high,
        log=not isinstance(parameter, Categorical) and parameter.log,
        step=step,
        whole=not isinstance(parameter, Number),
        robust=best[0],
        nominal=best[1],
        design=design,
        noisy=moved,
        fixed=fixed,
    )


def _noisy(column: Column) -> bool:
    return bool(column.std or column.bias or column.nodes)


def _at(subject: Subject, name: str, params: Design) -> float:
    """The value of a parameter as a number; of an environment variable the typical one."""
    parameter = subject.parameter(name)
    variables = tuple(subject.optimizer.environments.variables)
    value = subject.optimizer.environments.complete(params, variables)[name]
    if isinstance(parameter, Categorical):
        return float(parameter.choices.index(value))
    assert isinstance(value, (int, float))
    return float(value)


def _row(values: Tensor) -> Row:
    return tuple(values.tolist())


def _rows(values: Float[Tensor, "m k"]) -> Rows:
    return tuple(tuple(row) for row in values.tolist())


def _rounded_rows(values: Float[Tensor, "m k"]) -> Rows:
    """Draws of the noise, without digits that make no difference."""
    return tuple(tuple(float(f"{value:.8g}") for value in row) for row in values.tolist())
