"""How often the intervals of yield and ppm hold the truth, over studies of known functions.

    python benchmarks/capability.py [--studies 20] [--budget 30]

Each study is a run of `rkg` on one of five functions with tolerances of several laws. Limits are
then set where the true share out of specification is 50 ppm to 20 %, by four million draws of the
true function at the recommended design: the interval of that share holds the truth, or not.
"""

import argparse

import numpy as np

import meseta
from meseta.measures.constraints import AtLeast
from meseta.report.views.capability import capability_of
from meseta.report.views.subject import Subject

DRAWS = 4_000_000
PPM = (50, 500, 5000, 50_000, 200_000)


def bent(a, b):
    return 3 - (a - 0.4) ** 2 - 0.5 * b + 0.3 * a * b


def nozzle(gap, pressure):
    opened = 1 / (1 + np.exp((0.3 - gap) / 0.04))
    return opened * np.abs(pressure) ** 0.3 / gap - 0.05 * pressure**2


def clutch(hub, roller, cage):
    """Contact angle of an overrunning clutch, in degrees."""
    return np.degrees(np.arccos(np.clip((hub + roller) / (cage - roller), -1, 1)))


def beam(width, height, length, load):
    """Stress margin of a beam with a tip load."""
    return 300 - 6 * load * length / (width * height**2)


def waves(x, y, z):
    return np.sin(3 * x) + 0.5 * np.cos(2 * y + x) - 0.3 * z**2


FUNCTIONS = (
    (bent, {"a": (-1.0, 1.0, 0.15), "b": (0.5, 1.5, 0.05)}),
    (nozzle, {"gap": (0.25, 1.0, 0.04), "pressure": (1.0, 5.0, 0.15)}),
    (
        clutch,
        {"hub": (55.0, 55.4, 0.02), "roller": (22.8, 22.9, 0.01), "cage": (101.5, 101.9, 0.03)},
    ),
    (
        beam,
        {
            "width": (20.0, 40.0, 0.3),
            "height": (40.0, 80.0, 0.5),
            "length": (900.0, 1100.0, 4.0),
            "load": (1.5, 3.0, 0.1),
        },
    ),
    (waves, {"x": (0.0, 2.0, 0.15), "y": (0.0, 2.0, 0.2), "z": (-1.0, 1.0, 0.2)}),
)
LAWS = {
    "Normal": (meseta.Normal, lambda rng, s: s * rng.standard_normal(DRAWS)),
    "Uniform": (meseta.Uniform, lambda rng, s: s * rng.uniform(-1, 1, DRAWS)),
    "Triangular": (meseta.Triangular, lambda rng, s: s * rng.triangular(-1, 0, 1, DRAWS)),
}


def study(number: int, budget: int) -> tuple[str, Subject, np.ndarray]:
    """The subject of a report, and the true values of its design in use."""
    f, ranges = FUNCTIONS[number % len(FUNCTIONS)]
    rng = np.random.default_rng(number)
    laws = {name: rng.choice(list(LAWS)) for name in ranges}
    result = meseta.maximize(
        lambda p: float(f(**p)),
        {name: (low, high) for name, (low, high, _) in ranges.items()},
        noise={name: LAWS[laws[name]][0](width) for name, (*_, width) in ranges.items()},
        budget=budget,
        seed=number,
        progress=False,
    )
    subject = Subject(result.optimizer)
    at = {
        name: subject.robust.params[name] + LAWS[laws[name]][1](rng, width)
        for name, (*_, width) in ranges.items()
    }
    return f.__name__, subject, f(**at)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--budget", type=int, default=30)
    chosen = parser.parse_args()
    held: dict[int, list[bool]] = {ppm: [] for ppm in PPM}
    ratios: dict[int, list[float]] = {ppm: [] for ppm in PPM}
    for number in range(chosen.studies):
        name, subject, values = study(number, chosen.budget)
        line = []
        for ppm in PPM:
            goal = AtLeast(float(np.quantile(values, 1e-6 * ppm)))
            found = capability_of(subject, subject.robust, subject.x_robust, goal, None).outside
            truth = float((values < goal.low).mean())
            held[ppm].append(found.low <= truth <= found.high)
            ratios[ppm].append(found.value / truth)
            mark = "" if held[ppm][-1] else "!"
            line.append(
                f"{1e6 * found.value:.3g} ({1e6 * found.low:.3g} to {1e6 * found.high:.3g}){mark}"
            )
        print(f"{number:3} {name:8} {'   '.join(line)}", flush=True)
    print("\nppm      held    estimate / truth: median (smallest to largest)")
    for ppm in PPM:
        r = np.array(ratios[ppm])
        ends = f"{np.median(r):.2f} ({r.min():.2g} to {r.max():.2g})"
        print(f"{ppm:<8} {np.mean(held[ppm]):.0%}    {ends}")
    every = [each for row in held.values() for each in row]
    print(f"all      {np.mean(every):.0%} of {len(every)}")


if __name__ == "__main__":
    main()
