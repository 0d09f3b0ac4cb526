"""Reports that no run made: plausible values of every shape, for tests of what draws them.

The landscape is a narrow peak beside a broad one, so that robust and nominal optimum differ.
Numbers need no origin here: a page shows what it is given.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from meseta.optimizer.record import Recommendation, Trial
from meseta.report.views.answer import Answer
from meseta.report.views.axis import Axis
from meseta.report.views.capability import Capability, CapabilityOfBoth
from meseta.report.views.deviations import Deviation
from meseta.report.views.estimate import Estimate, SampledEstimate
from meseta.report.views.health import Finding
from meseta.report.views.landscape import Landscape, Map, Mark, PlottedTrial, Slice
from meseta.report.views.next_point import NextPoint
from meseta.report.views.outcomes import LEVELS, Outcomes, OutcomesOfBoth
from meseta.report.views.profiles import Profile
from meseta.report.views.report import Report
from meseta.report.views.search import LeaveOneOut, Progress, Search
from meseta.report.views.stack_up import Spread, StackUp
from meseta.report.views.tolerances import FACTORS, Tolerance, Tolerances
from meseta.report.views.wording import Terms

EVIL = (
    "<script>window.hacked = 1</script>",
    "<b>x</b> %{y} &amp; {z}",
    "</script><img src=x onerror='window.hacked = 1'>",
)


@dataclass(frozen=True)
class Made:
    """A parameter, from 0 to 1 within."""

    name: str
    axis: Axis
    unit: str = ""

    def at(self, u):
        """The value that is so far along."""
        values = self.axis.values
        if self.axis.scale == "choices":
            return values[min(int(u * len(values)), len(values) - 1)]
        low, high = values[0], values[-1]
        if self.axis.scale == "log":
            return float(low * (high / low) ** u)
        return float(low + (high - low) * u)


def numeric(name, low, high, unit="", log=False, count=81):
    values = np.geomspace(low, high, count) if log else np.linspace(low, high, count)
    return Made(name, Axis(name, "log" if log else "linear", tuple(values.tolist())), unit)


def choice(name, *choices):
    return Made(name, Axis(name, "choices", choices))


def one_parameter():
    made = [numeric("gripper opening", 0.0, 12.0, "mm")]
    return report(made, title="Gripper", value="holding force", unit="N", trials=14)


def two_parameters():
    made = [numeric("speed", 5.0, 60.0, "mm/s"), numeric("temperature", 180.0, 240.0, "°C")]
    notes = {"speed": "of the nozzle, as set on the controller"}
    note = "Second batch of filament.\nMeasured on the large press."
    return report(
        made, title="Extrusion", value="strength", unit="MPa", notes=notes, note=note, trials=40
    )


def six_parameters():
    names = ("flow", "pressure", "angle", "distance between nozzle and bed", "feed", "cooling")
    units = ("ml/min", "bar", "°", "mm", "mm/s", "%")
    made = [
        numeric(n, 1.0, 10.0 * (i + 1), u, count=41)
        for i, (n, u) in enumerate(zip(names, units, strict=True))
    ]
    return report(made, title="Coating line", value="yield", unit="%", trials=250)


def minimised():
    """Small values are wanted, within limits; a logarithmic axis, and choices."""
    made = [
        numeric("learning rate", 1e-6, 1e-1, "1/s", log=True),
        choice("solvent", "water", "ethanol", "isopropyl alcohol", None, True),
        numeric("depth", 1.0, 30.0),
    ]
    return report(
        made,
        title="Loss of a network",
        value="loss",
        maximize=False,
        at_least=0.0,
        at_most=2.5,
        trials=30,
    )


def evil():
    """Names that would do harm if they were markup."""
    made = [
        numeric(EVIL[0], 0.0, 1.0, EVIL[1]),
        Made(EVIL[1], Axis(EVIL[1], "choices", (*EVIL, 1, "1")), EVIL[2]),
        numeric(EVIL[2], 1.0, 2.0, "a\u2028b"),
    ]
    return report(
        made,
        title=EVIL[0],
        value=EVIL[2],
        unit=EVIL[1],
        notes={EVIL[0]: EVIL[2]},
        note=EVIL[2],
        at_least=0.1,
        trials=20,
        text=EVIL[2],
    )


def nothing_finished():
    full = two_parameters()
    trials = tuple(
        replace(
            each,
            value=None,
            state="failed" if i < 3 else "pending",
            error="it jammed" if i < 3 else None,
        )
        for i, each in enumerate(full.search.trials[:5])
    )
    return replace(
        full,
        complete=0,
        failed=3,
        pending=2,
        answer=None,
        outcomes=None,
        tolerances=None,
        landscape=None,
        search=Search(None, trials, None, (), ()),
    )


def bare():
    """An answer, and nothing that may be missing."""
    full = two_parameters()
    search = replace(full.search, progress=None, fit=None, deviations=(), findings=())
    return replace(full, outcomes=None, tolerances=None, landscape=None, noise=(), search=search)


def twelve_parameters():
    made = [numeric(f"x{i}", -1.0, 1.0, count=21) for i in range(12)]
    return report(made, title="Twelve", value="f", trials=1000)


ALL = {
    "one": one_parameter,
    "two": two_parameters,
    "six": six_parameters,
    "minimised": minimised,
    "evil": evil,
    "nothing": nothing_finished,
    "bare": bare,
    "twelve": twelve_parameters,
}


def report(
    made,
    *,
    title,
    value,
    trials,
    unit="",
    maximize=True,
    notes=None,
    note="",
    at_least=None,
    at_most=None,
    text="no restart was dropped",
):
    sign = 1.0 if maximize else -1.0
    units = {each.name: each.unit for each in made if each.unit}
    terms = Terms(title, value, unit, units, notes or {}, note, at_least, at_most)
    robust = {each.name: each.at(0.68) for each in made}
    nominal = {each.name: each.at(0.25) for each in made}
    evaluations = _evaluations(made, sign, trials, text)
    return Report(
        terms=terms,
        maximize=maximize,
        method="rkg",
        kernel="se",
        parameters=tuple(each.name for each in made),
        noise=tuple((each.name, "Normal(0.1)") for each in made),
        complete=sum(each.state == "complete" for each in evaluations),
        failed=sum(each.state == "failed" for each in evaluations),
        pending=sum(each.state == "pending" for each in evaluations),
        answer=Answer(
            maximize,
            _recommended(robust, sign * 1.8384, 0.0061, sign * 1.9012, 0.0043),
            _recommended(nominal, sign * 1.5921, 0.0322, sign * 2.0476, 0.0151),
            Estimate(0.2463, 0.0328),
            Estimate(0.1464, 0.0157),
        ),
        outcomes=_outcomes(sign, terms.goal is not None),
        tolerances=_tolerances(made, robust, sign, text),
        landscape=_landscape(made, evaluations, sign),
        search=_search(made, robust, evaluations, sign, text),
        capability=_capability(made, terms),
    )


def _f(u):
    return (
        0.4
        + 1.6 * math.exp(-(((u - 0.25) / 0.06) ** 2))
        + 1.5 * math.exp(-(((u - 0.68) / 0.2) ** 2))
    )


def _g(u):
    return (
        0.38
        + 0.9 * math.exp(-(((u - 0.25) / 0.1) ** 2))
        + 1.46 * math.exp(-(((u - 0.68) / 0.22) ** 2))
    )


def _fractions(axis):
    count = len(axis.values)
    return (
        [(i + 0.5) / count for i in range(count)]
        if axis.scale == "choices"
        else np.linspace(0, 1, count).tolist()
    )


def _evaluations(made, sign, trials, text):
    rng = np.random.default_rng(3)
    for_all = []
    for number in range(trials):
        u = rng.uniform(size=len(made))
        params = {each.name: each.at(at) for each, at in zip(made, u, strict=True)}
        planned = None
        if number % 6 == 5 and made[0].axis.scale != "choices":
            planned = params | {made[0].name: params[made[0].name] * 1.01}
        state = "failed" if number % 13 == 7 else "pending" if number >= trials - 1 else "complete"
        result = sign * (np.mean([_f(at) for at in u]) + 0.02 * rng.normal())
        for_all.append(
            Trial(
                number,
                params,
                float(result) if state == "complete" else None,
                state,
                "space-filling" if number < 4 else "method",
                f"RuntimeError: {text}" if state == "failed" else None,
                planned,
            )
        )
    return tuple(for_all)


def _recommended(params, mean, std, *nominal):
    interval = mean - 1.96 * std, mean + 1.96 * std
    return Recommendation(params, mean, std, *nominal, interval=interval)


def _outcomes(sign, has_spec):
    rng = np.random.default_rng(5)

    def of(name, values):
        values = np.sort(values)
        quantiles = tuple(
            SampledEstimate(float(q), float(q) - 0.02, float(q) + 0.03)
            for q in np.quantile(values, LEVELS)
        )
        spread = float(values.std())
        meets = SampledEstimate(0.971, 0.953, 0.984) if has_spec else None
        shown = SampledEstimate(spread, 0.9 * spread, 1.12 * spread)
        return Outcomes(name, tuple(values.tolist()), quantiles, shown, meets)

    robust = of("robust optimum", sign * (1.9 - np.abs(rng.normal(0, 0.08, 400))))
    nominal = of("nominal optimum", sign * (2.05 - np.abs(rng.normal(0, 0.5, 400))))
    low, high = sorted((sign * 0.9, sign * 2.1))
    edges = np.linspace(low, high, 31)
    shares = [np.histogram(each.values, edges)[0] / 400 for each in (robust, nominal)]
    return OutcomesOfBoth(
        robust,
        nominal,
        tuple(edges.tolist()),
        tuple(shares[0].tolist()),
        tuple(shares[1].tolist()),
        (float(1 - shares[0].sum()), float(1 - shares[1].sum())),
        *((tuple((0.8 * row).tolist()), tuple((1.2 * row).tolist())) for row in shares),
    )


def _capability(made, terms):
    goal = terms.goal
    if goal is None:
        return None

    def of(value):
        return SampledEstimate(value, 0.8 * value, 1.3 * value)

    low, high = math.isfinite(goal.low), math.isfinite(goal.high)
    cp = of(1.21) if low and high else None
    one = Capability(
        name="robust optimum",
        inside=SampledEstimate(0.971, 0.953, 0.984),
        outside=SampledEstimate(0.029, 0.016, 0.047),
        below=0.028 if low else None,
        above=0.001 if high else None,
        mean=of(1.838),
        std=of(0.08),
        cp=cp,
        cpk=of(0.9),
        ppk=of(math.inf),
        cpm=cp,
        normal=False,
    )
    profiles = []
    for each in made:
        shares = tuple(1e-9 + 0.9 * abs(u - 0.6) ** 3 for u in _fractions(each.axis))
        profiles.append(
            Profile(each.axis, shares, tuple(s / 2 for s in shares), tuple(1.1 * s for s in shares))
        )
    spread = Spread(1.2, 2.4, False)
    paper = StackUp(spread, replace(spread, meets=True), spread, (made[0].name,))
    other = replace(one, name="nominal optimum", normal=True)
    return CapabilityOfBoth(goal, None, one, other, paper, tuple(profiles))


def _tolerances(made, robust, sign, text):
    each = []
    for i, one in enumerate(made):
        drop = 0.12 / (i + 1)
        choices = one.axis.scale == "choices"
        each.append(
            Tolerance(
                one.name,
                "Normal(0.1)",
                None if choices else 0.1,
                one.axis.scale == "log",
                FACTORS,
                tuple(Estimate(sign * (1.96 - drop * k**1.5), 0.004 + 0.006 * k) for k in FACTORS),
                tuple(robust | {one.name: one.at(0.5 + 0.18 * min(k, 1.5))} for k in FACTORS),
                tuple(sign * (1.95 - drop * k**1.5 * 1.25) for k in FACTORS),
                Estimate(0.65 * drop, 0.012),
                None if choices else -0.0213 / (i + 1),
                SampledEstimate(0.6 / (i + 1), 0.5 / (i + 1), 0.68 / (i + 1)),
                SampledEstimate(0.7 / (i + 1), 0.6 / (i + 1), 0.78 / (i + 1)),
            )
        )
    return Tolerances(tuple(each), (f"All share one shift: {text}",))


def _landscape(made, evaluations, sign):
    complete = [each for each in evaluations if each.state == "complete"]
    others = [sign * np.mean([_g(0.68)] * (len(made) - 1)) if len(made) > 1 else 0.0]
    share = 1 / len(made)

    def mixed(value):
        return float(sign * value * share + others[0] * (1 - share))

    slices = []
    for one in made:
        u = _fractions(one.axis)
        slices.append(
            Slice(
                one.axis,
                tuple(mixed(_f(at)) for at in u),
                tuple(0.02 + 0.05 * abs(math.sin(9 * at)) for at in u),
                tuple(mixed(_g(at)) for at in u),
                tuple(0.015 + 0.02 * abs(math.sin(9 * at)) for at in u),
                Mark(one.at(0.68), mixed(_g(0.68))),
                Mark(one.at(0.25), mixed(_f(0.25))),
                tuple(
                    PlottedTrial(e.number, e.params[one.name], e.value, e.value) for e in complete
                ),
                len(made) == 1,
            )
        )
    pairs = [(a, b) for i, a in enumerate(made) for b in made[i + 1 :]]
    first = made[0]
    curve = tuple(math.exp(-(((at - 0.6) / 0.15) ** 2)) for at in _fractions(first.axis))
    method = NextPoint(
        "rkg",
        {each.name: each.at(0.6) for each in made},
        first.axis if len(made) == 1 else None,
        curve if len(made) == 1 else (),
    )
    maps = tuple(_map(a, b, complete, sign, len(made) == 2) for a, b in pairs[:6])
    return Landscape(tuple(slices), maps, max(0, len(pairs) - 6), method)


def _map(a, b, complete, sign, exact):
    coarse = [
        replace(each.axis, values=each.axis.values[::2])
        if each.axis.scale != "choices"
        else each.axis
        for each in (a, b)
    ]
    u, v = (_fractions(axis) for axis in coarse)

    def rows(of):
        return tuple(tuple(float(sign * (of(x) + of(y)) / 2) for x in u) for y in v)

    std = tuple(tuple(0.03 for _ in u) for _ in v)
    return Map(
        *coarse,
        rows(_f),
        std,
        rows(_g),
        std,
        Mark(a.at(0.68), b.at(0.68)),
        Mark(a.at(0.25), b.at(0.25)),
        tuple(
            PlottedTrial(e.number, e.params[a.name], e.params[b.name], e.value) for e in complete
        ),
        exact,
    )


def _search(made, robust, evaluations, sign, text):
    complete = [each for each in evaluations if each.state == "complete"]
    counts = tuple(sorted({int(c) for c in np.linspace(2, len(complete), 15)}))
    rng = np.random.default_rng(7)
    fit = LeaveOneOut(
        tuple(each.number for each in complete),
        tuple(each.value for each in complete),
        tuple(Estimate(each.value + 0.08 * float(rng.normal()), 0.06) for each in complete),
        0.934,
        0.871,
    )
    return Search(
        Progress(
            counts,
            tuple(
                robust | {each.name: each.at(0.68 - 0.4 / c**0.7) for each in made} for c in counts
            ),
            tuple(Estimate(sign * (1.84 - 0.9 / c), 0.5 / c) for c in counts),
        ),
        evaluations,
        fit,
        (
            Deviation(made[0].name, 6, 0.0123, 0.217, 0.0, 0.1, 2.17, (1.4, 4.78)),
            Deviation(made[-1].name, 6, 0.01, 0.2, 0.0, 0.0, math.nan, (math.nan, math.nan)),
        ),
        (
            Finding("fine", "fit", "the hyper-parameters lie within their bounds"),
            Finding("note", "expectation propagation", text),
            Finding("warning", "search", "the last three recommendations still moved"),
        ),
    )
