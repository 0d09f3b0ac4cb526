"""The posterior of f and g given that g has the maximum g* (paper, Sec. 3.2.2)."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from meseta.gp.clamped import FLOOR
from meseta.gp.joint import JointMoments, JointPosterior
from meseta.inference import (
    EPInfo,
    TruncatedGaussian,
    expectation_propagation,
    standard_truncation,
    truncate_above,
)
from meseta.kernels.smoothed import Covariance

# A constraint g(x_i) <= g* that is this many standard deviations away removes 1e-15 of the mass:
# it is left out of EP, whose cost grows with the cube of the number of constraints.
INACTIVE = 8.0
# Below this share of the prior variance g(x_i) is as good as known, so that no constraint can
# change it, and rounding has eaten its correlations with the other g(x_j).
CERTAIN = 1e-12


@dataclass(frozen=True, eq=False)
class GivenMax:
    """p(f, g | D, g*) for each of k values of g*: one EP run, then O(n^2) per x.

    `sites` are the data points whose constraint counts; V = L^-1 k_fg(X, sites).
    """

    posterior: JointPosterior
    g_star: Float[Tensor, " k"]
    sites: Float[Tensor, "s d"]
    V: Float[Tensor, "s n"]
    truncated: TruncatedGaussian
    info: EPInfo

    @cached_property
    def k_g_sites(self) -> Covariance:
        """k_g(x, sites) as a function of x."""
        return self.posterior.kernel.g_with(self.sites)


class ConditionedMoments(NamedTuple):
    """Moments of f(x) and g(x) given D and each of k values of g*; `before`: given D alone."""

    m_f: Float[Tensor, "k m"]  # m_tilde
    v_f: Float[Tensor, "k m"]  # v_tilde
    m_g: Float[Tensor, "k m"]  # m_hat
    v_g: Float[Tensor, "k m"]  # v_hat
    explained: Float[Tensor, "k m"]  # 1 - v_hat / v_g
    before: JointMoments


@torch.no_grad()
def given_max(posterior: JointPosterior, g_star: Float[Tensor, " k"]) -> GivenMax:
    """Step 1: EP on g(X) | D with the constraints g(x_i) <= g*, for every g* at once."""
    X = posterior.X
    moments, c = posterior.moments_and_whitened(X)
    _, prior = posterior.kernel.at_same_point(X)
    # repeated points have one constraint: EP would count it several times, and be off by a tenth
    uncertain = (moments.v_g > CERTAIN * prior) & _first_of_equals(X)
    lowest = g_star.min()
    active = uncertain & (lowest - moments.m_g < INACTIVE * moments.v_g.sqrt())
    while True:
        state = _with_sites(posterior, g_star, X[active], c[active])
        m_0, v_0, _ = _given_sites(state, X, moments, c)
        # a constraint that counted may have pushed another g(x_i) up towards g*
        woken = uncertain & (lowest - m_0 < INACTIVE * v_0.sqrt()).any(0) & ~active
        if not woken.any():
            return state
        active = active | woken


def _first_of_equals(X: Float[Tensor, "n d"]) -> Bool[Tensor, " n"]:
    """Which rows are not repetitions of an earlier one."""
    _, group = X.unique(dim=0, return_inverse=True)
    row = torch.arange(len(X))
    first = torch.full_like(row, len(X)).scatter_reduce(0, group, row, "amin")
    return first[group] == row


def _with_sites(posterior: JointPosterior, g_star: Tensor, sites: Tensor, V: Tensor) -> GivenMax:
    # G = k_g(X, X) - V'V, the posterior covariance of g at the sites
    G = posterior.kernel.k_g(sites, sites) - V @ V.mT
    truncated, info = expectation_propagation(posterior.mean_g(sites), G, g_star)
    return GivenMax(posterior, g_star, sites, V, truncated, info)


def _given_sites(
    state: GivenMax, x: Tensor, before: JointMoments, c: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Step 2: m_0 and v_0, the moments of g(x) given D and the sites, and v_g - v_0."""
    if not len(state.sites):
        shape = (len(state.g_star), len(x))
        return before.m_g.expand(shape), before.v_g.expand(shape), torch.zeros(()).to(c)
    # C = k_g(X, x) - V'c, in the units of EP; v_0 = v_g - C'W C, m_0 = m_g + C'u
    C = (state.k_g_sites(x) - c @ state.V.mT) / state.truncated.scale
    removed = (state.truncated.root @ C.mT).square().sum(-2)
    _, prior = state.posterior.kernel.at_same_point(x)
    state.posterior.clamped.note("Var[g(x)] given g*", before.v_g - removed, prior)
    removed = torch.minimum(removed, (1 - FLOOR) * before.v_g)
    return before.m_g + state.truncated.shift @ C.mT, before.v_g - removed, removed


def explained_by_max(
    state: GivenMax, x: Float[Tensor, "m d"]
) -> tuple[JointMoments, Float[Tensor, "k m"]]:
    """The moments given D, and the share 1 - v_hat / v_g of Var[g(x)] that g* removes."""
    before, c = state.posterior.moments_and_whitened(x)
    m_0, v_0, removed = _given_sites(state, x, before, c)
    truncation = standard_truncation((state.g_star[:, None] - m_0) / v_0.sqrt())
    # the sum of what the sites and the truncation remove: no cancellation
    return before, (removed + v_0 * truncation.explained) / before.v_g


def moments_given_max(state: GivenMax, x: Float[Tensor, "m d"]) -> ConditionedMoments:
    """Steps 2 to 4: from the sites to g(x), truncated at g*, and from there to f(x)."""
    before, c = state.posterior.moments_and_whitened(x)
    m_0, v_0, removed = _given_sites(state, x, before, c)
    hat = truncate_above(m_0, v_0, state.g_star[:, None].expand_as(m_0))
    explained = (removed + v_0 * hat.explained) / before.v_g
    slope = before.c_fg / before.v_g  # of the regression of f(x) on g(x)
    return ConditionedMoments(
        m_f=before.m_f + slope * (hat.mean - before.m_g),
        v_f=variance_given_max(before, explained),
        m_g=hat.mean,
        v_g=hat.variance,
        explained=explained,
        before=before,
    )


def variance_given_max(
    moments: JointMoments, explained: Float[Tensor, "k m"]
) -> Float[Tensor, "k m"]:
    """Var[f(x) | D, g*] once conditioning has removed the share `explained` of Var[g(x)].

    f(x) and g(x) are jointly Gaussian given D, so shrinking Var[g] from v_g to v_hat shrinks
    Var[f] along the regression of f on g (paper, Sec. 3.2.2, step 4).
    """
    return moments.v_f - moments.c_fg**2 / moments.v_g * explained
