"""Whether experiments are close enough to tell how much values scatter."""

import pytest

import meseta
from meseta import Categorical, Float, Int, Normal, Optimizer

SPACE = {"x": Float(1.0, 1e4, log=True), "n": Int(0, 10), "oil": Categorical(["a", "b", "c"])}
APART = [{"x": 10.0**i, "n": n, "oil": "abc"[i % 3]} for i, n in enumerate((1, 9, 4, 1, 7))]


def told(designs, stds=None, **settings):
    made = Optimizer(SPACE, noise={"x": Normal(0.1)}, **settings)
    for i, (design, std) in enumerate(zip(designs, stds or [None] * len(designs), strict=True)):
        made.tell(design, float(i % 3), std=std)
    return made


def test_it_is_said_from_the_fifth_value_on():
    assert not told(APART[:4]).untold_scatter
    assert "repeat two or three settings" in told(APART).untold_scatter


@pytest.mark.parametrize(
    ("other", "close"),
    [
        ({}, True),
        ({"x": 1.19}, True),  # 2 % of four decades are 20 %
        ({"x": 1.21}, False),
        ({"n": 2}, False),
        ({"oil": "b"}, False),
    ],
)
def test_what_is_close(other, close):
    assert bool(told([*APART, {**APART[0], **other}]).untold_scatter) != close


def test_what_is_known_needs_no_repeats():
    assert not told(APART, noise_variance=0.0).untold_scatter
    assert not told(APART, noise_variance="varies").untold_scatter
    assert not told(APART, stds=[0.1] * 5).untold_scatter
    assert told(APART, stds=[0.1] * 4 + [None]).untold_scatter


def test_withdrawn_and_pending_ones_do_not_count():
    made = told([*APART, APART[0]])
    assert not made.untold_scatter
    made.withdraw(5, why="a wrong sample")
    made.ask()
    assert made.untold_scatter


def test_results_and_reports_say_so():
    made = meseta.maximize(
        lambda p: -((p["x"] - 0.4) ** 2),
        {"x": (0.0, 1.0)},
        noise=Normal(0.05),
        initial=[{"x": x} for x in (0.0, 0.2, 0.5, 0.8, 1.0)],
        budget=5,
        progress=False,
    )
    said = made.optimizer.untold_scatter
    assert said
    assert f"({said}.)" in repr(made)
    assert said in made._repr_html_()
    found = made.views().search.findings
    assert ("warning", said) in [(each.level, each.text) for each in found]
