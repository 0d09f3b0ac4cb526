"""Arguments of the acquisition function that are refused, with what was expected and what to do."""

import pytest
import torch

from gp_models import random_model, small_model, tensor, uniform, unit_box
from meseta import Normal, Uniform
from meseta.integrations.botorch import NoisyInputEntropySearch

GOOD = random_model(0, 2, 6)


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (lambda: Normal([0.1, 0.2, 0.3]), "3 values but x has 2 parameters"),
        (lambda: Uniform([0.1]), "1 values but x has 2 parameters"),
        (lambda: Normal(covariance=torch.eye(3)), "3 x 3 but x has 2"),
        (lambda: 0.1, "Normal"),
        (lambda: Normal(-0.1), "not negative"),
        (lambda: Uniform(float("nan")), "finite"),
        (lambda: Normal([0.1, -0.2]), "not negative"),
        (lambda: Normal(covariance=[[1.0, 2.0], [2.0, 1.0]]), "semi-definite"),
    ],
)
def test_noise_that_does_not_fit_is_refused(noise, expected):
    with pytest.raises((TypeError, ValueError), match=expected):
        NoisyInputEntropySearch(GOOD, noise(), unit_box(2))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"bounds": unit_box(3)}, r"\(2, 2\)"),
        ({"bounds": unit_box(2).flip(0)}, "below its upper bound"),
        ({"bounds": tensor([[0.0, 0.0], [1.0, torch.inf]])}, "finite"),
        ({"num_max_values": 0}, "at least 1"),
        ({"max_values": tensor([torch.nan])}, "finite"),
        ({"max_values": tensor([])}, "one or more"),
        ({"sampler": "magic"}, "pathwise"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, expected):
    arguments = {"bounds": unit_box(2), **options}
    with pytest.raises((TypeError, ValueError), match=expected):
        NoisyInputEntropySearch(GOOD, Normal(0.1), **arguments)


def test_queries_of_the_wrong_shape_are_refused():
    acq = NoisyInputEntropySearch(GOOD, Normal(0.1), unit_box(2))
    with pytest.raises(ValueError, match="last dimension must be 2"):
        acq(uniform(3, 1, 4, seed=0))
    with pytest.raises(ValueError, match="sequential=True"):
        acq(uniform(3, 2, 2, seed=0))
    with pytest.raises(ValueError, match="NaN"):
        acq(tensor([[[torch.nan, 0.0]]]))


def test_pending_points_of_another_dimension_are_refused():
    _, _, model = small_model()
    with pytest.raises(ValueError, match="last dimension must be 2"):
        NoisyInputEntropySearch(
            model, Normal(0.1), unit_box(2), X_pending=torch.rand(3, 4).double()
        )
