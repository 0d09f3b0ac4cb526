"""The tab in which settings and tolerances can be moved, and all figures follow."""

import json
import math
from dataclasses import asdict
from typing import Any

from meseta.report.page.labels import label, parameter_title, value_title
from meseta.report.page.markup import Child, Markup, element, together
from meseta.report.page.packing import packed
from meseta.report.page.summary import specification
from meseta.report.page.theme import LIGHT, SCALE, translucent
from meseta.report.page.traces import OF_F, OF_G
from meseta.report.views.playground import Knob, Playground
from meseta.report.views.report import Report
from meseta.report.views.wording import Terms

STEPS = 1000  # of a slider over a range without steps
WIDEST = 2  # times the noise of today
HEIGHT = {"values": 300, "map": 420}


def play_tab(report: Report, ground: Playground | str) -> Markup:
    if isinstance(ground, str):
        return element("p", f"Nothing can be tried here: {ground}.")
    terms = report.terms
    lead = (
        "Move a setting or a tolerance, and all figures follow. The page computes them by itself, "
        "from the model of this report."
    )
    absent = (
        "This part needs JavaScript, and a browser that is not too old. The tables of the other "
        "parts have the figures of both optima."
    )
    return together(
        element("p", absent, class_="notice unplayed"),
        element("script", packed(_json(report, ground)), type="text/plain", id="playground"),
        element(
            "div",
            element("p", lead),
            element("p", class_="unseen", id="play-said", role="status", aria_live="polite"),
            element(
                "div",
                _figures(terms),
                _controls(ground, terms),
                _live("values", "Values in use at this design", _values_caption(terms)),
                _map(ground),
                class_="play",
            ),
            _remarks(ground),
            class_="played",
        ),
    )


def _figures(terms: Terms) -> Markup:
    """The figures at this design; the script fills them in."""
    shown = [
        ("robust", "Robust value (g)", "mean in use"),
        ("nominal", "Nominal value (f)", "without noise"),
    ]
    if terms.goal is not None:
        shown.append(("meets", "Meets the specification", specification(terms)))
    cells = [
        element(
            "div",
            element("dt", head),
            element("dd", element("output", id=f"play-{key}"), class_="figure"),
            element("dd", small, class_="remark what"),
            element("dd", id=f"play-{key}-more", class_="remark"),
        )
        for key, head, small in shown
    ]
    return element("dl", cells, class_="figures")


def _controls(ground: Playground, terms: Terms) -> Markup:
    settings = [_setting(i, k, terms) for i, k in enumerate(ground.knobs) if k.design]
    moved = [(i, knob) for i, knob in enumerate(ground.knobs) if knob.noisy and not knob.fixed]
    tolerances = [_tolerance(i, knob, terms) for i, knob in moved]
    buttons = [("robust", "Robust optimum"), ("nominal", "Nominal optimum"), ("reset", "Reset")]
    return element(
        "form",
        element(
            "div",
            [
                element("button", text, type="button", id=f"play-to-{key}", class_="pill")
                for key, text in buttons
            ],
            class_="buttons",
        ),
        element("fieldset", element("legend", "Settings"), settings),
        element(
            "fieldset",
            element("legend", "Tolerances"),
            element("p", "1 is the noise of today, 0 is none.", class_="remark"),
            tolerances,
        )
        if tolerances
        else None,
        _fixed(ground),
        class_="controls",
        autocomplete="off",
    )


def _setting(i: int, knob: Knob, terms: Terms) -> Markup:
    unit = terms.unit_of(knob.name)
    if knob.choices:
        options = [
            element("option", str(choice), value=place, selected=place == int(knob.robust))
            for place, choice in enumerate(knob.choices)
        ]
        return _knob(knob.name, f"set-{i}", element("select", options, id=f"set-{i}"))
    steps = STEPS if knob.step is None else round((knob.high - knob.low) / knob.step)
    return _knob(
        knob.name,
        f"set-{i}",
        element(
            "input",
            type="number",
            id=f"set-{i}-number",
            aria_label=f"{knob.name}, value",
            min=_plain(knob.low),
            max=_plain(knob.high),
            step="any" if knob.step is None else _plain(knob.step),
            value=_plain(knob.robust),
        ),
        element("span", unit, class_="unit") if unit else None,
        slider=element("input", type="range", id=f"set-{i}", min=0, max=steps, step=1),
    )


def _tolerance(i: int, knob: Knob, terms: Terms) -> Markup:
    return _knob(
        knob.name,
        f"tol-{i}",
        element("output", id=f"tol-{i}-width", class_="unit"),
        element(
            "input",
            type="number",
            id=f"tol-{i}-number",
            aria_label=f"{knob.name}, factor of the noise",
            min=0,
            max=WIDEST,
            step="0.05",
            value=1,
        ),
        slider=element(
            "input", type="range", id=f"tol-{i}", min=0, max=WIDEST, step="0.05", value=1
        ),
    )


def _knob(name: str, id_: str, *beside: Child, slider: Child = None) -> Markup:
    """A name, what is beside it, and the slider below."""
    head = element("div", element("label", name, for_=id_), element("span", *beside), class_="head")
    return element("div", head, slider, class_="knob")


def _fixed(ground: Playground) -> Markup | None:
    still = [knob.name for knob in ground.knobs if not knob.noisy]
    lines = [
        f"The tolerance of {knob.name} cannot be moved here, because {knob.fixed}."
        for knob in ground.knobs
        if knob.noisy and knob.fixed
    ]
    if still:
        lines.append(f"Without noise: {', '.join(still)}.")
    return element("p", " ".join(lines), class_="remark") if lines else None


def _live(key: str, told: str, caption: str) -> Markup:
    """A plot that the script makes."""
    chart = element(
        "div", class_="chart", role="img", aria_label=told, style=f"height: {HEIGHT[key]}px"
    )
    return element(
        "figure", chart, element("figcaption", caption), class_="plot wide", data_live=key
    )


def _map(ground: Playground) -> Markup:
    names = [(i, knob.name) for i, knob in enumerate(ground.knobs) if knob.design]
    choosers = []
    for key, words in (("across", "Along"), ("up", "and")):
        options = [element("option", name, value=i) for i, name in names]
        if key == "up":
            options.insert(0, element("option", "nothing else", value=-1))
        if key == "across" or len(names) > 1:
            choosers.append(
                element("label", f"{words} ", element("select", options, id=f"play-{key}"))
            )
    return element(
        "section",
        element("h3", "Around this design"),
        element("p", choosers, class_="choosers"),
        _live(
            "map",
            "The robust value around this design",
            "The robust value (g) under these tolerances. All other settings are as above. The "
            "ring is this design.",
        ),
    )


def _values_caption(terms: Terms) -> str:
    text = (
        "The values you will see in use, by the best guess of f. The outline is the robust "
        "optimum with the noise of today."
    )
    return text + (" Dotted lines are the limits." if terms.goal is not None else "")


def _remarks(ground: Playground) -> Markup | None:
    lines = [
        "Curves and intervals here take the hyper-parameters of the model as known. Those of the "
        "first part leave them open, and are wider."
    ]
    if not ground.parts[0].noise:
        lines.append(
            f"With {len(ground.data.counts)} values, intervals take too long for the page to "
            "compute by itself. The figures here have none."
        )
    if ground.averaged:
        lines.append(
            "Some values were measured while the noise acted unseen. The page averages over fewer "
            "draws of it, so its figures can differ slightly from those of the first part."
        )
    if ground.learned:
        lines.append(
            "A width of the noise was learned from measured deviations. It counts as known here, "
            "so intervals can be narrower than those of the first part."
        )
    if ground.ruled:
        lines.append("The study allows only some designs. The page does not check that.")
    if ground.noise.together:
        lines.append(
            "Some parameters share a noise that moves them together. Here the share of each is "
            "scaled alone, and averages are over 512 draws."
        )
    if any(each.place and each.place.edge != "allow" for each in ground.noise.columns):
        lines.append(
            "At the ends of ranges the page averages over 512 values of each noise, so its figures "
            "can differ in the last digit from those of the first part."
        )
    return element("ul", [element("li", line) for line in lines]) if lines else None


def plain(ground: Playground, terms: Terms) -> dict[str, Any]:
    """The model as model.js takes it."""
    knobs = [
        {**asdict(knob), "choices": len(knob.choices), **_words(knob, terms)}
        for knob in ground.knobs
    ]
    possible = [end if math.isfinite(end) else None for end in ground.possible]
    return {**asdict(ground), "possible": possible, "knobs": knobs}


def _json(report: Report, ground: Playground) -> str:
    terms = report.terms
    data = plain(ground, terms)
    data["words"] = {
        "value": label(terms.value),
        "title": value_title(terms),
        "unit": terms.unit,
        "at_least": terms.at_least,
        "at_most": terms.at_most,
    }
    if report.outcomes is not None and report.outcomes.robust.meets is not None:
        data["words"]["meets"] = asdict(report.outcomes.robust.meets)
    data["pair"] = _pair(report, ground)
    data["look"] = {
        "robust": LIGHT.robust,
        "band": translucent(LIGHT.robust),
        "nominal": LIGHT.nominal,
        "nominal_band": translucent(LIGHT.nominal),
        "soft": LIGHT.soft,
        "ink": LIGHT.ink,
        "panel": LIGHT.panel,
        "warning": LIGHT.warning,
        "scale": SCALE,
        "robust_symbol": OF_G.symbol,
        "nominal_symbol": OF_F.symbol,
        "height": HEIGHT,
    }
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def _words(knob: Knob, terms: Terms) -> dict[str, Any]:
    return {
        "title": parameter_title(knob.name, terms),
        "unit": terms.unit_of(knob.name),
        "labels": _distinct([label(str(choice), 20) for choice in knob.choices]),
    }


def _distinct(names: list[str]) -> list[str]:
    return [f"{name} [{i}]" if names.count(name) > 1 else name for i, name in enumerate(names, 1)]


def _pair(report: Report, ground: Playground) -> tuple[int, int]:
    """The parameters of the map to begin with: those along which g changes most."""
    chosen = [i for i, knob in enumerate(ground.knobs) if knob.design]
    maps = () if report.landscape is None else report.landscape.maps
    for each in maps:
        pair = [i for i in chosen if ground.knobs[i].name in (each.x.name, each.y.name)]
        if len(pair) == 2:
            return pair[0], pair[1]
    return chosen[0], chosen[1] if len(chosen) > 1 else -1


def _plain(value: float) -> str:
    return f"{value:.10g}"
