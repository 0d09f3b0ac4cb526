"""Space flight: reach a far planet with little fuel, although no launch is exact.

A craft leaves planet A, coasts past B and C, whose gravity bends its path, and should come close
to D. The cost is log10(closest distance to D + 2 v0): it weighs how far it misses D and the fuel of
the launch. Neither angle nor speed is exact at burn-out: they have standard deviations of 3 degrees
and 0.05 km/s.

The launch that is best on paper aims almost straight at D, past B and C, and small deviations throw
it far off. The robust one costs a little more on paper and forgives them.

Model: Froehlich, Klenske, Vinogradska, Daniel and Zeilinger 2020, Noisy-Input Entropy Search for
Efficient Robust Bayesian Optimization (AISTATS), the experiment on gravity assists.

    python examples/gravity_assist.py [--budget 40]
"""

import argparse

import numpy as np

import meseta
from meseta.problems import get

MISSION = get("gravity")  # f, the ranges, the noise, and the exact g to judge by
FLIGHTS = 4000


def deployed(launch, seed=7):
    """The costs of many flights that were meant to be this launch."""
    deviation = np.random.default_rng(seed).normal(size=(FLIGHTS, 2)) * [3.0, 0.05]
    return MISSION.f(np.array([launch["angle"], launch["speed"]]) + deviation)


def report(result):
    """What both launches are really worth; the last column needs no model and no sampling."""
    print(f"\n{FLIGHTS} perturbed flights of each   mean cost         worst of 20   exact g")
    for name, launch in (("robust", result.params), ("nominal", result.nominal.params)):
        cost = deployed(launch)
        error = 1.96 * cost.std() / FLIGHTS**0.5
        (exact,) = MISSION.g([[launch["angle"], launch["speed"]]])
        print(
            f"{name:29} {cost.mean():.4f} ± {error:.4f}  {np.quantile(cost, 0.95):.4f}"
            f"        {exact:.4f}"
        )
    print(f"the lowest g there is: {MISSION.g_star:.4f}")


def main(budget=40):
    result = meseta.minimize(MISSION, budget=budget, seed=1)
    print(result)
    report(result)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A robust gravity assist.")
    parser.add_argument("--budget", type=int, default=40, help="evaluations of f")
    main(parser.parse_args().budget)
