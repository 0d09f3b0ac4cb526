"""Example 4 of OpenTURNS' otrobopt: robust, under a chance constraint.

Minimise E[cos x sin Theta] where -2 - x + Theta <= 0 in 90 % of the cases, and x <= 4; Theta is
uniform on 0 to 2. The best x is pi: at -pi the objective is the same, and the constraint broken.
"""

import math

import meseta
from examples import some


def outcomes(p):
    return {"value": math.cos(p["x"]) * math.sin(p["theta"]), "room": -2 - p["x"] + p["theta"]}


def test_the_optimum_under_a_chance_constraint_is_found():
    for seed in some(range(4), 4):
        found = meseta.minimize(
            outcomes,
            {"x": (-4.0, 4.0), "theta": (0.0, 2.0)},
            noise={"theta": meseta.Environment(meseta.Uniform(1.0, mean=1.0))},
            objective="value",
            constraints={"room": meseta.AtMost(0.0, probability=0.9)},
            budget=20,
            seed=seed,
            progress=False,
        )
        assert abs(found.params["x"] - math.pi) < 0.01, seed
        assert abs(found.mean + (1 - math.cos(2)) / 2) < 0.01, seed
        assert found.feasible, seed
