"""The joint posterior of f and g, held against BoTorch's own posterior of f at perturbed points."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss

from gp_models import SHAPES, kernel, log_uniform, model, normal, random_model, tensor, uniform
from meseta import (
    Discrete,
    Empirical,
    Independent,
    Laplace,
    Mixture,
    Normal,
    StudentT,
    Triangular,
    TruncatedNormal,
    Uniform,
)
from meseta.gp.clamped import Clamped
from meseta.integrations.botorch import RobustPosterior
from meseta.kernels import SmoothedKernel


def nodes_of(law, d, num):
    """Nodes and weights of xi: a tensor grid of Gauss rules."""
    if isinstance(law, Independent):
        points, weights = zip(*[nodes_of(one, 1, num) for one in law.laws], strict=True)
        grid = torch.cartesian_prod(*[column[:, 0] for column in points])
        return grid, torch.cartesian_prod(*weights).prod(-1)
    if isinstance(law, Uniform):
        points, weights = leggauss(num)
        root = torch.diag(law.in_dimension(d).half_widths)
    elif d == 1:  # a rule that is dense everywhere, for kernels with kinks
        points, weights = leggauss(num)
        points, weights = 8 * points, weights * np.exp(-32 * points**2)
        root = law.covariance_matrix.sqrt()
    else:
        points, weights = hermegauss(num)
        root = torch.linalg.cholesky(law.in_dimension(d).covariance_matrix)
    points, weights = tensor(points), tensor(weights / weights.sum())
    grid = torch.cartesian_prod(*[points] * d).reshape(-1, d)
    weight = torch.cartesian_prod(*[weights] * d).reshape(-1, d).prod(-1)
    return grid @ root.T, weight


def by_botorch(gp, law, x, num=30):
    """The moments at x from the posterior of f at x and at its perturbed copies."""
    xi, weight = nodes_of(law, x.shape[1], num)
    rows = []
    for point in x:
        posterior = gp.posterior(torch.cat([point[None], point + xi]))
        mean, covariance = posterior.mean[:, 0].detach(), posterior.covariance_matrix.detach()
        rows.append(
            (
                mean[0],
                covariance[0, 0],
                weight @ mean[1:],
                weight @ covariance[1:, 1:] @ weight,
                covariance[0, 1:] @ weight,
            )
        )
    return tensor(rows).T


@pytest.mark.parametrize(
    "law",
    [
        Normal(0.08),
        Normal([0.3, 0.02]),
        Uniform([0.1, 0.4]),
        Independent([Normal(0.1), Uniform(0.3)]),
    ],
    ids=repr,
)
def test_moments_agree_with_the_posterior_of_f_at_perturbed_points(law):
    X, y = uniform(7, 2, seed=1), normal(7, seed=2)
    gp = model(X, y, kernel("se", [0.4, 0.7], 1.3), 1e-3, mean=0.2)
    x = uniform(3, 2, seed=3)
    moments = RobustPosterior.from_model(gp, law).joint(x)
    torch.testing.assert_close(torch.stack(moments), by_botorch(gp, law, x, 40), rtol=0, atol=1e-7)


# Gauss rules do not see the kink of a rough kernel: their own error, not that of the closed form
ROUGH = {"matern52": 1e-5, "matern32": 1e-4, "matern12": 1e-2}


@pytest.mark.parametrize("law", [Normal(0.08), Normal(0.3), Uniform(0.1), Uniform(0.4)], ids=repr)
@pytest.mark.parametrize("shape", ROUGH)
def test_moments_with_matern_kernels(shape, law):
    X, y = uniform(7, 1, seed=1), normal(7, seed=2)
    gp = model(X, y, kernel(shape, [0.4], 1.3), 1e-3, mean=0.2)
    x = uniform(3, 1, seed=3)
    moments = RobustPosterior.from_model(gp, law).joint(x)
    torch.testing.assert_close(
        torch.stack(moments), by_botorch(gp, law, x, 600), rtol=0, atol=ROUGH[shape]
    )


@pytest.mark.parametrize("shape", ROUGH)
def test_matern_kernels_in_several_dimensions_read_their_lengthscales_in_order(shape):
    X, y = uniform(7, 3, seed=1), normal(7, seed=2)
    gp = model(X, y, kernel(shape, [0.3, 0.7, 2.0], 1.3), 1e-3)
    x = uniform(4, 3, seed=3)
    moments = RobustPosterior.from_model(gp, Normal(0.0)).joint(x)
    posterior = gp.posterior(x)
    torch.testing.assert_close(moments.m_f, posterior.mean[:, 0].detach())
    torch.testing.assert_close(moments.v_f, posterior.variance[:, 0].detach())


def test_correlated_noise():
    law = Normal(covariance=[[0.04, 0.018], [0.018, 0.01]])
    gp = random_model(5, 2, 8)
    x = uniform(4, 2, seed=9)
    moments = RobustPosterior.from_model(gp, law).joint(x)
    torch.testing.assert_close(torch.stack(moments), by_botorch(gp, law, x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("fixed_noise", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_transforms_and_noise_models_are_honoured_in_raw_units(
    normalize, standardize, fixed_noise, scaled
):
    X = tensor([-10.0, 4.0]) + uniform(9, 2, seed=1) * tensor([55.0, 0.9])
    y = 1e4 + 300 * normal(9, seed=2)
    lengthscale = [0.3, 0.5] if normalize else [16.0, 0.4]
    gp = model(
        X,
        y if standardize else (y - 1e4) / 300,
        kernel("se", lengthscale, 2.0 if scaled else None),
        (4.0 + uniform(9, seed=4)) * (1 if standardize else 1e-4) if fixed_noise else 1e-3,
        mean=0.3,
        input_transform=Normalize(2) if normalize else None,
        outcome_transform=Standardize(1) if standardize else None,
    )
    law = Normal([3.0, 0.05])
    x = tensor([-10.0, 4.0]) + uniform(3, 2, seed=3) * tensor([55.0, 0.9])
    moments = torch.stack(RobustPosterior.from_model(gp, law).joint(x))
    expected = by_botorch(gp, law, x)
    size = expected.abs().amax(dim=1, keepdim=True)
    torch.testing.assert_close(moments / size, expected / size, rtol=0, atol=1e-7)


def test_noise_variance_of_a_new_observation_is_in_raw_units():
    X, y = uniform(6, 1, seed=1), 50 * normal(6, seed=2)
    gp = model(X, y, kernel("se", [0.3]), 1e-2, mean=0.0, outcome_transform=Standardize(1))
    robust = RobustPosterior.from_model(gp, Normal(0.1))
    latent = gp.posterior(X[:1]).variance
    observed = gp.posterior(X[:1], observation_noise=True).variance
    torch.testing.assert_close(robust.noise_variance, (observed - latent).squeeze().detach())


def test_default_single_task_gp_is_accepted_in_training_mode_too():
    gp = SingleTaskGP(uniform(5, 2, seed=0), normal(5, 1, seed=1), input_transform=Normalize(2))
    assert gp.training
    x = uniform(2, 2, seed=3)
    moments = RobustPosterior.from_model(gp, Normal(1e-9)).joint(x)
    torch.testing.assert_close(moments.m_f, gp.posterior(x).mean[:, 0].detach())


def test_joint_gaussian_of_g_agrees_with_the_moments_and_is_symmetric():
    robust = RobustPosterior.from_model(random_model(3, 2, 6), Normal(0.1))
    x = uniform(5, 2, seed=8)
    gaussian, moments = robust.g(x), robust.joint(x)
    torch.testing.assert_close(gaussian.mean, moments.m_g)
    torch.testing.assert_close(gaussian.covariance.diagonal(), moments.v_g, rtol=0, atol=1e-14)
    torch.testing.assert_close(gaussian.covariance, gaussian.covariance.T)


def test_further_observations_equal_a_model_that_had_them_from_the_start():
    X, y = uniform(8, 2, seed=1), normal(8, seed=2)
    covar = kernel("se", [0.4, 0.4], 1.2)
    x = uniform(4, 2, seed=3)
    law = Uniform(0.1)
    grown = RobustPosterior.from_model(model(X[:5], y[:5], covar, 1e-3), law).with_observations(
        X[5:], y[5:]
    )
    whole = RobustPosterior.from_model(model(X, y, covar, 1e-3), law)
    torch.testing.assert_close(torch.stack(grown.joint(x)), torch.stack(whole.joint(x)))


def test_observing_the_mean_keeps_the_mean_and_shrinks_the_variance():
    robust = RobustPosterior.from_model(random_model(3, 1, 4), Normal(0.1))
    x, pending = uniform(9, 1, seed=8), tensor([[0.5]])
    before, after = robust.joint(x), robust.with_observations(pending).joint(x)
    torch.testing.assert_close(after.m_g, before.m_g)
    assert (after.v_g <= before.v_g + 1e-12).all()


problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "d": st.integers(1, 3),
        "n": st.integers(1, 8),
        "lengthscale": log_uniform(-1.5, 0.5),
        "noise_variance": log_uniform(-8, 0),
        "shape": st.sampled_from(SHAPES),
    }
)
laws = st.sampled_from([Normal, Uniform])


@given(problem=problems, law=laws, width=log_uniform(-6, 1))
def test_the_joint_covariance_of_f_and_g_is_positive_semi_definite(problem, law, width):
    core = RobustPosterior.from_model(random_model(**problem), law(width)).core
    x = uniform(5, problem["d"], seed=problem["seed"] + 7)
    c_gf = core.covariance_gf(x, x)
    joint = torch.cat(
        [
            torch.cat([core.covariance_f(x, x), c_gf.T], dim=1),
            torch.cat([c_gf, core.covariance_g(x, x)], dim=1),
        ]
    )
    assert torch.linalg.eigvalsh((joint + joint.T) / 2).min() > -1e-9


@given(problem=problems, law=laws)
def test_vanishing_noise_gives_f_back(problem, law):
    moments = RobustPosterior.from_model(random_model(**problem), law(1e-9)).joint(
        uniform(4, problem["d"], seed=problem["seed"] + 7)
    )
    torch.testing.assert_close(moments.m_g, moments.m_f, rtol=0, atol=1e-5)
    torch.testing.assert_close(moments.v_g, moments.v_f, rtol=0, atol=1e-5)
    torch.testing.assert_close(moments.c_fg, moments.v_f, rtol=0, atol=1e-5)


def test_no_noise_at_all_is_f_exactly():
    moments = RobustPosterior.from_model(random_model(1, 2, 5), Normal(0.0)).joint(
        uniform(4, 2, seed=7)
    )
    assert torch.equal(moments.m_g, moments.m_f)
    assert torch.equal(moments.v_g, moments.v_f)


class TooSmall(SmoothedKernel):
    """A kernel whose k_g(x, x) does not belong to its k_f and k_gf."""

    def at_same_point(self, x):
        k_gf, k_g = super().at_same_point(x)
        return k_gf, 0.5 * k_g


def test_a_negative_variance_is_warned_about_by_name_and_recorded():
    core = RobustPosterior.from_model(random_model(0, 1, 6), Normal(0.05)).core
    parts = {field.name: getattr(core.kernel, field.name) for field in fields(core.kernel)}
    wrong = replace(core, kernel=TooSmall(**parts), clamped=Clamped(tensor(1.0)))
    with pytest.warns(RuntimeWarning, match=r"Var\[g\(x\)\] came out negative"):
        moments = wrong.moments(core.X)
    assert (moments.v_g > 0).all()
    assert set(wrong.clamped.lowest) == {"Var[g(x)]"}
    # half of the prior variance is missing, and the data leave almost nothing of it
    assert wrong.clamped.lowest["Var[g(x)]"] == pytest.approx(-1.0, abs=0.1)
    wrong.moments(core.X)  # once is enough: a warning would be an error here


def test_rounding_at_the_data_is_no_negative_variance():
    gp = random_model(0, 2, 20, lengthscale=0.6, noise_variance=1e-12)
    robust = RobustPosterior.from_model(gp, Normal(1e-6))
    moments = robust.core.moments(robust.core.X)
    assert (moments.v_g > 0).all()
    assert not robust.core.clamped.lowest


# Laws without a closed form: their averages are computed for the designs of a box.
OF_A_BOX = [
    Laplace(0.1),
    StudentT(5, 0.1),
    Triangular(0.2),
    TruncatedNormal(0.1, -0.2, 0.2),
    Mixture([Normal(0.1), Normal(0.2)], [0.5, 0.5]),
    Discrete([-0.1, 0.1], [0.5, 0.5]),
    Empirical([-0.1, 0.1, 0.2]),
]
AROUND = tensor([[-1.0], [2.0]])


@pytest.mark.parametrize("law", OF_A_BOX, ids=repr)
@pytest.mark.parametrize("shape", ["se", "matern32"])
def test_averages_hold_within_the_box_they_were_computed_for_and_are_refused_beyond(law, shape):
    gp = random_model(3, 1, 6, shape=shape)
    x = tensor([[-0.9], [-0.2], [0.5], [1.3], [2.0]])
    narrow = RobustPosterior.from_model(gp, law)
    for beyond in (x[1:3], x[2:4]):
        with pytest.raises(ValueError, match=r"computed for 0 to 1; give bounds that hold all of"):
            narrow.joint(beyond)
        with pytest.raises(ValueError, match="give bounds"):
            narrow.with_observations(beyond)
    xi = law.in_dimension(1).sample(4000, torch.Generator().manual_seed(0))
    with torch.no_grad():
        f = torch.stack([gp.posterior(each + xi.reshape(-1, 1)).mean[:, 0] for each in x])
    m_g = RobustPosterior.from_model(gp, law, AROUND).joint(x).m_g
    assert ((m_g - f.mean(-1)).abs() < 5 * f.std(-1) / 4000**0.5).all()


def test_closed_forms_hold_everywhere():
    x = tensor([[-3.0], [5.0]])
    for law in (Normal(0.1), Uniform(0.1), Normal(0.0)):
        moments = RobustPosterior.from_model(random_model(3, 1, 6), law).joint(x)
        assert (moments.v_g > 0).all()
    joint = Normal(covariance=[[0.04, 0.018], [0.018, 0.01]])
    assert (
        RobustPosterior.from_model(random_model(5, 2, 8), joint)
        .joint(5 + uniform(3, 2, seed=1))
        .v_g
        > 0
    ).all()


def test_only_the_columns_of_such_a_law_are_confined():
    robust = RobustPosterior.from_model(
        random_model(5, 2, 8), Independent([Normal(0.1), Laplace(0.1)])
    )
    assert robust.joint(tensor([[7.0, 0.5]])).m_g.isfinite().all()
    with pytest.raises(ValueError, match="from 7 to 7 in column 1"):
        robust.joint(tensor([[0.5, 7.0]]))
    with pytest.raises(ValueError, match="give bounds"):
        robust.g(tensor([[0.5, -1e-3]]))
    assert robust.joint(tensor([[0.5, 1 + 1e-9]])).m_g.isfinite().all()  # rounding
