"""Optimizers with all sorts of parameters and noise, for what the page computes by itself."""

import math

import numpy as np
from scipy import stats

import meseta
from meseta import Categorical, Environment, Float, Int, Normal, StudentT, Uniform
from meseta.report.views.playground import playground
from meseta.report.views.subject import Subject

BOX = {"x": (0.0, 1.0), "y": (0.0, 2.0)}
CLOUD = np.random.default_rng(5).multivariate_normal([0, 0], [[0.02, 0.01], [0.01, 0.03]], 60)
CORRELATED = [[0.01, 0.006], [0.006, 0.02]]


def wavy(p):
    """A smooth function of any design: its number, bent."""
    total = 0.0
    for i, value in enumerate(p.values()):
        number = len(str(value)) / 3 if isinstance(value, (str, bool)) else math.log1p(value)
        total += math.sin(2.5 * number + i) + 0.3 * number * (i - 1)
    return total


def told(space, noise, num=18, f=wavy, **settings):
    settings.setdefault("kernel", "se")
    optimizer = meseta.Optimizer(space, noise=noise, num_initial=num, seed=4, **settings)
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return optimizer


def _with_constraint():
    space, noise = BOX, {"x": Normal(0.1), "y": Normal(0.2)}
    limits = {"heat": meseta.AtMost(2.5, probability=0.9)}
    return told(
        space,
        noise,
        f=lambda p: {"cost": wavy(p), "heat": p["x"] + p["y"]},
        objective="cost",
        constraints=limits,
    )


# Normal noise alone: the page computes the same as Python, but for rounding
EXACT = {
    "normal": lambda: told(BOX, {"x": Normal(0.1), "y": Normal(0.2, mean=0.05)}),
    "auto": lambda: told(BOX, {"x": Normal(0.1), "y": Normal(0.2)}, kernel="auto"),
    "wide": lambda: told(BOX, {"x": Normal(1.5), "y": Normal(0.01)}, kernel="matern32"),
    "rough": lambda: told(BOX, {"x": Normal(0.3), "y": Normal(0.001)}, kernel="matern52"),
    "minimised": lambda: told(BOX, {"x": Normal(0.1)}, direction="minimize", kernel="auto"),
    "possible": lambda: told(
        BOX, {"x": Normal(0.1)}, num=8, f=lambda p: abs(wavy(p)), possible=(0.0, math.inf)
    ),
    "steps": lambda: told({"n": Int(1, 9), "dose": Float(0.0, 2.0, step=0.25)}, {"n": Normal(0.8)}),
    "constrained": _with_constraint,
    "scattered": lambda: told(BOX, {"x": Normal(0.1), "y": Normal(0.2)}, noise_variance=0.04),
    "still": lambda: told(BOX, None),
    "kinds": lambda: told(
        {"kind": Categorical(["a", "bb", "cccc"]), "x": (0.0, 1.0)},
        {"kind": meseta.Substitution(0.2), "x": Normal(0.1)},
    ),
    "mistaken": lambda: told(
        {"kind": Categorical(["a", "bb"]), "x": (0.0, 1.0)},
        {"kind": meseta.Substitution([[0.4, 0.6], [0.1, 0.9]])},
        kernel="matern52",
    ),
    "two kinds": lambda: told(
        {"kind": Categorical(["a", "bb"]), "x": (0.0, 1.0)}, {"x": Normal(0.1)}, kernel="auto"
    ),
}
# other laws of single parameters: by nodes, which follow smooth functions closely
SMOOTH = {
    "uniform": lambda: told(BOX, {"x": Uniform(0.2), "y": Normal(0.2)}, kernel="auto"),
    "student": lambda: told(BOX, {"x": StudentT(3.0, 0.1), "y": Uniform(0.5)}),
    "beta": lambda: told(BOX, {"x": stats.beta(2.0, 5.0, loc=-0.1, scale=0.4), "y": Normal(0.1)}),
    "relative": lambda: told(
        {"x": (1.0, 3.0), "y": Float(0.1, 10.0, log=True)},
        {"x": Normal(0.1, relative=True), "y": meseta.LogNormal(0.2)},
    ),
    "logarithm": lambda: told(
        {"x": (1.0, 3.0), "y": Float(1.0, 10.0, log=True)}, {"y": Uniform(0.5)}, kernel="auto"
    ),
    "width": lambda: told(BOX, {"x": Normal(lambda x: 0.05 + 0.1 * x)}),
    "environment": lambda: told(
        {"x": (0.0, 1.0), "heat": (10.0, 30.0)},
        {"x": Normal(0.1), "heat": Environment(Uniform(6.0, mean=20.0))},
    ),
    "seasons": lambda: told(
        {"x": (0.0, 1.0), "season": Categorical(["a", "bb", "cccc"])},
        {"x": Uniform(0.1), "season": Environment({"a": 0.5, "bb": 0.3, "cccc": 0.2})},
    ),
    "others": lambda: told(
        {**BOX, "n": Int(1, 100, log=True)},
        {
            "x": meseta.Laplace(0.1),
            "y": meseta.Mixture([Normal(0.1), Uniform(0.3)]),
            "n": meseta.Triangular(0.5),
        },
    ),
    "beyond": lambda: told(
        {"x": Float(0.0, 1.0, evaluate=(-0.5, 1.5)), "y": (0.0, 2.0)},
        {"x": meseta.TruncatedNormal(0.2, low=-0.3, high=0.3)},
        f=lambda p: math.sin(3 * p["x"]) - p["y"],
    ),
    "measured": lambda: told(
        BOX, {"x": meseta.Empirical(np.linspace(-0.2, 0.3, 21)), "y": Normal(0.1)}
    ),
}
# edges, and noise that parameters share: by nodes that follow less closely
COARSE = {
    "clip": lambda: told(BOX, {"x": Normal(0.2), "y": Uniform(0.4)}, edge="clip"),
    "reflect": lambda: told(BOX, {"x": Normal(0.2)}, edge="reflect", kernel="auto"),
    "truncate": lambda: told(BOX, {"x": Normal(0.2), "y": Normal(0.2)}, edge="truncate"),
    "covariance": lambda: told(BOX, {("x", "y"): Normal(covariance=CORRELATED)}, kernel="auto"),
    "shared": lambda: told(
        BOX, {"x": Normal(0.05), ("x", "y"): meseta.Shared(Uniform(0.2), (1.0, -1.0))}
    ),
    "atoms": lambda: told(
        BOX, {"x": meseta.Discrete([-0.2, 0.1], [0.3, 0.7]), "y": Normal(0.3)}, edge="clip"
    ),
    "cloud": lambda: told(BOX, {("x", "y"): meseta.Empirical(CLOUD)}),
    "unseen": lambda: told(BOX, {"x": Normal(0.1)}, executed="unseen", num=14),
}
ALL = {**EXACT, **SMOOTH, **COARSE}
_made = {}


def made(name):
    """The subject and its playground, made once."""
    if name not in _made:
        subject = Subject(ALL[name]())
        _made[name] = subject, playground(subject)
    return _made[name]


def settings_of(ground, rng):
    """Some design, and factors of the noise."""
    values, factors = [], []
    for knob in ground.knobs:
        value = knob.robust
        if knob.design and knob.step is not None:
            steps = round((knob.high - knob.low) / knob.step)
            value = knob.low + knob.step * rng.randint(0, steps)
        elif knob.design and knob.log:
            value = knob.low * (knob.high / knob.low) ** rng.random()
        elif knob.design:
            value = knob.low + (knob.high - knob.low) * rng.random()
        values.append(value)
        factors.append(rng.choice([0.0, 0.3, 1.0, 2.0]) if knob.design else 1.0)
    return values, factors
