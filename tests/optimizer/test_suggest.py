"""Suggest and recommend: one iteration, and a whole loop of them."""

import math
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from gp_models import normal, small_model, tensor, uniform, unit_box
from meseta import Independent, Normal, Uniform
from meseta.integrations.botorch import (
    RobustPosterior,
    fit_surrogate,
    nominal,
    recommend,
    suggest,
    to_botorch,
)
from meseta.optimizer.recommend import CAUTION

DATA = Path(__file__).parents[1] / "data"


def sin_linear(x):
    return torch.sin(5 * math.pi * x[:, 0] ** 2) + 0.5 * x[:, 0]


def test_a_suggestion_is_determined_by_its_seed():
    X, y = uniform(6, 2, seed=0), normal(6, seed=1)
    before = torch.get_rng_state()
    first, again, other = (
        suggest(X, y, unit_box(2), Uniform(0.1), seed=seed)[0] for seed in (3, 3, 4)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


def test_a_suggestion_beats_random_points_and_keeps_away_from_pending_ones():
    X, y = uniform(8, 2, seed=0), normal(8, seed=1)
    averaged = {"method": "nes-ep", "options": {"num_max_values": 3}}
    x, info = suggest(X, y, unit_box(2), Normal(0.1), **averaged)
    random_values = info.acquisition(uniform(500, 1, 2, seed=5))
    assert info.maximize.value >= random_values.max() - 1e-9
    other, _ = suggest(X, y, unit_box(2), Normal(0.1), X_pending=x[None], **averaged)
    assert (other - x).norm() > 1e-2


def test_a_suggestion_under_a_law_for_each_parameter():
    bounds = tensor([[-10.0, 4.1, 0.0], [45.0, 5.0, 1.0]])
    law = Independent([Normal(3.0), Uniform(0.05), Normal(0.0)])
    X, y = bounds[0] + uniform(8, 3, seed=0) * (bounds[1] - bounds[0]), normal(8, seed=1)
    x, info = suggest(X, y, bounds, law)
    assert torch.all((bounds[0] <= x) & (x <= bounds[1]))
    random_points = bounds[0] + uniform(500, 1, 3, seed=5) * (bounds[1] - bounds[0])
    assert info.maximize.value >= info.acquisition(random_points).max() - 1e-9
    # the noise in units of the box, where the model lives
    variances = tensor([(3.0 / 55.0) ** 2, (0.05 / 0.9) ** 2 / 3, 0.0])
    law_of_model = RobustPosterior.from_model(info.model, law).core.kernel.law
    torch.testing.assert_close(law_of_model.covariance_matrix, torch.diag(variances))


def test_the_recommendation_is_the_best_bet():
    X, y = uniform(9, 2, seed=0), normal(9, seed=1)
    model, _ = fit_surrogate(X, y, unit_box(2))
    posterior = RobustPosterior.from_model(model, Normal(0.1))
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 201, dtype=torch.double)] * 2)
    moments = posterior.joint(grid)
    robust, tallest = recommend(posterior, unit_box(2)), nominal(posterior, unit_box(2))
    bets = moments.m_g - CAUTION * moments.v_g.sqrt()
    assert robust.mean - CAUTION * robust.std >= bets.max() - 1e-9
    bets = moments.m_f - CAUTION * moments.v_f.sqrt()
    assert tallest.nominal_mean - CAUTION * tallest.nominal_std >= bets.max() - 1e-9
    assert robust.mean - CAUTION * robust.std >= tallest.mean - CAUTION * tallest.std
    of_robust = robust.nominal_mean - CAUTION * robust.nominal_std
    assert tallest.nominal_mean - CAUTION * tallest.nominal_std >= of_robust


def test_the_loop_finds_the_plateau_and_not_the_needle():
    """Sin + Linear: the tallest point is at 0.95, the robust optimum at 0.311 (g = 1.0421)."""
    law, bounds = Normal(0.05), unit_box(1)
    X = uniform(3, 1, seed=2)
    y = sin_linear(X)
    for iteration in range(15):
        x, _ = suggest(X, y, bounds, law, seed=iteration)
        X, y = torch.cat([X, x[None]]), torch.cat([y, sin_linear(x[None])])
    model, _ = fit_surrogate(X, y, bounds)
    best = recommend(RobustPosterior.from_model(model, law), bounds)
    assert best.x.item() == pytest.approx(0.3111, abs=5e-3)
    assert best.mean == pytest.approx(1.0421, abs=1e-3)
    # 0.31 is also what the gradient of the exact g says, by quadrature
    xi = torch.linspace(-8, 8, 4001, dtype=torch.double) * 0.05
    weight = torch.exp(-0.5 * (xi / 0.05) ** 2)
    weight = weight / weight.sum()
    exact = sin_linear((best.x + xi)[:, None]) @ weight
    assert exact.item() == pytest.approx(1.0420977, abs=1e-4)


@pytest.mark.parametrize(("centre", "width"), [(1.7e9, 60.0), (2.4e9, 2e4), (-5e7, 1.0)])
def test_a_narrow_box_far_from_zero_keeps_its_digits(centre, width):
    bounds = tensor([[centre - width / 2], [centre + width / 2]])
    X = bounds[0] + width * torch.linspace(0.03, 0.97, 8, dtype=torch.double)[:, None]
    model, _ = fit_surrogate(X, torch.sin(6 * (X[:, 0] - bounds[0]) / width), bounds)
    robust = RobustPosterior.from_model(model, Normal(0.05 * width))
    expected = to_botorch(model).posterior(X).mean.flatten().detach()
    assert_close(robust.joint(X).m_f, expected, rtol=0, atol=1e-5)
    assert recommend(robust, bounds).x.item() == pytest.approx(
        centre - 0.24 * width, abs=0.03 * width
    )


def test_data_of_any_kind_of_number_is_fitted():
    X, y, _ = small_model()
    plain, _ = suggest(X, y, unit_box(2), Normal(0.1))
    with_graph, _ = suggest(X, y.clone().requires_grad_(), unit_box(2), Normal(0.1))
    assert torch.equal(plain, with_graph)
    suggest(X.float(), y.float(), unit_box(2).float(), Normal(0.1), noise_variance=1e-4)
    suggest(X, torch.arange(8), unit_box(2), Normal(0.1), noise_variance=0.5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_data_with_holes_is_refused(bad):
    X, y = uniform(6, 2, seed=0), normal(6, seed=1)
    holed = y.clone()
    holed[3] = bad
    with pytest.raises(ValueError, match=r"\[3\].*leave failed evaluations out"):
        suggest(X, holed, unit_box(2), Normal(0.1))
    X[2, 1] = bad
    with pytest.raises(ValueError, match=r"\[2\]"):
        suggest(X, y, unit_box(2), Normal(0.1))
