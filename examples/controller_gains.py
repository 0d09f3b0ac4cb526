"""Process control: gains of a PID controller for a plant that does not stay as it was identified.

A blending process was identified as

    G(s) = 2 exp(-s) / ((10 s + 1) (5 s + 1)),    time in minutes,

and is controlled by a PID controller with Td = Ti / 4, the ratio of Ziegler and Nichols. The cost
of a test is log10 of ITAE (the integral of time times absolute error, after a step of the set point
and again after a step of the load) plus a tenth of how far the valve travels. Unstable loops swing
between the stops of the valve: a large cost, but a finite one.

The gain of the valve drifts by 15 %, and with it the gain of the loop. The integral time is set by
parts with 5 % tolerance. The dead time is that of a pipe, and follows the throughput: 1 minute with
a standard deviation of 0.25. In the simulation it can be set, at the plant nobody does, so it is an
`Environment`.

Model: Seborg, Edgar and Mellichamp, Process Dynamics and Control, the chapter on controller design
and tuning, where the ultimate gain is 7.88 and the ultimate period 11.66.

    python examples/controller_gains.py [--budget 40]
"""

import argparse

import numpy as np

import meseta

GAIN, LAGS = 2.0, (10.0, 5.0)
STEP, DURATION = 0.05, 60.0  # minutes
STOP = 20.0  # of the valve, either way
LOAD = 0.5  # steps in after half of the time
FILTER = 10  # the derivative acts through a lag of Td / FILTER
TRAVEL = 0.1  # the weight of the valve's travel

DRIFT, TOLERANCE, DEAD_TIME, DEAD_TIME_SPREAD = 0.15, 0.05, 1.0, 0.25
PLANTS = 1000


def responses(gain, integral_time, derivative_time, dead_time):
    """Errors and valve positions over time, shape (steps, m), of m loops at once."""
    gain, integral_time, derivative_time, dead_time = np.broadcast_arrays(
        *(np.atleast_1d(a).astype(float) for a in (gain, integral_time, derivative_time, dead_time))
    )
    steps, loops = round(DURATION / STEP), np.arange(len(gain))
    delay = np.rint(dead_time / STEP).astype(int)
    first = delay.max()
    valve = np.zeros((first + steps, len(gain)))  # with what is in the pipe at the start
    errors = np.zeros((steps, len(gain)))
    keep = np.exp(-STEP / np.array(LAGS))
    blended, level, filtered, integral = np.zeros((4, len(gain)))
    for k in range(steps):
        errors[k] = 1.0 - level
        slope = (level - filtered) / (derivative_time / FILTER + STEP)
        filtered = filtered + STEP * slope
        wanted = gain * (errors[k] + integral - derivative_time * slope)
        valve[first + k] = np.clip(wanted, -STOP, STOP)
        integral = integral + np.where(np.abs(wanted) < STOP, STEP * errors[k] / integral_time, 0)
        arriving = valve[first + k - delay, loops] + (LOAD if 2 * k >= steps else 0)
        blended = keep[0] * blended + (1 - keep[0]) * GAIN * arriving
        level = keep[1] * level + (1 - keep[1]) * blended
    return errors, valve[first:]


def cost(gain, integral_time, dead_time=DEAD_TIME):
    """log10(ITAE + TRAVEL * how far the valve travels)."""
    errors, valve = responses(gain, integral_time, np.asarray(integral_time) / 4, dead_time)
    since_step = STEP * np.arange(len(errors)) % (DURATION / 2)
    itae = STEP * since_step @ np.abs(errors)
    travel = np.abs(np.diff(valve, axis=0, prepend=0)).sum(0)
    return np.log10(itae + TRAVEL * travel)


def deployed(gains, seed=3):
    """Costs on many plants."""
    valve, parts, pipe = np.random.default_rng(seed).normal(size=(3, PLANTS))
    return cost(
        gains["gain"] * np.exp(DRIFT * valve),
        gains["integral_time"] * np.exp(TOLERANCE * parts),
        np.maximum(DEAD_TIME + DEAD_TIME_SPREAD * pipe, STEP),
    )


def main(budget=40):
    result = meseta.minimize(
        lambda x: cost(x["gain"], x["integral_time"], x["dead_time"])[0],
        {
            "gain": meseta.Float(2.0, 16.0, log=True),
            "integral_time": meseta.Float(3.0, 20.0, log=True),
            "dead_time": (0.4, 2.0),
        },
        noise={
            "gain": meseta.LogNormal(DRIFT),
            "integral_time": meseta.LogNormal(TOLERANCE),
            "dead_time": meseta.Environment(meseta.Normal(DEAD_TIME_SPREAD, mean=DEAD_TIME)),
        },
        budget=budget,
        seed=0,
    )
    print(result)
    print(
        f"\n{PLANTS} plants            as identified   mean cost         10^cost: mean, worst of 20"
    )
    for name, gains in (("robust", result.params), ("nominal", result.nominal.params)):
        costs = deployed(gains)
        print(
            f"{name:22} {cost(**gains)[0]:.3f}           "
            f"{costs.mean():.3f} ± {1.96 * costs.std() / PLANTS**0.5:.3f}     "
            f"{np.mean(10**costs):.0f}, {10 ** np.quantile(costs, 0.95):.0f}"
        )
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="PID gains for a plant that drifts.")
    parser.add_argument("--budget", type=int, default=40, help="simulated tests")
    main(parser.parse_args().budget)
