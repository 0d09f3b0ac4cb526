"""A piston in a cylinder: its cycle is to take 0.5 s."""

import numpy as np
from jaxtyping import Float64

from meseta.measures import OnTarget
from meseta.noise import Normal, Uniform
from meseta.problems.problem import Problem
from meseta.problems.quadrature import average, normal, product, uniform

TARGET = 0.5
SPRING = 3000.0
WEIGHT_STD = 1.0
TOLERANCE = 0.05  # of surface and volume, as a share
PRESSURE, AMBIENT, FILLING = (100_000.0, 10_000.0), (293.0, 1.5), (350.0, 10.0)


def piston() -> Problem:
    return Problem(
        name="piston",
        title="Piston",
        names=("weight", "surface", "volume"),
        f=cycle,
        g=g,
        bounds=np.array([[30.0, 0.005, 0.002], [60.0, 0.02, 0.01]]),
        noise={
            "weight": Normal(WEIGHT_STD),
            "surface": Uniform(TOLERANCE, relative=True),
            "volume": Uniform(TOLERANCE, relative=True),
        },
        direction="minimize",
        x_star=np.array([30.0, 0.005, 0.0025566712469832376]),
        g_star=0.00011863837936947575,
        g_worst=0.11863744025624698,
        budget=50,
        num_initial=12,
        source="Kenett and Zacks 1998; Surjanovic and Bingham, Virtual Library",
        differs="mean squared distance from 0.5 s; tolerances are added, pressure and both "
        "temperatures are an environment, the ambient one by a Normal law, the spring is fixed",
        environment={
            "pressure": Uniform(PRESSURE[1], mean=PRESSURE[0]),
            "ambient": Normal(AMBIENT[1], mean=AMBIENT[0]),
            "filling": Uniform(FILLING[1], mean=FILLING[0]),
        },
        measure=OnTarget(TARGET),
        board="risk",
        certificate="Gauss rules, 2304 nodes, doubled: 1e-12; 3 local searches from 512 designs",
    )


def cycle(x: Float64[np.ndarray, "m 6"]) -> Float64[np.ndarray, " m"]:
    """The time of a cycle in s: 2 pi sqrt(M / (k + S^2 P0 V0 Ta / (T0 V^2)))."""
    M, S, V0, P0, Ta, T0 = x.T
    A = P0 * S + 19.62 * M - SPRING * V0 / S
    gas = P0 * V0 * Ta / T0
    V = S / (2 * SPRING) * (np.sqrt(A**2 + 4 * SPRING * gas) - A)
    return 2 * np.pi * np.sqrt(M / (SPRING + S**2 * gas / V**2))


def g(
    x: Float64[np.ndarray, "m 3"], nums: tuple[int, ...] = (4, 4, 4, 4, 3, 3)
) -> Float64[np.ndarray, " m"]:
    """E (cycle - 0.5)^2."""
    rules = [normal(nums[0]), uniform(nums[1]), uniform(nums[2])]
    rules += [uniform(nums[3]), normal(nums[4]), uniform(nums[5])]
    nodes, weights = product(rules)
    laws = np.array([PRESSURE, AMBIENT, FILLING])
    environment = laws[:, 0] + laws[:, 1] * nodes[:, 3:]

    def place(x: Float64[np.ndarray, "m 3"]) -> Float64[np.ndarray, "m k 6"]:
        weight = x[:, None, :1] + WEIGHT_STD * nodes[:, :1]
        others = x[:, None, 1:] * (1 + TOLERANCE * nodes[:, 1:3])
        return np.concatenate([weight, others, np.tile(environment, (len(x), 1, 1))], axis=-1)

    return average(lambda points: (cycle(points) - TARGET) ** 2, place, x, weights)
