"""What BoTorch asks of an acquisition function: shapes, types, gradients, copies."""

import copy
import pickle
from functools import partial

import pytest
import torch
from botorch.models.transforms import Normalize, Standardize
from torch.autograd import gradcheck
from torch.testing import assert_close

from gp_models import kernel, model, normal, tensor, uniform, unit_box
from meseta import Independent, Laplace, Normal, Optimizer, Uniform
from meseta.acquisition import methods
from meseta.integrations.botorch import (
    NoisyInputEntropySearch,
    RobustAcquisition,
    RobustKnowledgeGradient,
    RobustModel,
    RobustPosterior,
    fit_surrogate,
    known_surrogate,
    suggest,
)

LOW, WIDTH = tensor([-10.0, 4.0]), tensor([55.0, 0.9])
BOX = torch.stack([LOW, LOW + WIDTH])
X, Y = LOW + uniform(9, 2, seed=1) * WIDTH, 1e2 + 30 * normal(9, seed=2)
POINTS = LOW + uniform(6, 1, 2, seed=3) * WIDTH
NOISES = {"inferred": 1e-2, "fixed": 4.0 + uniform(9, seed=4)}
ENTROPY_SEARCH = partial(NoisyInputEntropySearch, num_max_values=2, num_paths=16, num_features=64)
ACQUISITIONS = {
    "nes-ep": ENTROPY_SEARCH,
    "nes-ep, g* given": partial(NoisyInputEntropySearch, max_values=tensor([150.0, 170.0])),
    "rkg": RobustKnowledgeGradient,
}
LAW, SHARP = Normal([3.0, 0.05]), Independent([Laplace(3.0), Laplace(0.05)])


def gp(noise="inferred", shape="se"):
    """In units that are not those of the model."""
    transforms = {"input_transform": Normalize(2), "outcome_transform": Standardize(1)}
    covar = kernel(shape, [0.3, 0.5], 2.0)
    return model(X, Y, covar, NOISES[noise], mean=0.3, **transforms)


def made(name, noise="inferred", law=LAW, **options):
    return ACQUISITIONS[name](gp(noise), law, BOX, **options)


every_acquisition = pytest.mark.parametrize("name", ACQUISITIONS)


@every_acquisition
@pytest.mark.parametrize("noise", NOISES)
def test_batches_of_any_shape_have_the_values_of_their_points(name, noise):
    acquisition = made(name, noise)
    values = acquisition(POINTS)
    assert values.isfinite().all()
    assert_close(acquisition(POINTS.view(2, 3, 1, 2)), values.view(2, 3))
    assert_close(acquisition(POINTS.view(3, 1, 2, 1, 2)), values.view(3, 1, 2))
    assert_close(acquisition(POINTS[0]), values[:1])  # as BoTorch takes q x d
    assert acquisition(POINTS[:0]).shape == (0,)
    assert acquisition(POINTS.view(2, 3, 1, 2)[:0]).shape == (0, 3)


@every_acquisition
def test_values_have_the_type_of_real_numbers(name):
    acquisition = made(name)
    whole = tensor([[[3.0, 4.0]], [[20.0, 4.0]]])
    values = acquisition(whole)
    for dtype in (torch.int32, torch.int64, torch.uint8):
        assert torch.equal(acquisition(whole.to(dtype)), values)
    single = acquisition(POINTS.float())
    assert single.dtype == torch.float
    assert_close(single.double(), acquisition(POINTS.float().double()), rtol=1e-6, atol=1e-30)
    for dtype in (torch.bool, torch.complex128):
        with pytest.raises(ValueError, match="real numbers"):
            acquisition(POINTS.to(dtype))


@every_acquisition
@pytest.mark.parametrize("wrong", [(2,), (4, 2, 2), (4, 0, 2), (4, 1, 3)])
def test_other_shapes_are_refused(name, wrong):
    with pytest.raises(ValueError, match="shape"):
        made(name)(torch.ones(wrong, dtype=torch.double))


@every_acquisition
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("law", [LAW, Uniform([4.0, 0.1]), SHARP], ids=repr)
def test_gradients_are_those_of_differences(name, noise, law):
    acquisition = made(name, noise, law)

    def of_shares(u):
        return acquisition(LOW + u * WIDTH)

    assert gradcheck(of_shares, uniform(3, 1, 2, seed=5).requires_grad_(), atol=1e-5)
    with torch.no_grad():
        assert not acquisition(POINTS.clone().requires_grad_()).requires_grad


@every_acquisition
def test_pending_points_count_from_the_start_or_from_later_on(name):
    pending = POINTS[:2, 0]
    free, start = made(name), made(name, X_pending=pending)
    before = free(POINTS)
    free.set_X_pending(pending)
    assert_close(free.X_pending, pending)
    assert_close(free(POINTS), start(POINTS))
    assert not torch.allclose(free(POINTS), before)
    assert (free(POINTS[:2]) < before[:2]).all()  # there is less to learn there
    with pytest.raises(ValueError, match="X_pending of shape"):
        free.set_X_pending(POINTS)
    with pytest.raises(ValueError, match="NaN"):
        free.set_X_pending(torch.nan * pending)
    assert_close(free(POINTS), start(POINTS))  # as it was before the refusals
    for none in (None, pending[:0]):
        free.set_X_pending(none)
        assert torch.equal(free(POINTS), before)


@every_acquisition
def test_the_values_do_not_depend_on_the_units_that_the_model_has_inside(name):
    """Raw values of the same function: y in cents, x in thousandths."""
    options = {"max_values": tensor([15000.0, 17000.0])} if "given" in name else {}
    transforms = {"input_transform": Normalize(2), "outcome_transform": Standardize(1)}
    covar = kernel("se", [0.3, 0.5], 2.0)
    other = model(X / 1000, 100 * Y, covar, 1e-2, mean=0.3, **transforms)
    law = Normal([0.003, 0.00005])
    scaled = ACQUISITIONS[name](other, law, BOX / 1000, **options)(POINTS / 1000)
    assert_close(scaled, made(name)(POINTS))


@pytest.mark.parametrize("law", [LAW, Uniform([4.0, 0.1]), SHARP], ids=repr)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@every_acquisition
def test_copies_have_the_same_values(name, copied, law):
    acquisition = made(name, law=law)
    fresh, values = copied(acquisition), acquisition(POINTS)
    used = copied(acquisition)
    for each in (fresh, used):
        assert torch.equal(each(POINTS), values)
        each.set_X_pending(POINTS[:1, 0])  # prepared anew
    assert torch.equal(fresh(POINTS), used(POINTS))


@pytest.mark.parametrize("method", methods.names())
def test_every_method_travels_between_processes(method):
    prepare = methods.prepare(method, None)
    if prepare is None:
        return
    acquisition = RobustAcquisition(gp(), LAW, BOX, prepare)
    values = acquisition(POINTS)
    assert torch.equal(pickle.loads(pickle.dumps(acquisition))(POINTS), values)


@every_acquisition
def test_in_inference_mode_values_are_evaluated_and_nothing_is_made(name):
    acquisition, again = made(name), made(name)
    with torch.inference_mode():
        values = acquisition(POINTS.clone())
        for refused in (
            partial(made, name),
            acquisition.maximized,
            partial(acquisition.set_X_pending, POINTS[:1, 0]),
        ):
            with pytest.raises(RuntimeError, match=r"use torch.no_grad\(\)"):
                refused()
    assert_close(values, again(POINTS))
    at = POINTS.clone().requires_grad_()  # what was kept in that mode would have no gradients
    assert torch.autograd.grad(acquisition(at).sum(), at)[0].isfinite().all()


def test_models_are_not_made_in_inference_mode():
    optimizer = Optimizer({"x": (0.0, 1.0)}, noise=Normal(0.1), seed=0)
    optimizer.tell({"x": 0.3}, 1.0)
    with torch.inference_mode():
        for refused in (
            lambda: fit_surrogate(X, Y, BOX),
            lambda: suggest(X, Y, BOX, LAW),
            lambda: RobustModel.from_model(gp(), LAW),
            lambda: Optimizer({"x": (0.0, 1.0)}, noise=Normal(0.1)),
            optimizer.ask,
            optimizer.recommend,
        ):
            with pytest.raises(RuntimeError, match=r"use torch.no_grad\(\)"):
                refused()
    assert len(optimizer.trials) == 1
    with torch.no_grad():
        optimizer.ask()
    assert optimizer.recommend().mean == pytest.approx(1.0, abs=1.0)


def test_values_of_a_posterior_in_inference_mode_leave_it_as_it_was():
    robust, fresh = (RobustPosterior.from_model(gp(), SHARP, BOX) for _ in range(2))
    with torch.inference_mode():
        x = POINTS.clone()[:, 0]
        moments, gaussian = robust.joint(x), robust.g(x)
        grown = robust.with_observations(x, Y[:6].clone())
    assert_close(moments, fresh.joint(POINTS[:, 0]))
    assert_close(gaussian, fresh.g(POINTS[:, 0]))
    for posterior in (robust, grown):
        at = POINTS[:, 0].clone().requires_grad_()
        assert torch.autograd.grad(posterior.joint(at).v_g.sum(), at)[0].isfinite().all()


def test_a_surrogate_and_its_model_have_the_same_acquisition_function():
    surrogate = known_surrogate(
        X, Y, BOX, lengthscale=WIDTH / 3, variance=900.0, noise_variance=4.0, mean=100.0
    )
    ours = RobustKnowledgeGradient(surrogate, LAW, BOX)
    theirs = RobustKnowledgeGradient(ours.model, LAW, BOX)
    assert_close(ours(POINTS), theirs(POINTS), rtol=1e-6, atol=1e-6)


def test_copies_of_a_unit_box_are_not_shared_with_the_caller():
    """What is changed later does not change the box of an acquisition function."""
    bounds = unit_box(2)
    plain = model(uniform(9, 2, seed=1), normal(9, seed=2), kernel("se", [0.3, 0.5], 1.0))
    acquisition = RobustKnowledgeGradient(plain, Normal(0.1), bounds)
    bounds += 5
    assert torch.equal(acquisition.bounds, unit_box(2))


@every_acquisition
def test_beyond_the_box_there_are_values_or_a_refusal(name):
    """BoTorch evaluates anywhere. So do laws with closed forms; others hold for the box."""
    beyond = BOX[1:, None] + WIDTH
    assert made(name)(beyond).isfinite().all()
    with pytest.raises(ValueError, match="give bounds that hold all of x"):
        made(name, law=SHARP)(beyond)


def test_the_model_of_g_takes_bounds():
    beyond = BOX[1:, None] + WIDTH / 2
    with pytest.raises(ValueError, match="give bounds that hold all of x"):
        RobustModel.from_model(gp(), SHARP).posterior(beyond)
    wider = torch.stack([LOW - WIDTH, LOW + 2 * WIDTH])
    assert RobustModel.from_model(gp(), SHARP, wider).posterior(beyond).mean.isfinite().all()
