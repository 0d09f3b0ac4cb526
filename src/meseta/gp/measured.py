"""A measure of f(x + xi) on sample paths of f: its mean, its spread, and how it moves with f."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.gp.blocks import at_places, in_blocks
from meseta.gp.incumbent import Incumbent
from meseta.gp.joint import JointPosterior
from meseta.gp.mixture import Mean, Mixture
from meseta.gp.paths import SamplePaths, sample_paths
from meseta.kernels import SmoothedKernel
from meseta.measures import Measure, WorstCase
from meseta.measures.within import Within
from meseta.noise import NoiseLaw
from meseta.noise.draws import Draws, draw, draw_extremes
from meseta.space.domain import Box, Held, as_domain

# Points at which the measure of the mean of f is looked at, and how many of the best go on.
SWEEP, CLOSER_LOOK, STARTS = 256, 24, 3
QUICK = 64  # draws for a quick look
POINTS = 2**16  # places of f that are evaluated at a time


@dataclass(frozen=True, eq=False)
class Measured:
    """rho(x) = measure of f~(x + xi_j) for each path f~, with the same draws xi_j for all x.

    It stands in for the paths of g where these are maximised: the mean is another measure.
    """

    posterior: JointPosterior
    paths: SamplePaths
    draws: Draws
    measure: Measure

    @property
    def kernel(self) -> SmoothedKernel:
        return self.paths.kernel

    @property
    def X(self) -> Float[Tensor, "n d"]:
        return self.paths.X

    @property
    def jitter(self) -> float:
        return self.paths.jitter

    def g(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "paths b"]:
        """rho of all paths at the same points."""
        return torch.cat([self._rho_and_mean(part)[0] for part in self._parts(x)], dim=-1)

    def g_of(self, path: Int[Tensor, " b"], x: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """rho of path path[i] at x[i]."""
        places = self.draws(x)
        values = self.draws.in_use(self.paths.f_of(path, places.z), self.posterior.scatter(x))
        return self.measure.of(values, places.weights)

    def mean(self, x: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """The mean of rho over the posterior of f.

        Where it is the mean of f(x + xi), which is known exactly, and something else, only that is
        left to paths and draws.
        """
        if not self.measure.around_mean:
            return self.g(x).mean(0)
        both = [self._rho_and_mean(part) for part in self._parts(x)]
        rest = torch.cat([(rho - mean).mean(0) for rho, mean in both])
        return self.posterior.mean_g(x) + rest

    def of_mean(self, x: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """rho of the mean of f: quick, and high where it is worth to look."""
        draws = self.draws.portion(0, QUICK)
        places = draws(x)
        values = at_places(self.posterior.mean_f, places.z, len(self.posterior.X))
        values = draws.in_use(values, self.posterior.scatter(x))
        return self.measure.of(values, places.weights)

    @torch.no_grad()
    def tilt(self, x: Float[Tensor, "b d"]) -> tuple[Float[Tensor, "b m d"], Float[Tensor, "b m"]]:
        """Places and weights w with d rho = sum_j w_j df(z_j), on average over the paths.

        Of a measure around the mean without the mean: then w sums to 0.
        """
        places = self.draws(x)
        with torch.enable_grad():
            values = self._values(x, places.z).detach().requires_grad_()
            rho = self.measure.of(values, places.weights)
            (w,) = torch.autograd.grad(rho.sum(), values)
        average = w.mean(0)
        return places.z, average - places.weights if self.measure.around_mean else average

    def _parts(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.split(max(1, POINTS // len(self.draws.own)))

    def _values(
        self, x: Float[Tensor, "b d"], z: Float[Tensor, "b m d"]
    ) -> Float[Tensor, "paths b m"]:
        f = self.paths.f(z.flatten(0, 1)).view(len(self.paths.update), *z.shape[:2])
        return self.draws.in_use(f, self.posterior.scatter(x))

    def _rho_and_mean(
        self, x: Float[Tensor, "b d"]
    ) -> tuple[Float[Tensor, "paths b"], Float[Tensor, "paths b"]]:
        """rho of all paths, and the means of the same values."""
        places = self.draws(x)
        values = self._values(x, places.z)
        return self.measure.of(values, places.weights), (places.weights * values).sum(-1)


def draws_for(
    measure: Measure,
    law: NoiseLaw,
    d: int,
    num: int,
    generator: torch.Generator,
    scatters: bool = False,
) -> Draws:
    """Draws of the noise that the measure looks at."""
    inner = measure.measure if isinstance(measure, Within) else measure
    if isinstance(inner, WorstCase):
        return draw_extremes(law, d, inner.share, num, generator, scatters)
    return draw(law, d, num, generator, measure.tail, scatters)


def measured(
    posterior: JointPosterior,
    measure: Measure,
    num_paths: int,
    num_features: int,
    num_draws: int,
    generator: torch.Generator,
) -> Measured:
    """Paths of f, and draws of the noise."""
    law, d = posterior.kernel.law, posterior.X.shape[1]
    draws = draws_for(measure, law, d, num_draws, generator, posterior.scatters)
    paths = sample_paths(posterior, num_paths, num_features, generator)
    return Measured(posterior, paths, draws, measure)


def measured_mixture(
    mixture: Mixture,
    measure: Measure,
    num_paths: int,
    num_features: int,
    num_draws: int,
    generator: torch.Generator,
) -> tuple[list[Measured], list[float]]:
    """The same for each part of a mixture, which has its share of the paths; and these shares."""
    shares = mixture.shares(num_paths)
    seed = int(torch.randint(2**62, (1,), generator=generator))
    parts = [
        measured(part, measure, num, num_features, num_draws, _fresh(seed))  # the same draws
        for part, num in zip(mixture.parts, shares, strict=True)
        if num
    ]
    return parts, [num / num_paths for num in shares if num]


def maximize_measure(
    parts: list[Measured],
    weights: list[float],
    bounds: Box,
    generator: torch.Generator,
    held: Held | None = None,
    less: Mean | None = None,
) -> Incumbent:
    """Where the mean of rho is highest: a sweep with the mean of f, with paths, then ascent.

    `less` is what is taken from it at designs.
    """
    domain = as_domain(bounds)

    def average(of: Callable[[Measured, Tensor], Tensor], x: Tensor) -> Tensor:
        x = x if held is None else held.put(x)
        each = [w * of(part, x) for w, part in zip(weights, parts, strict=True)]
        value = torch.stack(each).sum(0)
        return value if less is None else value - less(x)

    mean: Mean = partial(average, Measured.mean)
    first = parts[0]
    places = QUICK * len(first.X)
    with torch.no_grad():
        sweep = torch.cat([domain.snap(first.X), domain.sobol(SWEEP, generator)])
        quick = in_blocks(partial(average, Measured.of_mean), sweep, places)
        best = quick.sort(descending=True, stable=True).indices[:CLOSER_LOOK]
        best = torch.cat([best, domain.best_of_each(sweep, quick)])
        values = mean(sweep[best])
        starts = best[values.sort(descending=True, stable=True).indices[:STARTS]]
    ascent = domain.ascend(
        lambda _, x: mean(x),
        sweep[starts],
        scale=first.kernel.kernel.lengthscale,
        gradient_tolerance=1e-5,
        value_tolerance=1e-7,  # paths and draws leave more open
    )
    top = ascent.value.sort(descending=True, stable=True).indices[0]
    return Incumbent(ascent.x[top], ascent.value[top])


def _fresh(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
