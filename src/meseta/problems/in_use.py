"""Designs as they are in use: the noise acts on them, and the environment is as it happens."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64

from meseta.noise import Environment, NoiseLaw, Substitution


def drawn(
    x: Float64[np.ndarray, "m d"],
    names: tuple[str, ...],
    laws: Mapping[Any, NoiseLaw | Substitution | Environment],
    choices: Mapping[str, int],
    num: int,
    seed: int,
) -> Float64[np.ndarray, "n m p"]:
    """`num` draws of what each design becomes, and then of the environment.

    `choices` has how many choices there are, for each parameter that is one.
    """
    generator = torch.Generator().manual_seed(seed)
    m = len(x)
    points = np.repeat(x[None], num, axis=0)
    environment = []
    for key, law in laws.items():
        if isinstance(law, Environment):
            assert isinstance(law.law, NoiseLaw)
            environment.append(_sampled(law.law, num * m, generator).reshape(num, m, 1))
            continue
        dims = [names.index(name) for name in (key if isinstance(key, tuple) else (key,))]
        if isinstance(law, Substitution):
            points[..., dims[0]] = _substituted(
                law.matrix(choices[key]), x[:, dims[0]], num, generator
            )
            continue
        xi = _sampled(law, num * m, generator).reshape(num, m, len(dims))
        if getattr(law, "relative", False):  # xi = x zeta
            xi = x[:, dims] * xi
        elif getattr(law, "multiplicative", False):  # xi = x (exp(zeta) - 1)
            xi = x[:, dims] * np.expm1(xi)
        points[..., dims] += xi
    return np.concatenate([points, *environment], axis=-1)


def _sampled(law: NoiseLaw, num: int, generator: torch.Generator) -> Float64[np.ndarray, "n d"]:
    return law.sample(num, generator).numpy()


def _substituted(
    matrix: torch.Tensor, choice: Float64[np.ndarray, " m"], num: int, generator: torch.Generator
) -> Float64[np.ndarray, "n m"]:
    """The index of the choice that is carried out."""
    shares = matrix[torch.as_tensor(choice).long()]
    return torch.multinomial(shares, num, replacement=True, generator=generator).T.double().numpy()
