"""Process chemistry: how much reactant to dose, and how hot to run, when neither is exact.

The Williams-Otto reactor, a stirred tank that is run continuously:

    A + B -> C        C + B -> P + E        P + C -> G

P is the product, E sells as fuel, G is tar. A arrives at 1.8275 kg/s; we choose the flow of B and
the temperature. More B and more heat make more P, and past a point mostly tar. The stream may hold
8 % of tar; every kilogram beyond takes 1.5 kg of P with it when the tar is drawn off. So profit
climbs along a ridge and falls off behind it, and the nominal optimum stands at the edge.

The dosing pump is off by 4 % of its setting (one standard deviation), the temperature by 1.5 K.

Model: Williams and Otto 1960, Trans. AIEE 79, 458-473, with the rate constants, hold-up and prices
of Forbes and Marlin 1996, Computers and Chemical Engineering 20, 717-734, whose optimum without a
limit on tar is about 4.79 kg/s at 89.7 degrees C. Limit, scatter and what an excess costs are ours.

Beside the robust search runs an ordinary one, `method="ei"`: the robust one spends nothing on
looking for the edge exactly, so that its own idea of the nominal optimum is a rough one.

    python examples/dosing_a_reaction.py [--budget 30]
"""

import argparse

import numpy as np
from scipy.integrate import solve_ivp

import meseta

FEED = 1.8275  # of A, kg/s
HOLD_UP = 2105.0  # kg
FACTOR = np.array([1.6599e6, 7.2117e8, 2.6745e12])[:, None]  # of the three reactions, 1/s
ACTIVATION = np.array([6666.7, 8333.3, 11111.0])[:, None]  # K
# What one kilogram of each reaction's rate does to the masses of A, B, C, E, P, G.
STOICHIOMETRY = np.array(
    [[-1, 0, 0], [-1, -1, 0], [2, -2, -1], [0, 2, 0], [0, 1, -0.5], [0, 0, 1.5]]
)
PRICE_P, PRICE_E, COST_A, COST_B = 1143.38, 25.92, 76.23, 114.34  # $/kg
TAR_LIMIT, SCATTER, SPOILED = 0.08, 0.002, 1.5  # SCATTER: of the tar within an hour

DOSE_ERROR, TEMPERATURE_ERROR = 0.04, 1.5  # a share of the dose; K
RUNS = 2000


def steady_state(dose, temperature):
    """Mass fractions of A, B, C, E, P, G in the outflow, shape (6, m), long after the start."""
    dose, temperature = np.broadcast_arrays(np.atleast_1d(dose), np.atleast_1d(temperature))
    rate = FACTOR * np.exp(-ACTIVATION / (temperature + 273.15))
    flow = FEED + dose
    inflow = np.zeros((6, len(dose)))
    inflow[:2] = FEED / flow, dose / flow

    def change(_, x):
        x = x.reshape(inflow.shape)
        a, b, c, _, p, _ = x
        reacted = rate * np.stack([a * b, b * c, c * p])
        return (flow / HOLD_UP * (inflow - x) + STOICHIOMETRY @ reacted).ravel()

    until = 15 * HOLD_UP / flow.min()  # fifteen residence times
    end = solve_ivp(change, (0, until), inflow.ravel(), rtol=1e-6, atol=1e-9, t_eval=[until])
    return end.y.reshape(inflow.shape)


def profit(dose, temperature, spoiled=SPOILED):
    """$/s. Since tar scatters, its excess over the limit sets in smoothly."""
    _, _, _, e, p, g = steady_state(dose, temperature)
    excess = SCATTER * np.logaddexp(0, (g - TAR_LIMIT) / SCATTER)
    sold = (PRICE_P * (p - spoiled * excess) + PRICE_E * e) * (FEED + dose)
    return sold - COST_A * FEED - COST_B * dose


def deployed(params, seed=3):
    """Profits of many runs at these settings."""
    dosing, heating = np.random.default_rng(seed).normal(size=(2, RUNS))
    dose = params["dose"] * (1 + DOSE_ERROR * dosing)
    return profit(dose, params["temperature"] + TEMPERATURE_ERROR * heating)


def optimize(method, budget):
    return meseta.maximize(
        lambda x: profit(x["dose"], x["temperature"])[0],
        {"dose": (4.0, 6.0), "temperature": (76.0, 90.0)},
        noise={
            "dose": meseta.Normal(DOSE_ERROR, relative=True),
            "temperature": meseta.Normal(TEMPERATURE_ERROR),
        },
        budget=budget,
        method=method,
        seed=0,
    )


def main(budget=30):
    robust, ordinary = optimize("rkg", budget), optimize("ei", budget)
    print(robust)
    print(f"\n{RUNS} perturbed runs of each     dose  temperature  as set  deployed, $/s")
    for name, x in (("robust", robust.params), ("ordinary search", ordinary.params)):
        runs = deployed(x)
        print(
            f"{name:30} {x['dose']:.2f}  {x['temperature']:.1f}         "
            f"{profit(**x)[0]:.1f}   {runs.mean():.1f} ± {1.96 * runs.std() / RUNS**0.5:.1f}"
        )
    return robust, ordinary


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The Williams-Otto reactor, dosed robustly.")
    parser.add_argument("--budget", type=int, default=30, help="evaluations of each search")
    main(parser.parse_args().budget)
