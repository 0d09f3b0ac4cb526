"""The tolerances of a one-way clutch: which can be cheap?

Rollers jam between the hub and the cage of the clutch. They do so reliably where the contact angle
is from 6 to 8 degrees: too steep, and they slip; too flat, and they crush the cage. The geometry,
its nominal sizes and its limits are the classic problem of tolerance design [Feng and Kusiak,
Robust tolerance design with the integer programming approach, Journal of Manufacturing Science and
Engineering 119 (1997)]. The prices are made up: what is finer costs more, as B / T.
"""

import argparse
import itertools

import numpy as np
from scipy.stats import norm, qmc

import meseta

NOMINAL = {"hub": 55.29, "roller": 22.86, "cage": 101.60}  # mm
LIMITS = meseta.Between(6.0184, 8.0184, probability=0.99)  # degrees
SPACE = {"hub": (55.19, 55.39), "roller": (22.81, 22.91), "cage": (101.55, 101.75)}
TODAY = {"hub": 0.02, "roller": 0.005, "cage": 0.02}  # standard deviations, mm
PRICES = {  # in euros, by the standard deviation
    "hub": "1.2 + 0.020 / width",
    "roller": "0.8 + 0.008 / width",
    "cage": "1.5 + 0.040 / width",
}


def angle(hub, roller, cage):
    """The contact angle in degrees; 0: the rollers do not fit."""
    return np.degrees(np.arccos(np.minimum((hub + roller) / (cage - roller), 1.0)))


def good(design, widths):
    """The share of clutches whose angle lies between the limits, in many that are made."""
    normal = norm.ppf(qmc.Sobol(3, seed=1).random(2**14))
    sizes = [design[name] + widths[name] * z for name, z in zip(SPACE, normal.T, strict=True)]
    angles = angle(*sizes)
    return float(((angles >= LIMITS.low) & (angles <= LIMITS.high)).mean())


def cost(widths):
    """The same prices."""
    slopes = {"hub": 0.020, "roller": 0.008, "cage": 0.040}
    return 3.5 + sum(slope / widths[name] for name, slope in slopes.items())


def cheapest():
    """The least cost that the true geometry allows, by brute force over sizes and widths.

    Sizes matter by the angle in the middle, so that one of them is enough to be tried. For every
    ratio of the widths the largest that still do are found by bisection.
    """
    normal = norm.ppf(qmc.Sobol(3, seed=2).random(2**11))
    least = np.inf
    for cage in NOMINAL["cage"] + np.linspace(0.0, 0.04, 9):
        for roller, ring in itertools.product(np.geomspace(0.3, 0.8, 9), np.geomspace(0.9, 2.0, 9)):
            ratios = np.array([1.0, roller, ring])
            low, high = 0.005, 0.1
            for _ in range(12):
                middle = np.sqrt(low * high)
                sizes = np.array([NOMINAL["hub"], NOMINAL["roller"], cage])
                angles = angle(*(sizes + middle * ratios * normal).T)
                share = ((angles >= LIMITS.low) & (angles <= LIMITS.high)).mean()
                low, high = (middle, high) if share >= LIMITS.probability else (low, middle)
            least = min(least, cost(dict(zip(SPACE, low * ratios, strict=True))))
    return least


def main(budget):
    def measured(p):
        return float(angle(**p))

    result = meseta.maximize(
        measured,
        SPACE,
        noise={name: meseta.Normal(std) for name, std in TODAY.items()},
        measure=meseta.Yield(LIMITS.low, LIMITS.high),
        method="rkg",
        budget=budget,
        progress=False,
    )
    print(result)
    made = result.optimizer.allocate(LIMITS, PRICES)
    print(f"\n{made}")
    widths = {name: each.width for name, each in made.tolerances.items()}
    share = good(made.params, widths)
    print(f"\nof many clutches {share:.1%} are good; the cheapest by brute force: {cheapest():.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=25, help="how many clutches are computed")
    main(parser.parse_args().budget)
