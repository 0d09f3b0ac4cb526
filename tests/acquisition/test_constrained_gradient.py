"""The knowledge gradient with limits, against its definition."""

import pytest
import torch

import meseta
from meseta.acquisition.constrained_gradient import nodes, prepare_constrained
from meseta.acquisition.knowledge_gradient import KGOptions
from meseta.gp.limited import LimitedOutcome
from meseta.inference.envelope import log_expected_gain

BOX = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)


def fitted(n=10, constraints=None, seed=3):
    """An optimizer with data of a hill and of a slope, and its limits."""
    constraints = constraints or {"slope": meseta.AtMost(1.1, probability=0.9)}
    optimizer = meseta.Optimizer(
        {"a": (0.0, 1.0), "b": (0.0, 1.0)},
        noise=meseta.Normal(0.05),
        kernel="se",
        constraints=constraints,
        outcomes=["other"],
    )
    points = torch.quasirandom.SobolEngine(2, scramble=True, seed=seed).draw(n).tolist()
    for a, b in points:
        hill = -((a - 0.7) ** 2) - (b - 0.6) ** 2
        told = {"value": hill, "slope": a + b, "other": a - b * b}
        optimizer.tell({"a": a, "b": b}, told)
    return optimizer


def prepared(optimizer, **keywords):
    outcomes = list(optimizer._limits().values())
    generator = torch.Generator().manual_seed(0)
    posterior = optimizer.fitted.core
    return prepare_constrained(
        posterior, BOX, generator, KGOptions(), outcomes=outcomes, **keywords
    )


@pytest.mark.parametrize("num", [1, 2, 3, 5])
def test_nodes_have_the_moments_of_standard_normal_variables(num):
    Z, weights = nodes(num, seed=1)
    assert Z.shape == (len(weights), num)
    assert weights.sum().item() == pytest.approx(1.0)
    assert (weights @ Z).tolist() == pytest.approx([0.0] * num, abs=1e-12)
    assert (weights @ Z.square()).tolist() == pytest.approx([1.0] * num, abs=0.3)


@pytest.mark.parametrize(
    "constraints",
    [
        None,
        {"slope": meseta.AtMost(1.1, 0.9), "other": meseta.Between(-0.1, 0.6, 0.8)},
        {
            "slope": meseta.AtMost(1.2, 0.9),
            "other": meseta.AtLeast(-0.1, 0.8),
            "value": meseta.AtLeast(-0.5, 0.8),
        },
    ],
    ids=["one", "two", "three"],
)
def test_the_gain_is_what_an_experiment_is_worth_on_average(constraints):
    """The definition, by drawing outcomes of the experiment and looking up the best design."""
    gradient = prepared(fitted(constraints=constraints))
    x = torch.tensor([[0.62, 0.5], [0.2, 0.9], [0.5, 0.55]], dtype=torch.double)
    value = gradient.value(x).exp()
    generator = torch.Generator().manual_seed(7)
    mean, b = gradient.gradient.mean, gradient.gradient.slopes(x)
    worth = mean - mean.min()
    for i in range(len(x)):
        draws = 50_000
        Z = torch.randn(draws, 1 + len(gradient.limits), generator=generator, dtype=torch.double)
        kept = torch.ones(draws, len(mean), dtype=torch.double)
        before = torch.ones(len(mean), dtype=torch.double)
        for number, limit in enumerate(gradient.limits):
            s = limit.slopes(x[i : i + 1])[0]
            left = (limit.variance - s.square()).clamp_min(1e-6 * limit.variance).sqrt()
            kept *= torch.special.ndtr((limit.mean + s * Z[:, 1 + number, None]) / left)
            before *= torch.special.ndtr(limit.mean / limit.variance.sqrt())
        after = ((worth + b[i] * Z[:, :1]) * kept).amax(-1)
        gain = after.mean() - (worth * before).max()
        error = 4 * after.std() / draws**0.5
        assert value[i].item() == pytest.approx(gain.item(), rel=0.3, abs=float(error) + 2e-4)


def test_limits_that_are_always_kept_change_nothing():
    gradient = prepared(fitted(constraints={"slope": meseta.AtMost(1e3)}))
    x = torch.rand(20, 2, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    plain = log_expected_gain(gradient.gradient.mean, gradient.gradient.slopes(x))
    assert gradient.value(x).tolist() == pytest.approx(plain.tolist(), abs=1e-6)


def test_the_slope_of_the_gain():
    gradient = prepared(fitted())
    x = torch.tensor([[0.61, 0.42]], dtype=torch.double, requires_grad=True)
    (slope,) = torch.autograd.grad(gradient.value(x).sum(), x)
    step = 1e-6
    for column in range(2):
        off = torch.zeros(1, 2, dtype=torch.double)
        off[0, column] = step
        up, down = (gradient.value(x.detach() + sign * off) for sign in (1, -1))
        assert slope[0, column].item() == pytest.approx(((up - down) / (2 * step)).item(), rel=1e-3)


def test_where_the_limit_is_known_nothing_is_learned_about_it_far_away():
    """An experiment is worth more at the border of what is kept than deep in what is not."""
    gradient = prepared(fitted(n=6))
    border, beyond = torch.tensor([[0.6, 0.5], [1.0, 1.0]], dtype=torch.double)
    values = gradient.value(torch.stack([border, beyond]))
    assert values[0] > values[1]


@pytest.mark.parametrize("measure", [meseta.Quantile(0.1), meseta.CVaR(0.2)])
def test_with_another_measure(measure):
    gradient = prepared(fitted(), measure=measure)
    x = torch.rand(5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    assert gradient.value(x).isfinite().all()


def test_an_outcome_with_limits_is_a_mixture_and_a_margin():
    (outcome,) = fitted()._limits().values()
    assert isinstance(outcome, LimitedOutcome)
    assert outcome.margin.share == pytest.approx(0.1)
