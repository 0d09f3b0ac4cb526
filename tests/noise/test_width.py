"""The width of a law is the number that is written in it."""

import pytest
import scipy.stats

import meseta
from meseta.noise.width import read_width, width_of


@pytest.mark.parametrize(
    ("law", "width"),
    [
        (meseta.Normal(0.1), 0.1),
        (meseta.Normal(0.1, mean=0.3), 0.1),
        (meseta.Normal(0.02, relative=True), 0.02),
        (meseta.Uniform(0.2), 0.2),
        (meseta.Triangular(0.3), 0.3),
        (meseta.Triangular(low=-0.1, high=0.5), 0.3),
        (meseta.Laplace(0.05), 0.05),
        (meseta.StudentT(4, 0.05), 0.05),
        (meseta.TruncatedNormal(0.1, -0.2, 0.3), 0.1),
        (meseta.LogNormal(0.2), 0.2),
        (meseta.LearnedNormal(0.1, worth=5), 0.1),
        (meseta.Discrete([-0.1, 0.1]), 0.1),
        (meseta.Empirical([-0.1, 0.1]), 0.1),
        (scipy.stats.norm(scale=0.4), 0.4),
        (scipy.stats.gamma(4, scale=0.5), 1.0),
        (meseta.Environment(meseta.Uniform(5.0, mean=20.0)), 5.0),
    ],
    ids=lambda each: type(each).__name__,
)
def test_width_is_what_is_written(law, width):
    assert width_of(law) == pytest.approx(width)


@pytest.mark.parametrize(
    ("law", "says"),
    [
        (meseta.Normal(lambda x: x), "depends on the value"),
        (meseta.Substitution(0.1), "choice"),
        (meseta.Environment({"a": 0.5, "b": 0.5}), "choice"),
        (meseta.Normal(0.0), "no noise"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_has_no_width_is_refused(law, says):
    with pytest.raises(ValueError, match=says):
        width_of(law)


@pytest.mark.parametrize(
    ("law", "times", "words"),
    [
        (meseta.Normal(0.1), 1.3, "std 0.13 mm"),
        (meseta.Uniform(0.02, relative=True), 1.3, "± 2.6 % of the value"),
        (meseta.Triangular(0.3), 1, "± 0.3 mm"),
        (meseta.StudentT(4, 0.05), 2, "scale 0.1 mm"),
        (meseta.LogNormal(0.05), 2, "about ± 10 % of the value"),
        (meseta.Environment(meseta.Uniform(5.0, mean=20.0)), 0.5, "± 2.5 mm"),
    ],
)
def test_widths_in_words(law, times, words):
    assert read_width(law).in_words("mm", times) == words
