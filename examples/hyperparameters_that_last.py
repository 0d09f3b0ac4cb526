"""Machine learning: hyper-parameters that still work when the model is trained again next month.

A regression with random features (a layer of random weights, then a linear one that is learnt) is
trained by gradient descent with momentum, 30 steps and no more, since it happens on a small device.
Four hyper-parameters: learning rate, momentum, the number of features, and their activation.

In so few steps the quickest training wins, and that is the one next to divergence: heavy-ball
descent diverges once the learning rate exceeds 2 (1 + momentum) / L, L being the largest curvature
[Polyak 1964]. But the data drift. Sensors that read 10 % more raise the curvature by 20 %, which is
as if the learning rate had been raised, hence `LogNormal(0.2)`. And the device keeps momentum in
steps of 1/16, so it is rounded by up to 1/32. A training that fails predicts the mean, so that the
error is the variance of the data at most.

Beside the robust choice stands that of a grid search of 2400 trainings, which looks at today's data
only. (The columns of the result hardly differ: after so few trainings the model's idea of the
nominal optimum keeps away from the cliff as well.)

Data: Friedman 1991, Multivariate Adaptive Regression Splines, Annals of Statistics 19, Eq. (61):
ten inputs of which five matter, and noise of unit variance.

    python examples/hyperparameters_that_last.py [--budget 30]
"""

import argparse
from functools import cache

import numpy as np

import meseta

SAMPLES, INPUTS, MOST_FEATURES = 300, 10, 256
STEPS = 30
DRIFT, ROUNDING = 0.2, 1 / 32
TRAININGS = 2000
ACTIVATIONS = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}


def friedman(x):
    """10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5, for inputs in [0, 1]."""
    curved = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return curved + 10 * x[:, 3] + 5 * x[:, 4]


@cache
def data():
    """Inputs and standardised targets, first those to learn from, then those held out."""
    random = np.random.default_rng(0)
    x = random.random((2 * SAMPLES, INPUTS))
    y = friedman(x) + random.normal(size=2 * SAMPLES)
    return x, (y - y[:SAMPLES].mean()) / y[:SAMPLES].std()


def features(num, activation):
    """Random features of all inputs, and a constant."""
    random = np.random.default_rng(1)
    weights = random.normal(size=(INPUTS, MOST_FEATURES))[:, :num]
    offsets = random.uniform(-1, 1, size=MOST_FEATURES)[:num]
    hidden = ACTIVATIONS[activation]((2 * data()[0] - 1) @ weights + offsets)
    return np.column_stack([hidden, np.ones(len(hidden))]) / num**0.5


def held_out_error(learning_rate, momentum, num_features, activation):
    """log10 of the mean square error, of many pairs of learning rate and momentum at once."""
    learning_rate, momentum = np.broadcast_arrays(
        np.atleast_1d(learning_rate), np.atleast_1d(momentum)
    )
    phi, y = features(num_features, activation), data()[1]
    curvature = phi[:SAMPLES].T @ phi[:SAMPLES] / SAMPLES
    target = phi[:SAMPLES].T @ y[:SAMPLES] / SAMPLES
    weights = np.zeros((phi.shape[1], len(learning_rate)))
    velocity = np.zeros_like(weights)
    for _ in range(STEPS):
        velocity = momentum * velocity - learning_rate * (curvature @ weights - target[:, None])
        weights = weights + velocity
    error = np.mean((y[SAMPLES:, None] - phi[SAMPLES:] @ weights) ** 2, axis=0)
    return np.log10(np.minimum(error, 1.0))


def deployed(chosen, seed=3):
    """Errors of many trainings with these hyper-parameters, on data that drift."""
    random = np.random.default_rng(seed)
    drift = np.exp(DRIFT * random.normal(size=TRAININGS))
    rounding = random.uniform(-ROUNDING, ROUNDING, size=TRAININGS)
    return held_out_error(
        chosen["learning_rate"] * drift,
        chosen["momentum"] + rounding,
        chosen["num_features"],
        chosen["activation"],
    )


def grid_search():
    """The hyper-parameters with the least error on today's data."""
    rates, momenta = np.meshgrid(np.geomspace(0.3, 30, 20), np.linspace(0, 0.95, 20))
    best = {}
    for num in (64, 128, 256):
        for activation in ACTIVATIONS:
            errors = held_out_error(rates.ravel(), momenta.ravel(), num, activation)
            i = errors.argmin()
            best[errors[i]] = {
                "learning_rate": float(rates.ravel()[i]),
                "momentum": float(momenta.ravel()[i]),
                "num_features": num,
                "activation": activation,
            }
    return best[min(best)]


def main(budget=30):
    result = meseta.minimize(
        lambda x: held_out_error(**x)[0],
        {
            "learning_rate": meseta.Float(0.3, 30.0, log=True),
            "momentum": (0.0, 0.95),
            "num_features": meseta.Int(16, MOST_FEATURES, log=True),
            "activation": meseta.Categorical(list(ACTIVATIONS)),
        },
        noise={"learning_rate": meseta.LogNormal(DRIFT), "momentum": meseta.Uniform(ROUNDING)},
        budget=budget,
        seed=0,
    )
    print(result)
    print(
        "\ngrid search:",
        *(
            f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in grid_search().items()
        ),
    )
    print(f"log10 error           today    {TRAININGS} trainings     share that fails")
    for name, chosen in (("robust", result.params), ("grid search", grid_search())):
        errors = deployed(chosen)
        print(
            f"{name:21} {held_out_error(**chosen)[0]:.3f}   "
            f"{errors.mean():.3f} ± {1.96 * errors.std() / TRAININGS**0.5:.3f}     "
            f"{np.mean(errors == 0):.1%}"
        )
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hyper-parameters that survive drift.")
    parser.add_argument("--budget", type=int, default=30, help="trainings")
    main(parser.parse_args().budget)
