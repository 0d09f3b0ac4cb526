"""Data that a model may meet and should not stumble over."""

import torch

from gp_models import normal, tensor, uniform


def data(n=8, d=2, seed=0):
    return uniform(n, d, seed=seed), normal(n, seed=seed + 1)


def near_duplicates():
    X, y = data()
    return torch.cat([X, X + 1e-9]), torch.cat([y, y + 1e-9])


def conflicting_duplicates():
    X, y = data()
    return torch.cat([X, X]), torch.cat([y, y + 1])


STATES = {
    "duplicates": lambda: tuple(torch.cat([part, part]) for part in data()),
    "nearly duplicate points": near_duplicates,
    "duplicates that disagree": conflicting_duplicates,
    "constant y": lambda: (data()[0], torch.full((8,), 3.0, dtype=torch.double)),
    "all zero y": lambda: (data()[0], torch.zeros(8, dtype=torch.double)),
    "large y": lambda: (data()[0], 1e9 * data()[1]),
    "small y": lambda: (data()[0], 1e-9 * data()[1]),
    "far from zero": lambda: (data()[0], 1e9 + data()[1]),
    "one point": lambda: data(n=1),
    "two points": lambda: data(n=2),
    "an outlier": lambda: (data()[0], torch.cat([data()[1][:7], tensor([1e6])])),
    "points outside the box": lambda: (data()[0] * 3 - 1, data()[1]),
}
