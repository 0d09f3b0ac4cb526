"""Machine design: the cheapest welded beam that still holds when nothing has its nominal size.

A bar is welded to a wall and carries 6000 lbf at its end, 14 inches away. We choose the size of the
weld (height and length) and of the bar (depth and thickness), all in inches. Cost is that of labour
and steel; the limits are the shear stress in the weld, the bending stress in the bar, the force at
which it buckles, and the deflection of its end. The cheapest beam on paper stands at all limits at
once: half of the beams that are made in that size break one of them.

Every size scatters: the weld by 0.006 and 0.04 inches, the bar by 0.03 and 0.004 (one standard
deviation). Each limit is to be kept by 99 % of the beams. The weld must not be higher than the bar
is thick, which needs no experiment to know: it is a rule for designs.

Stresses go to infinity as sizes go to zero; their logarithms are smooth, so these are the outcomes.

Model: Ragsdell and Phillips 1976, Journal of Engineering for Industry 98, 1021-1025, in the form of
Deb 1991, AIAA Journal 29, 2013-2015; the optimum without scatter costs 2.38 there, and 1.7249 with
the constants of Coello 2000, Computers in Industry 41, 113-127, which are used here. Scatter and
probabilities are ours.

    python examples/welded_beam.py [--budget 40]
"""

import argparse
import math

import numpy as np

import meseta

LOAD, ARM = 6000.0, 14.0  # lbf, inches
YOUNG, SHEAR_MODULUS = 30e6, 12e6  # psi
SPACE = {
    "weld": (0.125, 0.5),
    "length": (2.0, 7.0),
    "depth": (7.0, 10.0),
    "thickness": (0.125, 0.5),
}
STD = {"weld": 0.006, "length": 0.04, "depth": 0.03, "thickness": 0.004}
LIMITS = {"shear": 13600.0, "bending": 30000.0, "deflection": 0.25, "buckling": LOAD}
BEAMS = 200_000


def beam(weld, length, depth, thickness):
    """Cost, and by name the shear and bending stress, the deflection, and the buckling load."""
    cost = 1.10471 * weld**2 * length + 0.04811 * depth * thickness * (14.0 + length)
    moment = LOAD * (ARM + length / 2)
    radius = np.sqrt(length**2 / 4 + ((weld + depth) / 2) ** 2)
    inertia = 2 * math.sqrt(2) * weld * length * (length**2 / 12 + ((weld + depth) / 2) ** 2)
    primary, secondary = LOAD / (math.sqrt(2) * weld * length), moment * radius / inertia
    shear = np.sqrt(primary**2 + primary * secondary * length / radius + secondary**2)
    slender = depth / (2 * ARM) * math.sqrt(YOUNG / (4 * SHEAR_MODULUS))
    buckling = 4.013 * YOUNG * depth * thickness**3 / (6 * ARM**2) * (1 - slender)
    return {
        "cost": cost,
        "shear": shear,
        "bending": 6 * LOAD * ARM / (thickness * depth**2),
        "deflection": 4 * LOAD * ARM**3 / (YOUNG * depth**3 * thickness),
        "buckling": buckling,
    }


def experiment(params):
    """All outcomes of one beam: its cost, and logarithms of the others."""
    outcomes = beam(**params)
    return {name: v if name == "cost" else math.log(v) for name, v in outcomes.items()}


def broken(params, seed=3):
    """The share of many beams of that size that break each limit."""
    random = np.random.default_rng(seed)
    made = {n: params[n] + STD[n] * random.standard_normal(BEAMS) for n in SPACE}
    outcomes = beam(**made)
    kept = {name: outcomes[name] <= limit for name, limit in LIMITS.items()}
    kept["buckling"] = outcomes["buckling"] >= LIMITS["buckling"]
    return {name: 1 - float(np.mean(each)) for name, each in kept.items()}


def optimize(budget, progress=True):
    """The cheapest beam of which 99 % keep each limit."""
    constraints = {
        name: meseta.AtMost(math.log(limit), probability=0.99)
        for name, limit in LIMITS.items()
        if name != "buckling"
    }
    constraints["buckling"] = meseta.AtLeast(math.log(LIMITS["buckling"]), probability=0.99)
    return meseta.minimize(
        experiment,
        SPACE,
        noise={name: meseta.Normal(std) for name, std in STD.items()},
        objective="cost",
        constraints=constraints,
        allowed="weld <= thickness",
        budget=budget,
        progress=progress,
    )


def main(budget=40, report=None):
    result = optimize(budget)
    print(result)
    for name, design in (("robust", result.params), ("on paper", result.nominal.params)):
        cost, shares = beam(**design)["cost"], broken(design)
        words = ", ".join(f"{limit} {100 * share:.2f} %" for limit, share in shares.items())
        print(f"{name:>8}: cost {cost:.3f}; of {BEAMS} beams break: {words}")
    if report is not None:
        units = dict.fromkeys(SPACE, "in")
        print(result.report(report, title="Welded beam", value="cost", units=units))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--report", help="an HTML file to write")
    options = parser.parse_args()
    main(options.budget, options.report)
