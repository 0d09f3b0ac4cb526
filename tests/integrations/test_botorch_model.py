"""Every BoTorch acquisition function can look at g instead of f."""

import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qKnowledgeGradient,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qLowerBoundMaxValueEntropy,
    qMaxValueEntropy,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler

from gp_models import kernel, model, normal, random_model, small_model, tensor, uniform, unit_box
from meseta import Normal, Uniform
from meseta.integrations.botorch import RobustModel, RobustPosterior

LAW = Normal(0.1)
CANDIDATES = uniform(50, 2, seed=4)

ACQUISITIONS = {
    "LogEI": lambda m: LogExpectedImprovement(m, 0.5),
    "UCB": lambda m: UpperConfidenceBound(m, 4.0),
    "mean": lambda m: PosteriorMean(m),
    "qLogEI": lambda m: qLogExpectedImprovement(m, 0.5, sampler=sampler()),
    "qUCB": lambda m: qUpperConfidenceBound(m, 4.0, sampler=sampler()),
    "qSR": lambda m: qSimpleRegret(m, sampler=sampler()),
    "qLogNEI": lambda m: qLogNoisyExpectedImprovement(m, CANDIDATES[:6], sampler=sampler()),
    "MES": lambda m: qMaxValueEntropy(m, CANDIDATES, num_mv_samples=3),
    "GIBBON": lambda m: qLowerBoundMaxValueEntropy(m, CANDIDATES, num_mv_samples=3),
}


def sampler():
    return SobolQMCNormalSampler(torch.Size([64]), seed=0)


@pytest.fixture(scope="module")
def view():
    return RobustModel.from_model(random_model(3, 2, 8, noise_variance=1e-3), LAW)


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_acquisition_functions_evaluate_and_differentiate_on_g(name, view):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        acquisition = ACQUISITIONS[name](view)
        X = uniform(3, 1, 2, seed=1).requires_grad_()
        values = acquisition(X)
    assert values.shape == (3,)
    assert values.isfinite().all()
    assert torch.autograd.grad(values.sum(), X)[0].isfinite().all()


def test_posterior_is_that_of_g(view):
    x = uniform(4, 5, 2, seed=2)
    posterior = view.posterior(x)
    for batch, mean, covariance in zip(
        x, posterior.mean, posterior.distribution.covariance_matrix, strict=True
    ):
        gaussian = view.robust.g(batch)
        torch.testing.assert_close(mean[:, 0], gaussian.mean)
        torch.testing.assert_close(covariance, gaussian.covariance)


def test_observation_noise_is_added_in_raw_units(view):
    x = uniform(3, 2, seed=2)
    added = view.posterior(x, observation_noise=True).variance - view.posterior(x).variance
    torch.testing.assert_close(added, torch.full_like(added, 1e-3))


def test_conditioning_is_on_observations_of_f():
    X, y = uniform(8, 2, seed=1), normal(8, seed=2)
    covar = kernel("se", [0.4, 0.4], 1.2)
    view = RobustModel.from_model(model(X[:5], y[:5], covar, 1e-3), Uniform(0.1))
    grown = view.condition_on_observations(X[5:7], y[5:7, None])
    grown = grown.condition_on_observations(X[7:], y[7:, None])
    whole = RobustPosterior.from_model(model(X, y, covar, 1e-3), Uniform(0.1))
    x = uniform(4, 2, seed=3)
    torch.testing.assert_close(grown.posterior(x).mean[:, 0], whole.g(x).mean)
    torch.testing.assert_close(
        grown.posterior(x).distribution.covariance_matrix, whole.g(x).covariance
    )


def test_fantasies_average_to_the_mean_and_never_add_variance(view):
    x, X = uniform(6, 2, seed=3), uniform(1, 2, seed=5)
    fantasies = view.fantasize(X, SobolQMCNormalSampler(torch.Size([512]), seed=0))
    posterior, now = fantasies.posterior(x), view.posterior(x)
    assert posterior.mean.shape == (512, 6, 1)
    torch.testing.assert_close(posterior.mean.mean(0), now.mean, rtol=0, atol=2e-3)
    assert (posterior.variance <= now.variance + 1e-12).all()


def test_the_knowledge_gradient_of_g_is_optimised_by_botorch(view):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        acquisition = qKnowledgeGradient(view, num_fantasies=4)
        x, value = optimize_acqf(
            acquisition, unit_box(2), q=1, num_restarts=2, raw_samples=8, options={"maxiter": 5}
        )
    assert x.shape == (1, 2)
    assert value.isfinite()


def test_pending_points_are_fantasised_by_max_value_entropy_search(view):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        acquisition = qMaxValueEntropy(
            view, CANDIDATES, num_mv_samples=3, num_fantasies=4, X_pending=tensor([[0.5, 0.5]])
        )
        assert acquisition(uniform(3, 1, 2, seed=1)).isfinite().all()


def test_the_view_of_g_takes_many_and_repeated_points():
    _, _, model = small_model()
    view = RobustModel.from_model(model, Normal(0.1))
    x = torch.rand(100, 2, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    assert view.posterior(x).variance.isfinite().all()
    assert view.posterior(x[:1].repeat(50, 1)).mean.isfinite().all()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert qMaxValueEntropy(view, x)(x[:3, None]).isfinite().all()


def test_a_noise_of_their_own_for_new_observations_is_refused():
    X, y, model = small_model()
    view = RobustModel.from_model(model, Normal(0.1))
    with pytest.raises(NotImplementedError, match="noise of the model"):
        view.condition_on_observations(X, y[:, None], noise=torch.ones(8, 1).double())
    assert view.subset_output([0]) is view
