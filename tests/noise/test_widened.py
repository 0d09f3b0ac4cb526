"""Draws of perturbed designs, and noise that is made wider or narrower in one column."""

import pytest
import torch

import meseta
from meseta.noise import Joint, Normal, Substituted
from meseta.noise.moments import moments_at
from meseta.noise.perturbed import perturbed
from meseta.noise.widened import widened
from meseta.space.named_noise import read_noise
from meseta.space.space import Space

SPACE = Space(
    {
        "a": (1.0, 2.0),
        "b": meseta.Float(0.1, 10.0, log=True),
        "c": meseta.Categorical(["u", "v", "w"]),
        "d": (0.0, 1.0),
        "e": (0.0, 1.0),
    }
)
X = torch.tensor([[1.5, 0.0, 1.0, 0.0, 0.0, 0.5, 0.5]], dtype=torch.double)
NUM = 40_000
COVARIANCE = [[0.01, 0.005], [0.005, 0.02]]


def tenth_of(x):
    return 0.1 * x


# Noise, where its column is, and whether its spread is that of its own law alone.
LAWS = {
    "normal": ({"a": meseta.Normal(0.1)}, "allow", 0),
    "biased": ({"a": meseta.Uniform(0.1, mean=0.05)}, "allow", 0),
    "relative": ({"a": meseta.Normal(0.02, relative=True)}, "clip", 0),
    "uniform relative": ({"a": meseta.Uniform(0.02, relative=True)}, "allow", 0),
    "width": ({"a": meseta.Normal(tenth_of)}, "allow", 0),
    "log-normal": ({"b": meseta.LogNormal(0.2)}, "allow", 1),
    "log-normal, clipped": ({"b": meseta.LogNormal(0.2)}, "clip", 1),
    "raw on a log scale": ({"b": meseta.Uniform(0.02)}, "clip", 1),
    "correlated": (
        {("d", "e"): meseta.Normal(covariance=[[0.01, 0.005], [0.005, 0.02]])},
        "allow",
        6,
    ),
    "common and own": (
        {("d", "e"): meseta.Shared(meseta.Uniform(0.2)), "d": meseta.Normal(0.1)},
        "allow",
        5,
    ),
    "sample": ({("d", "e"): meseta.Empirical([[0.1, 0.0], [-0.1, 0.2], [0.0, 0.1]])}, "allow", 5),
    "cut off": ({"e": meseta.TruncatedNormal(0.1, -0.1, 0.2)}, "allow", 6),
    "student": ({"e": meseta.StudentT(8, 0.05)}, "allow", 6),
}


def drawn(law, seed=0):
    return perturbed(law, X.expand(NUM, -1), torch.Generator().manual_seed(seed)) - X


@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_moments_of_the_law(name):
    noise, edge, _ = LAWS[name]
    law = read_noise(noise, SPACE, edge)
    mean, std = moments_at(law, X)
    xi = drawn(law)
    error = 5 * std[0] / NUM**0.5 + 1e-15
    assert ((xi.mean(0) - mean[0]).abs() <= error).all()
    torch.testing.assert_close(xi.std(0), std[0], rtol=0.03, atol=1e-12)


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", LAWS)
def test_widened_noise_is_that_much_wider_in_its_column_alone(name, factor):
    noise, edge, column = LAWS[name]
    law = read_noise(noise, SPACE, edge)
    other = widened(law, column, factor)
    before, after = drawn(law), drawn(other)
    # the logarithm of what is twice as wide; other roots of a covariance, so other draws
    loose = name in ("raw on a log scale", "correlated")
    tolerance = 0.02 if loose else 1e-6
    assert after[:, column].std() == pytest.approx(
        factor * float(before[:, column].std()), rel=tolerance, abs=1e-12
    )
    rest = [i for i in range(X.shape[1]) if i != column]
    torch.testing.assert_close(after[:, rest].std(0), before[:, rest].std(0), rtol=0.05, atol=1e-12)


def test_what_several_share_stays_shared():
    law = read_noise(LAWS["correlated"][0], SPACE)
    before, after = law.covariance_matrix, widened(law, 6, 0.5).covariance_matrix
    assert after[5, 6] == pytest.approx(0.5 * float(before[5, 6]))
    assert after[5, 5] == before[5, 5]


def test_choices_are_confused_more_often_but_never_more_than_always():
    law = read_noise({"c": meseta.Substitution(0.3)}, SPACE)

    def kept(factor):
        other = widened(law, 2, factor)
        assert isinstance(other, Joint)
        ((_, part),) = other.parts
        assert isinstance(part, Substituted)
        matrix = torch.tensor(part.matrix, dtype=torch.double)
        torch.testing.assert_close(matrix.sum(-1), torch.ones(3, dtype=torch.double))
        return matrix.diagonal()

    for factor, expected in ((0.0, 1.0), (0.5, 0.85), (1.0, 0.7), (2.0, 0.4), (10.0, 0.0)):
        torch.testing.assert_close(kept(factor), torch.full((3,), expected, dtype=torch.double))
    share = (drawn(law)[:, 2] == 0).double().mean()
    assert float(share) == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize(
    "own",
    [
        meseta.Uniform(0.25, mean=0.5),
        meseta.Normal(0.1, mean=0.4),
        meseta.Triangular(low=0.2, high=0.9, mode=0.3),
        meseta.Discrete([0.1, 0.7], weights=[1, 3]),
    ],
    ids=str,
)
def test_environments_vary_more_or_less_around_their_mean(own):
    law = read_noise({"d": meseta.Environment(own)}, SPACE)
    before = (drawn(law) + X)[:, 5]
    assert float(before.std()) == pytest.approx(float(own.covariance_matrix) ** 0.5, rel=0.02)
    for factor in (0.0, 0.5, 2.0):
        other = widened(law, 5, factor)
        after = (drawn(other) + X)[:, 5]
        assert float(after.mean()) == pytest.approx(float(own.mean), abs=0.005 * (1 + factor))
        std = float(own.covariance_matrix) ** 0.5
        assert float(after.std()) == pytest.approx(factor * std, rel=0.02, abs=1e-12)
        omega = torch.tensor([[0.7], [3.0]], dtype=torch.double)
        inner = other.marginals[5].law
        exact = torch.polar(torch.ones(2, NUM).double(), omega * after).mean(-1)
        torch.testing.assert_close(inner.characteristic(omega), exact, rtol=0, atol=0.03)


def test_widths_that_depend_on_x_are_still_values():
    law = read_noise({"a": meseta.Normal(tenth_of)}, SPACE)
    assert widened(law, 0, 0.5) == widened(law, 0, 0.5)
    assert widened(law, 0, 0.5) != widened(law, 0, 0.25)
    assert hash(widened(law, 0, 0.5)) == hash(widened(law, 0, 0.5))
    assert isinstance(widened(law, 0, 0.0), Normal)
