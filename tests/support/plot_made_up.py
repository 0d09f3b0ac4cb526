"""Views with made-up numbers, to be drawn."""

import math
from dataclasses import replace
from itertools import pairwise

from meseta.optimizer.record import Trial
from meseta.report.views.axis import Axis
from meseta.report.views.estimate import Estimate, SampledEstimate
from meseta.report.views.landscape import Landscape, Map, Mark, PlottedTrial, Slice
from meseta.report.views.next_point import NextPoint
from meseta.report.views.outcomes import LEVELS, Outcomes, OutcomesOfBoth
from meseta.report.views.report import Report
from meseta.report.views.search import LeaveOneOut, Progress, Search
from meseta.report.views.tolerances import FACTORS, Tolerance, Tolerances
from meseta.report.views.wording import Terms

TERMS = Terms(
    title="Gripper",
    value="holding force",
    unit="N",
    units={"angle": "deg", "rate": "1/s"},
    at_least=11.0,
    at_most=19.0,
)
ANGLE = Axis("angle", "linear", tuple(float(value) for value in range(91)))
RATE = Axis("rate", "log", tuple(10 ** (-3 + i / 20) for i in range(61)))
SOLVENT = Axis("solvent", "choices", ("water", "ethanol", None, True))
LAYERS = Axis("layers", "linear", (1, 2, 3, 4, 5, 6))


def f_at(t):
    """A needle at 0.3 and a plateau at 0.7, of the share of the way along an axis."""
    return 10 + 9 * math.exp(-(((t - 0.3) / 0.05) ** 2)) + 6 * math.exp(-(((t - 0.7) / 0.2) ** 2))


def g_at(t):
    """The same, smoothed by hand."""
    return (
        10 + 3 * math.exp(-(((t - 0.3) / 0.13) ** 2)) + 5.4 * math.exp(-(((t - 0.7) / 0.23) ** 2))
    )


def shares(axis):
    return [i / (len(axis.values) - 1) for i in range(len(axis.values))]


def slice_of(axis, exact=True, sign=1.0):
    ways = shares(axis)
    f_mean = tuple(sign * f_at(t) for t in ways)
    g_mean = tuple(sign * g_at(t) for t in ways)
    best = [max(range(len(ways)), key=lambda i: sign * mean[i]) for mean in (f_mean, g_mean)]
    seen = [(7 * i + 3) % len(ways) for i in range(12)]
    return Slice(
        axis=axis,
        f_mean=f_mean,
        f_std=tuple(0.3 + 0.9 * abs(math.sin(9 * t)) for t in ways),
        g_mean=g_mean,
        g_std=tuple(0.2 + 0.3 * abs(math.sin(7 * t)) for t in ways),
        robust=Mark(axis.values[best[1]], g_mean[best[1]]),
        nominal=Mark(axis.values[best[0]], f_mean[best[0]]),
        data=tuple(
            PlottedTrial(
                i, axis.values[k], f_mean[k] + 0.1 * (-1) ** i, f_mean[k] + 0.1 * (-1) ** i
            )
            for i, k in enumerate(seen)
        ),
        exact=exact,
    )


def map_of(x, y, exact=True):
    f_mean = tuple(tuple(f_at(t) - 4 * (u - 0.4) ** 2 for t in shares(x)) for u in shares(y))
    g_mean = tuple(tuple(g_at(t) - 3 * (u - 0.5) ** 2 for t in shares(x)) for u in shares(y))
    std = tuple(tuple(0.5 for _ in x.values) for _ in y.values)
    seen = [((7 * i + 3) % len(x.values), (5 * i + 2) % len(y.values)) for i in range(14)]
    return Map(
        x=x,
        y=y,
        f_mean=f_mean,
        f_std=std,
        g_mean=g_mean,
        g_std=std,
        robust=Mark(x.values[7 * (len(x.values) - 1) // 10], y.values[len(y.values) // 2]),
        nominal=Mark(x.values[3 * (len(x.values) - 1) // 10], y.values[2 * len(y.values) // 5]),
        data=tuple(
            PlottedTrial(i, x.values[k], y.values[m], f_mean[m][k]) for i, (k, m) in enumerate(seen)
        ),
        exact=exact,
    )


def next_of(axis):
    curve = tuple(math.exp(-(((t - 0.55) / 0.15) ** 2)) for t in shares(axis))
    chosen = axis.values[curve.index(max(curve))]
    return NextPoint("rkg", {axis.name: chosen}, axis, curve)


def progress_of(sign=1.0):
    counts = tuple(range(1, 31))
    return Progress(
        evaluations=counts,
        params=tuple({"angle": 90 * (1 - 1 / n)} for n in counts),
        best=tuple(Estimate(sign * (16 - 5 / n), 2 / math.sqrt(n)) for n in counts),
    )


def with_interval(value, reach):
    return SampledEstimate(value, value - reach, value + 1.5 * reach)


def outcomes_of(spec=True):
    edges = tuple(8 + 0.5 * i for i in range(25))
    middle = [(a + b) / 2 for a, b in pairwise(edges)]
    heights = [
        [math.exp(-(((x - at) / width) ** 2)) for x in middle] for at, width in ((15, 1), (13, 3.5))
    ]
    robust, nominal = (
        tuple(scale * h / sum(row) for h in row)
        for row, scale in zip(heights, (1.0, 0.975), strict=True)
    )
    each = [
        Outcomes(
            name=name,
            values=(at - 1, at, at + 1),
            quantiles=tuple(with_interval(at + level, 0.2) for level in LEVELS),
            std=with_interval(std, 0.1),
            meets=with_interval(meets, 0.01) if spec else None,
        )
        for name, at, std, meets in (
            ("robust optimum", 15.0, 0.7, 0.998),
            ("nominal optimum", 13.0, 2.5, 0.742),
        )
    ]
    bands = [
        (tuple(0.8 * v for v in row), tuple(1.2 * v for v in row)) for row in (robust, nominal)
    ]
    return OutcomesOfBoth(each[0], each[1], edges, robust, nominal, (0.0, 0.025), *bands)


def tolerances_of(names):
    return Tolerances(
        tuple(
            Tolerance(
                name=name,
                law="Normal(1.5)",
                std=1.5,
                log=False,
                factors=FACTORS,
                best=tuple(
                    Estimate(15.4 - 2 * (factor - 1) * math.exp(-i), 0.2 + 0.2 * factor)
                    for factor in FACTORS
                ),
                params=tuple({name: 1.0} for _ in FACTORS),
                kept=tuple(15.0 for _ in FACTORS),
                halving=Estimate(math.exp(-i), 0.12 + 0.05 * (i % 3)),
                slope=0.1,
                alone=with_interval(math.exp(-i) / 2, 0.05),
                total=with_interval(math.exp(-i) / 2, 0.05),
            )
            for i, name in enumerate(names)
        ),
        (),
    )


def left_out():
    observed = tuple(10 + 0.5 * i for i in range(16))
    off = [0.3 * math.sin(5 * i) for i in range(16)]
    off[4] = 3.0
    predicted = tuple(
        Estimate(y + e, 0.4 + 0.02 * i) for i, (y, e) in enumerate(zip(observed, off, strict=True))
    )
    return LeaveOneOut(tuple(range(16)), observed, predicted, covered=15 / 16, explained=0.874)


def search_of(num=24):
    rows = []
    for i in range(num):
        params = {
            "angle": (37 * i % 91) * 1.0,
            "rate": 10 ** (-3 + (0.77 * i) % 3),
            "layers": 1 + (5 * i) % 6,
            "solvent": SOLVENT.values[i % 4],
        }
        state = {7: "failed", 15: "failed", num - 1: "pending"}.get(i, "complete")
        value = f_at(params["angle"] / 90) if state == "complete" else None
        rows.append(Trial(i, params, value, state, "method"))
    return Search(progress_of(), tuple(rows), left_out(), (), ())


def landscape_of(*axes):
    slices = tuple(slice_of(axis, exact=len(axes) == 1) for axis in axes)
    maps = (map_of(axes[0], axes[1], exact=len(axes) == 2),) if len(axes) > 1 else ()
    return Landscape(slices, maps, 0, next_of(axes[0]) if len(axes) == 1 else None)


def report_of(*axes):
    return Report(
        terms=TERMS,
        maximize=True,
        method="rkg",
        kernel="se",
        parameters=tuple(axis.name for axis in axes),
        noise=(("angle", "Normal(1.5)"),),
        complete=21,
        failed=2,
        pending=1,
        answer=None,
        outcomes=outcomes_of(),
        tolerances=tolerances_of(["angle"]),
        landscape=landscape_of(*axes),
        search=search_of(),
    )


def renamed(view, name):
    """A slice whose parameter has another name."""
    return replace(view, axis=replace(view.axis, name=name))
