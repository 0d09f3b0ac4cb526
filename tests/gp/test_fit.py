"""The surrogate: its fit, and the values that are thinned for it."""

import json
import math
import warnings
from pathlib import Path

import pytest
import torch
from botorch.optim.fit import fit_gpytorch_mll_scipy

from gp_models import normal, small_model, tensor, uniform, unit_box
from meseta import Normal
from meseta.gp.fit import Hyperparameters
from meseta.gp.thinning import thinned
from meseta.integrations.botorch import RobustPosterior, fit_surrogate
from meseta.problems import get

DATA = Path(__file__).parents[1] / "data"


def test_fit_learns_lengthscales_and_noise():
    X = uniform(60, 2, seed=0)
    y = torch.sin(8 * X[:, 0]) + 0.3 * X[:, 1] + 0.05 * normal(60, seed=1)
    _, info = fit_surrogate(X, y, unit_box(2))
    short, long = info.hyperparameters.lengthscale
    assert short < 0.6 < long
    raw_noise = info.hyperparameters.noise_variance * y.var()
    assert 0.03**2 < raw_noise < 0.08**2


def test_a_given_noise_variance_is_in_raw_units_and_kept():
    X, y = uniform(8, 1, seed=0), 100 * normal(8, seed=1)
    model, info = fit_surrogate(X, y, unit_box(1), noise_variance=4.0)
    assert info.hyperparameters.noise_variance is None
    posterior = RobustPosterior.from_model(model, Normal(0.1))
    torch.testing.assert_close(posterior.noise_variance, tensor(4.0))


def test_a_noise_variance_below_the_libraries_floor_is_kept():
    X, y = uniform(5, 1, seed=0), normal(5, seed=1)
    model, _ = fit_surrogate(X, y, unit_box(1), noise_variance=1e-12)
    posterior = RobustPosterior.from_model(model, Normal(0.1))
    torch.testing.assert_close(posterior.noise_variance, tensor(1e-12))


def test_the_paper_s_prior_pins_lengthscales_to_the_noise():
    bounds = tensor([[-10.0, 4.1, 0.0], [45.0, 5.0, 1.0]])
    X = bounds[0] + uniform(12, 3, seed=0) * (bounds[1] - bounds[0])
    law = Normal([5.5, 0.09, 0.0])
    _, info = fit_surrogate(X, normal(12, seed=1), bounds, law, prior="paper")
    noisy = info.hyperparameters.lengthscale[:2]
    torch.testing.assert_close(noisy, tensor([0.1, 0.1]), rtol=0.3, atol=0)


def test_a_warm_start_reaches_the_same_fit_in_fewer_iterations():
    X = uniform(30, 2, seed=0)
    y = torch.sin(5 * X).sum(-1) + 0.01 * normal(30, seed=1)
    _, first = fit_surrogate(X[:29], y[:29], unit_box(2))
    _, cold = fit_surrogate(X, y, unit_box(2))
    _, warm = fit_surrogate(X, y, unit_box(2), previous=first.hyperparameters)
    assert warm.warm
    assert not cold.warm
    assert warm.iterations < cold.iterations
    assert warm.log_posterior == pytest.approx(cold.log_posterior, abs=1e-3)


def stuck_fit():
    """Data, and hyper-parameters at the least noise variance, where a fit once stayed."""
    told = json.loads((DATA / "stuck_fit.json").read_text())
    X, y = torch.tensor(told["x"]).double()[:, None], torch.tensor(told["y"]).double()
    bounds = torch.as_tensor(get("rkhs").bounds)
    return X, y, bounds, hyperparameters(0.0711, 0.8, 1.0000006e-8)


def hyperparameters(lengthscale, outputscale, noise_variance, mean=0.0):
    values = (outputscale, noise_variance, mean)
    return Hyperparameters(tensor([lengthscale]), *(tensor(value) for value in values))


@pytest.mark.parametrize("silent", [True, False])
def test_a_fit_does_not_stay_at_the_least_noise_variance(silent, monkeypatch):
    """Neither where the optimiser underneath warns, nor where it does not."""

    def without_warnings(mll, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit_gpytorch_mll_scipy(mll, **options)

    if silent:
        monkeypatch.setattr("meseta.gp.fit.fit_gpytorch_mll_scipy", without_warnings)
    X, y, bounds, stuck = stuck_fit()
    _, cold = fit_surrogate(X, y, bounds)
    _, info = fit_surrogate(X, y, bounds, previous=stuck)
    assert info.log_posterior == pytest.approx(cold.log_posterior, abs=1e-3)
    assert info.warm
    assert info.slope < 1e-2


def test_a_fit_that_stops_short_is_repeated_from_a_better_start(monkeypatch):
    X, y, bounds, stuck = stuck_fit()
    _, cold = fit_surrogate(X, y, bounds)
    calls = []

    def stops_at_once(mll, **options):
        calls.append(mll)
        limit = {"maxiter": 0} if len(calls) == 1 else {}
        return fit_gpytorch_mll_scipy(mll, options=limit, **options)

    monkeypatch.setattr("meseta.gp.fit.fit_gpytorch_mll_scipy", stops_at_once)
    model, info = fit_surrogate(X, y, bounds, previous=stuck)
    assert info.repeated
    assert any("repeated" in message for message in info.messages)
    assert info.log_posterior == pytest.approx(cold.log_posterior, abs=1e-3)
    fitted = model.covar_module.base_kernel.lengthscale.detach().flatten()
    torch.testing.assert_close(fitted, info.hyperparameters.lengthscale)


def test_a_fit_that_fails_from_one_start_succeeds_from_another(monkeypatch):
    X, y, bounds, stuck = stuck_fit()
    calls = []

    def fails_first(mll, **options):
        calls.append(mll)
        if len(calls) == 1:
            raise RuntimeError("singular")
        return fit_gpytorch_mll_scipy(mll, **options)

    monkeypatch.setattr("meseta.gp.fit.fit_gpytorch_mll_scipy", fails_first)
    _, info = fit_surrogate(X, y, bounds, previous=stuck)
    assert info.repeated
    assert math.isfinite(info.log_posterior)
    assert any("singular" in message for message in info.messages)


def test_a_fit_that_always_fails_warns_and_keeps_the_best_start(monkeypatch):
    def fails(mll, **options):
        raise RuntimeError("singular")

    monkeypatch.setattr("meseta.gp.fit.fit_gpytorch_mll_scipy", fails)
    X, y, bounds, start = stuck_fit()
    with pytest.warns(RuntimeWarning, match="fit failed"):
        _, info = fit_surrogate(X, y, bounds, previous=start)
    assert math.isnan(info.slope)
    # 0.2 is the usual lengthscale, with half of which the log posterior is highest
    torch.testing.assert_close(info.hyperparameters.lengthscale, tensor([0.1]))
    assert info.log_posterior > 0


def test_a_fit_that_has_not_converged_says_so(monkeypatch):
    def stops_at_once(mll, **options):
        return fit_gpytorch_mll_scipy(mll, options={"maxiter": 0}, **options)

    monkeypatch.setattr("meseta.gp.fit.fit_gpytorch_mll_scipy", stops_at_once)
    X, y, bounds, _ = stuck_fit()
    _, info = fit_surrogate(X, y, bounds)
    assert info.slope > 0.05
    assert any("not converged" in message for message in info.messages)


@pytest.mark.parametrize("noise_variance", [None, 1e-4])
def test_hyperparameters_of_many_values_come_from_some_and_the_model_has_all(
    noise_variance, monkeypatch
):
    monkeypatch.setattr("meseta.gp.fit.MOST_FITTED", 60)
    X = uniform(150, 2, seed=0)
    y = 100 + 7 * torch.sin(4 * X).sum(-1) + 0.01 * normal(150, seed=1)
    model, info = fit_surrogate(X, y, unit_box(2), noise_variance=noise_variance)
    assert info.num_fitted == 60
    posterior = RobustPosterior.from_model(model, Normal(0.0))
    assert len(posterior.core.y) == 150
    x = uniform(50, 2, seed=2)
    # the truth; 0.01 is the scatter of a value
    error = posterior.joint(x).m_f - (100 + 7 * torch.sin(4 * x).sum(-1))
    assert error.abs().max() < 0.05
    monkeypatch.setattr("meseta.gp.fit.MOST_FITTED", 150)
    _, whole = fit_surrogate(X, y, unit_box(2), noise_variance=noise_variance)
    assert whole.num_fitted == 150
    ratio = info.hyperparameters.lengthscale / whole.hyperparameters.lengthscale
    assert ((ratio > 0.7) & (ratio < 1.4)).all()


def test_thinned_points_are_spread_with_neighbours():
    clusters = torch.cat([uniform(40, 2, seed=0) * 0.01 + corner for corner in corners()])
    chosen = thinned(clusters, 8)
    assert len(chosen.unique()) == 8
    # two of each cluster: one that is spread, and its neighbour
    assert (chosen // 40).bincount().tolist() == [2, 2, 2, 2]
    assert torch.equal(thinned(clusters, 1000), torch.arange(160))


def corners():
    return tensor([[0.0, 0.0], [0.9, 0.0], [0.0, 0.9], [0.9, 0.9]])


def test_thinning_takes_repeated_points_too():
    assert len(thinned(torch.zeros(30, 2, dtype=torch.double), 7).unique()) == 7


@pytest.mark.parametrize("noise_variance", [-1.0, math.nan, math.inf])
def test_noise_variances_that_are_none_are_refused(noise_variance):
    X, y, _ = small_model()
    with pytest.raises(ValueError, match="noise_variance must be finite"):
        fit_surrogate(X, y, unit_box(2), noise_variance=noise_variance)


def test_what_a_fit_has_to_say_is_said_once():
    """Repeated points without any noise: GPyTorch warned of its jitter at each step of the fit."""
    X, y = tensor([[0.2], [0.2], [0.2], [0.7], [0.7]]), tensor([1.0, 1.0, 1.0, 0.0, 0.0])
    _, info = fit_surrogate(X, y, tensor([[0.0], [1.0]]), noise_variance=0.0)
    assert info.messages
    assert len(set(info.messages)) == len(info.messages)


def test_fitting_refuses_what_it_cannot_use():
    X, y = uniform(6, 2, seed=0), normal(6, seed=1)
    with pytest.raises(ValueError, match=r"\(n, d\)"):
        fit_surrogate(X, y[:3], unit_box(2))
    with pytest.raises(ValueError, match="no data"):
        fit_surrogate(X[:0], y[:0], unit_box(2))
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        fit_surrogate(X, y, unit_box(1))
    with pytest.raises(ValueError, match="below its upper bound"):
        fit_surrogate(X, y, unit_box(2).flip(0))
    with pytest.raises((TypeError, ValueError), match=r"'default'.*'paper'"):
        fit_surrogate(X, y, unit_box(2), prior="guess")
    with pytest.raises(ValueError, match="give noise"):
        fit_surrogate(X, y, unit_box(2), prior="paper")
