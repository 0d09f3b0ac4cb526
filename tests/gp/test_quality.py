"""Standard deviations that are told, and noise that varies: held against many repeats."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gp_models import normal, tensor, uniform, unit_box
from meseta.gp.fit import fit_surrogates
from meseta.gp.quality import Quality, known_variances, plain, pooled
from meseta.gp.robust import joint_posterior
from meseta.gp.varies import WORTH, repeats, varying_quality
from meseta.noise import Normal


def random(seed):
    return np.random.default_rng(seed)


def test_a_single_standard_deviation_is_taken_as_it_is():
    std, count = tensor([0.1, math.nan, 0.3]), torch.ones(3).double()
    known = known_variances(std, count)
    torch.testing.assert_close(known, tensor([0.01, math.nan, 0.09]), equal_nan=True)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_pooling_makes_estimates_by_few_repeats_better(spread):
    """Variances that are all the same, or differ by a factor e: pooled ones are nearer to them."""
    before, after = [], []
    for seed in range(40):
        true = np.exp(random(seed).normal(0, spread, 30))
        freedom = random(seed + 100).integers(1, 6, 30)
        squares = true * random(seed + 200).chisquare(freedom) / freedom
        better = pooled(tensor(squares), tensor(freedom)).numpy()
        before.append(np.mean(np.log(squares / true) ** 2))
        after.append(np.mean(np.log(better / true) ** 2))
    assert np.mean(after) < (0.1 if spread == 0 else 0.6) * np.mean(before)


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=12),
    st.integers(0, 1000),
)
def test_pooled_variances_lie_between_the_smallest_and_the_largest(squares, seed):
    freedom = tensor(random(seed).integers(1, 30, len(squares)))
    found = pooled(tensor(squares), freedom)
    assert found.isfinite().all()
    assert (found >= min(squares) * (1 - 1e-9)).all()
    # the common variance may exceed all estimates by few repeats: chi^2 is skewed
    assert (found <= 10 * max(squares) + 1e-300).all()


def test_values_with_a_known_variance_are_followed_as_closely_as_that():
    X = torch.linspace(0, 1, 12, dtype=torch.double)[:, None]
    y = torch.sin(6 * X[:, 0])
    y[5] += 1.0  # an outlier, which is said to be a rough value
    known = torch.full((12,), 1e-6).double()
    rough = known.clone()
    rough[5] = 4.0
    ones = torch.ones(12).double()
    for quality, follows in ((Quality(known, ones), True), (Quality(rough, ones), False)):
        surrogate = fit_surrogates(X, y, unit_box(1), kernel="se", quality=quality).surrogates[0]
        raw = surrogate.noise_variance * surrogate.units.y_scale**2
        torch.testing.assert_close(raw, quality.known)
        posterior = joint_posterior(surrogate, Normal(0.0), unit_box(1))
        found = float(surrogate.units.y_to_raw(posterior.mean_f(X[5:6])))
        assert (abs(found - float(y[5])) < 0.05) == follows


def test_what_is_not_told_is_learned_and_divided_by_the_number_of_repeats():
    X, noise = uniform(60, 1, seed=0), normal(60, seed=1)
    count = torch.where(torch.arange(60) % 2 == 0, 1.0, 16.0).double()
    y = torch.sin(5 * X[:, 0]) + 0.3 * noise / count.sqrt()
    quality = plain(60)
    quality = Quality(quality.known, count)
    surrogate = fit_surrogates(X, y, unit_box(1), kernel="se", quality=quality).surrogates[0]
    raw = surrogate.noise_variance * surrogate.units.y_scale**2
    torch.testing.assert_close(raw[0], 16 * raw[1])
    assert 0.15 < float(raw[0]) ** 0.5 < 0.6
    single = float(surrogate.new_noise_variance * surrogate.units.y_scale**2)
    assert single == pytest.approx(float(raw[0]))


def test_repeats_are_found_by_their_design():
    X = tensor([[0.1], [0.5], [0.1], [0.1], [0.9]])
    y = tensor([1.0, 5.0, 2.0, 3.0, 7.0])
    std = tensor([math.nan, math.nan, math.nan, math.nan, 0.5])
    found = repeats(X, y, std, torch.ones(5).double())
    assert found.rows.tolist() == [0, 4]
    torch.testing.assert_close(found.squares, tensor([1.0, 0.25]))
    torch.testing.assert_close(found.freedom, tensor([2.0, WORTH]))


def test_means_of_repeats_and_their_standard_deviations_count_together():
    """Two means of 4 and 9: the difference tells one degree of freedom, the rest 3 and 8."""
    X, y, std = tensor([[0.2], [0.2]]), tensor([1.0, 1.6]), tensor([0.5, 0.4])
    found = repeats(X, y, std, tensor([4.0, 9.0]))
    between = 4 * (1.0 - 18.4 / 13) ** 2 + 9 * (1.6 - 18.4 / 13) ** 2
    expected = (between + 3 * 0.25 + 8 * 0.16) / 12
    torch.testing.assert_close(found.squares, tensor([expected]))
    torch.testing.assert_close(found.freedom, tensor([12.0]))


def varying(x):
    return 0.05 + 0.5 * x


def test_noise_that_varies_is_learned_from_repeats():
    generator = random(0)
    X = np.repeat(np.linspace(0, 1, 12), 4)
    y = np.sin(5 * X) + varying(X) * generator.normal(size=len(X))
    rows, ones = tensor(X[:, None]), torch.ones(len(X)).double()
    std = torch.nan * ones
    quality, message = varying_quality(rows, tensor(y), std, Quality(std, ones))
    assert message == ""
    x = torch.linspace(0, 1, 5, dtype=torch.double)[:, None]
    found = (quality.log_variance(x) / 2).exp()[:, None] / varying(x)
    assert float(found.min()) > 0.5
    assert float(found.max()) < 2.0
    fit = fit_surrogates(rows, tensor(y), unit_box(1), kernel="se", quality=quality)
    surrogate = fit.surrogates[0]
    scale = float(surrogate.units.y_scale)
    torch.testing.assert_close(surrogate.noise_variance * scale**2, quality.known)
    of_new = surrogate.log_noise_variance(x).exp() * scale**2
    torch.testing.assert_close(of_new, quality.log_variance(x).exp())


@pytest.mark.parametrize("designs", [0, 1, 2])
def test_too_few_repeats_leave_one_variance_and_say_so(designs):
    X = torch.cat([uniform(6, 1, seed=0), uniform(6, 1, seed=0)[:designs]])
    ones = torch.ones(len(X)).double()
    told = Quality(torch.nan * ones, ones)
    quality, message = varying_quality(X, normal(len(X), seed=1), torch.nan * ones, told)
    assert quality is told
    assert f"there are {designs}" in message


def test_repeats_that_agree_to_all_digits_say_nothing_about_noise():
    X = uniform(4, 1, seed=0).repeat(3, 1)
    ones = torch.ones(12).double()
    told = Quality(torch.nan * ones, ones)
    quality, message = varying_quality(X, torch.sin(X[:, 0]), torch.nan * ones, told)
    assert quality is told
    assert message
