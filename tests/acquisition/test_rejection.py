"""NES-RS against exact rejection sampling, and against NES-EP where both are accurate."""

import math

import pytest
import torch

from gp_models import random_model, tensor, unit_box
from meseta import Normal
from meseta.acquisition.nes import NESOptions, prepare_nes
from meseta.acquisition.rejection import RejectionOptions, prepare_rejection
from meseta.gp.maxima import maxima_below, maximize_paths
from meseta.gp.paths import sample_paths
from meseta.inference.density import kde_entropy
from meseta.integrations.botorch import RobustPosterior


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def core_of(d, n, law, lengthscale=0.3, seed=0):
    return RobustPosterior.from_model(random_model(seed, d, n, lengthscale), law).core


@pytest.mark.parametrize("d", [1, 3])
def test_paths_below_a_bound_are_those_whose_maximum_is(d):
    core = core_of(d, 6, Normal(0.1))
    paths = sample_paths(core, 600, 500, generator())
    bounds = unit_box(d)
    maxima = maximize_paths(paths, bounds, generator(1)).value
    g_star = torch.quantile(maxima, tensor([0.25, 0.5, 0.75]))
    below = maxima_below(paths, g_star, bounds, generator(2))
    assert below.shape == (3, 600)
    # one start per path instead of two, another sweep: a few may differ
    assert (below != (maxima <= g_star[:, None])).double().mean() < 0.02


def test_entropies_are_those_of_exact_samples():
    """g on a grid and f(x), drawn jointly and exactly; kept where g stays below g*."""
    core = core_of(1, 4, Normal(0.1), seed=3)
    grid = torch.linspace(0, 1, 60, dtype=torch.double)[:, None]
    x = tensor([[0.15], [0.5], [0.8]])
    joint = torch.cat(
        [
            torch.cat([core.covariance_g(grid, grid), core.covariance_gf(grid, x)], 1),
            torch.cat([core.covariance_gf(grid, x).mT, core.covariance_f(x, x)], 1),
        ]
    )
    mean = torch.cat([core.mean_g(grid), core.mean_f(x)])
    values, vectors = torch.linalg.eigh(joint)
    root = vectors * values.clamp_min(0).sqrt()
    draws = mean + torch.randn(200_000, 63, dtype=torch.double, generator=generator()) @ root.T
    rs = prepare_rejection(core, unit_box(1), generator(1), RejectionOptions(num_accepted=4000))
    kept = draws[draws[:, :60].amax(1) <= rs.info.max_values][:, 60:]
    moments = core.moments(x)
    s2 = core.observation_variance(x)
    eps = s2.sqrt() * torch.randn(len(kept), 1, dtype=torch.double, generator=generator(2))
    before = 0.5 * (2 * math.pi * math.e * (moments.v_f + s2)).log()
    exact = before - kde_entropy((kept + eps).mT, 0.1)
    assert rs.value(x) == pytest.approx(exact, abs=0.05)


def test_it_agrees_with_expectation_propagation_about_where_to_look():
    """NES-EP is a Gaussian approximation, but orders points alike."""
    core = core_of(1, 4, Normal(0.1), lengthscale=0.2)
    ep = prepare_nes(core, unit_box(1), generator(), NESOptions(num_paths=400))
    options = RejectionOptions(num_paths=400, num_accepted=4000)
    rs = prepare_rejection(core, unit_box(1), generator(), options)
    x = torch.linspace(0, 1, 101, dtype=torch.double)[:, None]
    both = torch.stack([ep.value(x), rs.value(x)])
    assert torch.corrcoef(both)[0, 1] > 0.9


def test_info_says_how_many_paths_it_took():
    options = RejectionOptions(num_max_values=3, num_accepted=200)
    rs = prepare_rejection(core_of(2, 5, Normal(0.1)), unit_box(2), generator(), options)
    assert rs.info.accepted == (200, 200, 200)
    assert rs.info.drawn >= 700  # a quarter lies below the lowest of the three values


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="at least 2"):
        RejectionOptions(num_accepted=1)


def test_a_maximum_below_which_no_path_stays_is_warned_about(monkeypatch):
    """All paths stand for such a value, so that it tells nothing: that must not go unseen."""

    def none_below(paths, g_star, bounds, generator):
        below = torch.ones(len(g_star), len(paths.update), dtype=torch.bool)
        below[0] = False
        return below

    monkeypatch.setattr("meseta.acquisition.rejection.maxima_below", none_below)
    options = RejectionOptions(num_max_values=2, num_accepted=20)
    with pytest.warns(RuntimeWarning, match="for 1 of 2 values"):
        rs = prepare_rejection(core_of(2, 5, Normal(0.1)), unit_box(2), generator(), options)
    assert rs.info.unconditioned == 1
    assert rs.value(torch.rand(3, 2, dtype=torch.double, generator=generator())).isfinite().all()
