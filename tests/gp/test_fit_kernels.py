"""The surrogate with each kernel: its fit, its priors, thinning, and what is read of it."""

import math

import pytest
import torch
from scipy import stats

from gp_models import tensor, uniform, unit_box
from meseta import Normal
from meseta.gp.botorch_models import read_model, to_botorch
from meseta.integrations.botorch import RobustPosterior, fit_surrogate

KERNELS = ("se", "matern52", "matern32")
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def data(n=25, seed=0):
    X = uniform(n, 2, seed=seed)
    return X, torch.sin(5 * X[:, 0]) + (X[:, 1] - 0.3).abs()


def shape(kernel, r):
    """The correlation over r in lengthscales [Rasmussen and Williams 2006, Eqs. 4.9 and 4.17]."""
    if kernel == "se":
        return torch.exp(-(r**2) / 2)
    u = math.sqrt({"matern52": 5, "matern32": 3}[kernel]) * r
    return (1 + u + (u**2 / 3 if kernel == "matern52" else 0)) * torch.exp(-u)


@every_kernel
def test_the_log_posterior_is_that_of_the_formula(kernel):
    """Gaussian likelihood by scipy, plus the priors."""
    X, y = data()
    learned, info = fit_surrogate(X, y, unit_box(2), kernel=kernel)
    r = (X[:, None] - X[None]).abs() / learned.kernel.lengthscale
    K = learned.kernel.variance * shape(kernel, r).prod(-1)
    K = K + learned.new_noise_variance * torch.eye(len(X))
    standardised = (y - y.mean()) / y.std()
    mean = learned.mean.expand(len(X))
    likelihood = stats.multivariate_normal(mean.numpy(), K.numpy()).logpdf(standardised.numpy())

    def prior(values, mode, spread):
        # the mode of a lognormal is exp(mu - s^2)
        scale = mode * math.exp(spread**2)
        return stats.lognorm(spread, scale=scale).logpdf(values.numpy()).sum()

    total = (
        likelihood
        + prior(learned.kernel.lengthscale, 0.2 * math.sqrt(2), 0.7)
        + prior(learned.kernel.variance, 1.0, 1.0)
        + prior(learned.new_noise_variance, 1e-2, 4.0)
    )
    assert info.log_posterior == pytest.approx(total, rel=1e-6)


@every_kernel
def test_a_surrogate_goes_out_as_a_botorch_model_and_comes_back(kernel):
    X, y = data()
    surrogate, _ = fit_surrogate(X, y, unit_box(2), kernel=kernel)
    model = to_botorch(surrogate)
    read = read_model(model)
    assert read.kernel.shapes == (kernel, kernel)
    torch.testing.assert_close(read.kernel.lengthscale, surrogate.kernel.lengthscale)
    torch.testing.assert_close(read.units.y_scale, surrogate.units.y_scale)
    x = uniform(9, 2, seed=3)
    ours = RobustPosterior.from_model(surrogate, Normal(0.1)).joint(x)
    torch.testing.assert_close(ours, RobustPosterior.from_model(model, Normal(0.1)).joint(x))
    theirs = model.posterior(x)
    torch.testing.assert_close(ours.m_f, theirs.mean[:, 0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours.v_f, theirs.variance[:, 0], rtol=1e-4, atol=1e-6)


@every_kernel
def test_the_prior_of_the_paper_holds_lengthscales_at_the_noise(kernel):
    X, y = data()
    noise = Normal([0.12, 0.0])
    fitted, _ = fit_surrogate(X, y, unit_box(2), noise, kernel=kernel, prior="paper")
    # LogNormal with a spread of 0.07 around 0.12, and the default where there is no noise
    assert fitted.kernel.lengthscale[0].log() == pytest.approx(math.log(0.12), abs=0.25)
    assert fitted.kernel.lengthscale[1] > 0.2


@pytest.mark.parametrize("noise_variance", [None, 1e-4])
@every_kernel
def test_hyperparameters_of_many_values_come_from_some(kernel, noise_variance, monkeypatch):
    monkeypatch.setattr("meseta.gp.fit.MOST_FITTED", 60)  # it is 500
    X, y = data(150)
    model, info = fit_surrogate(X, y, unit_box(2), kernel=kernel, noise_variance=noise_variance)
    assert info.num_fitted == 60
    posterior = RobustPosterior.from_model(model, Normal(0.0))
    assert len(posterior.core.y) == 150
    x = uniform(40, 2, seed=9)
    truth = torch.sin(5 * x[:, 0]) + (x[:, 1] - 0.3).abs()
    assert (posterior.joint(x).m_f - truth).abs().max() < 0.05


@every_kernel
def test_one_dimension_and_repeated_columns_are_fitted_too(kernel):
    X = tensor([[0.0], [0.0], [1.0], [1.0], [0.5]])
    fitted, info = fit_surrogate(X, tensor([0.0, 0.1, 1.0, 1.1, 0.4]), unit_box(1), kernel=kernel)
    assert math.isfinite(info.log_posterior)
    assert fitted.kernel.lengthscale.shape == (1,)


def test_an_unknown_kernel_is_refused_with_the_known_ones():
    X, y = data()
    says = r"no kernel 'matern' \(did you mean 'matern\d2'\?\), only 'auto', 'se', 'matern52'"
    with pytest.raises((TypeError, ValueError), match=says):
        fit_surrogate(X, y, unit_box(2), kernel="matern")
