"""Every BoTorch acquisition function can look at g instead of f."""

import copy
import pickle

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
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from torch.autograd import gradcheck
from torch.testing import assert_close

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


LOW, WIDTH = tensor([-10.0, 4.0]), tensor([55.0, 0.9])


def raw_model(noise_variance=1e-2):
    """In units that are not those of the model."""
    transforms = {"input_transform": Normalize(2), "outcome_transform": Standardize(1)}
    X, y = LOW + uniform(9, 2, seed=1) * WIDTH, 1e2 + 30 * normal(9, seed=2)
    return model(X, y, kernel("se", [0.3, 0.5], 2.0), noise_variance, mean=0.3, **transforms)


def same(ours, theirs):
    """The same Gaussian."""
    assert ours.mean.shape == theirs.mean.shape
    assert_close(ours.mean, theirs.mean, rtol=1e-6, atol=1e-6)
    assert_close(ours.variance, theirs.variance, rtol=1e-6, atol=1e-6)
    covariance = ours.distribution.covariance_matrix
    assert_close(covariance, theirs.distribution.covariance_matrix, rtol=1e-6, atol=1e-5)


NOISES = {"inferred": 1e-2, "fixed": 4.0 + uniform(9, seed=4)}
POINTS = LOW + uniform(24, 2, seed=6) * WIDTH
SHAPES = [(1,), (4,), (2, 3), (2, 3, 4), (0,), (0, 3), (2, 0), (3, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("noise", NOISES)
@torch.no_grad()
def test_without_noise_the_model_of_g_is_the_model_of_f(noise, shape):
    gp = raw_model(NOISES[noise])
    view = RobustModel.from_model(gp, Normal(0.0))
    x = POINTS[: torch.Size(shape).numel()].view(*shape, 2)
    same(view.posterior(x), gp.posterior(x))
    same(view.posterior(x, observation_noise=True), gp.posterior(x, observation_noise=True))
    if x.numel():
        given = 0.01 + uniform(*shape, 1, seed=7)
        theirs = gp.posterior(x, observation_noise=given)
        same(view.posterior(x, observation_noise=given), theirs)


@pytest.mark.parametrize(
    ("x_shape", "y_shape"), [((3,), (3,)), ((3,), (5, 3)), ((5, 3), (5, 3)), ((2, 1), (2, 1))]
)
@torch.no_grad()
def test_without_noise_it_is_conditioned_as_the_model_of_f(x_shape, y_shape):
    gp = raw_model()
    view = RobustModel.from_model(gp, Normal(0.0))
    x = POINTS[: torch.Size(x_shape).numel()].view(*x_shape, 2)
    y = 1e2 + 30 * normal(*y_shape, 1, seed=8)
    gp.posterior(x)  # BoTorch conditions from its caches
    theirs = gp.condition_on_observations(x.expand(*y_shape, 2), y)
    ours = view.condition_on_observations(x, y)
    assert ours.num_outputs == 1
    assert ours.batch_shape == theirs.batch_shape
    same(ours.posterior(POINTS[:4]), theirs.posterior(POINTS[:4]))


def test_it_is_a_model_of_one_output(view):
    x = uniform(3, 2, seed=2)
    assert view.num_outputs == 1
    assert view.batch_shape == torch.Size()
    same(view.posterior(x, output_indices=[0]), view.posterior(x))
    with pytest.raises(ValueError, match="one output, index 0"):
        view.posterior(x, output_indices=[1])
    with pytest.raises(ValueError, match="one output, index 0"):
        view.subset_output([0, 0])
    negated = view.posterior(
        x, posterior_transform=ScalarizedPosteriorTransform(weights=tensor([-2.0]), offset=1.0)
    )
    assert_close(negated.mean, 1 - 2 * view.posterior(x).mean)
    assert_close(negated.variance, 4 * view.posterior(x).variance)


@pytest.mark.parametrize("dtype", [torch.float, torch.int64])
def test_points_of_other_types_have_values_in_double_precision(view, dtype):
    x = (3 * uniform(4, 2, seed=2)).to(dtype)
    same(view.posterior(x), view.posterior(x.double()))


def test_what_does_not_fit_is_refused(view):
    x, y = uniform(3, 2, seed=2), uniform(3, 1, seed=3)
    for wrong in (x[0], tensor(0.5)):
        with pytest.raises(ValueError, match=r"shape \(\.\.\., q, d\)"):
            view.posterior(wrong)
    with pytest.raises(ValueError, match="2 parameters"):
        view.posterior(uniform(3, 3, seed=2))
    for bad in (y[:2], y[:, 0], y.expand(3, 2)):
        with pytest.raises(ValueError, match=r"Y of shape \(\.\.\., 3, 1\)"):
            view.condition_on_observations(x, bad)
    with pytest.raises(ValueError, match="leave failed evaluations out"):
        view.condition_on_observations(x, torch.nan * y)


def test_gradients_of_mean_and_variance_are_those_of_differences():
    view = RobustModel.from_model(raw_model(), Normal([3.0, 0.05]))
    grown = view.condition_on_observations(POINTS[:2], 1e2 + 30 * normal(3, 2, 1, seed=8))
    u = uniform(2, 2, seed=5).requires_grad_()
    for each in (view, grown):

        def moments(u, each=each):
            posterior = each.posterior(LOW + u * WIDTH)
            return posterior.mean, posterior.distribution.covariance_matrix

        assert gradcheck(moments, u, eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_have_the_same_posterior(view, copied):
    x = uniform(3, 2, seed=2)
    grown = view.condition_on_observations(x, uniform(4, 3, 1, seed=3))
    for each in (view, grown):
        same(copied(each).posterior(x), each.posterior(x))


def test_it_is_evaluated_and_conditioned_in_inference_mode(view):
    x, y = uniform(3, 2, seed=2), uniform(3, 1, seed=3)
    with torch.inference_mode():
        inside = view.posterior(x.clone())
        grown = view.condition_on_observations(x.clone(), y.clone())
    same(inside, view.posterior(x))
    at = uniform(4, 2, seed=5).requires_grad_()
    for each in (view, grown):
        variance = each.posterior(at).variance
        assert torch.autograd.grad(variance.sum(), at)[0].isfinite().all()
