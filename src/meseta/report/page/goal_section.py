"""The part of the tolerances tab about the goal: loosening, money, and the operating window."""

from meseta.optimizer.allocation import NOTICED, Allocation
from meseta.optimizer.beyond import advice
from meseta.optimizer.loosened import Loosened
from meseta.optimizer.record import Kept
from meseta.optimizer.window import Window
from meseta.report.page.html_table import remark, table
from meseta.report.page.markup import Markup, element, together
from meseta.report.page.numbers import (
    number,
    percent,
    percent_with_interval,
    plain,
    setting,
)
from meseta.report.views.goal import MOST_SIDES, ByGoal, OfGoal
from meseta.report.views.wording import Terms
from meseta.space.price import REACH
from meseta.space.space import Design


def goal_section(view: OfGoal, terms: Terms) -> Markup:
    return together(
        _loosening(view, terms),
        None if view.allocation is None else _money(view.allocation, terms),
        _window(view.window, terms),
    )


def _loosening(view: OfGoal, terms: Terms) -> Markup:
    rows = [
        (
            name,
            "several" if each.width is None else _width(each.width, name, terms),
            "" if each.half is None else percent_with_interval(each.half),
            _far(each, "kept", name, terms),
            _far(each, "chosen", name, terms),
        )
        for name, each in view.each.items()
    ]
    head = (
        "Parameter",
        "Width today",
        "Goal met with half the noise",
        "May grow to, design kept",
        "May grow to, design chosen anew",
    )
    sure = percent(view.confidence)
    today = (
        ""
        if view.meets is None
        else f"Today the goal is met in {percent_with_interval(view.meets)} of the cases"
        f"{f', {view.scatter}' if view.scatter else ''}. "
    )
    return element(
        "section",
        element("h3", "How far tolerances may be loosened"),
        element(
            "p",
            f"{today}Each noise is changed alone. The goal and all constraints are still met "
            f"with a probability of {sure}; the best guess stands below. Widths are looked at from "
            f"a tenth of today's to {REACH:g} times as much. What the design of today allows is "
            "checked by sample paths; what another design would allow is an estimate.",
        ),
        table("Tolerances and the goal", head, rows, wide=True),
    )


def _width(width: float, name: str, terms: Terms) -> str:
    return number(width, terms.unit_of(name))


def _far(each: ByGoal, what: str, name: str, terms: Terms) -> Markup:
    if each.sure is None or each.guess is None:
        return together("a choice")
    sure, guess = (_one(part, what, each.width, name, terms) for part in (each.sure, each.guess))
    return together(sure, remark(f"best guess: {guess}"))


def _one(part: Loosened, what: str, width: float | None, name: str, terms: Terms) -> str:
    factor: float | None = getattr(part, what)
    if factor is None:
        return "not met"
    most = "at least " if factor >= REACH else ""
    times = f"{most}{plain(factor, 3)} times"
    return times if width is None else f"{times}, {_width(plain_width(factor, width), name, terms)}"


def plain_width(factor: float, width: float) -> float:
    return float(f"{factor * width:.3g}")


def _money(made: Allocation, terms: Terms) -> Markup:
    rows = [
        (
            name,
            _width(each.today, name, terms),
            "no price" if each.today_cost is None else plain(each.today_cost),
            _width(each.width, name, terms),
            plain(each.cost),
        )
        for name, each in made.tolerances.items()
    ]
    before = made.today_cost
    rows.append(("All", "", "no price" if before is None else plain(before), "", plain(made.cost)))
    head = ("Parameter", "Width today", "Cost today", "Width", "Cost")
    return element(
        "section",
        element("h3", "The cheapest tolerances"),
        element("p", f"{_sentence(made.verdict)} Noise without a price stays as it is."),
        table("Tolerances by their cost", head, rows),
        _designs((("Today", made.today, made.today_kept), ("Then", made.params, made.kept)), terms),
        None
        if made.beyond <= NOTICED
        else element(
            "p",
            f"{percent(made.beyond)} of this noise falls beyond everything that was evaluated, "
            f"where the model extrapolates. {advice(made.beyond, made.outside)}.",
        ),
        _experiment(made.experiment, terms),
    )


def _window(made: Window | None, terms: Terms) -> Markup:
    if made is None:
        inner = element(
            "p",
            f"A report looks for the window of one to {MOST_SIDES} settings that take any value. "
            "The command meseta window looks for it among more of them.",
        )
        return element("section", element("h3", "Operating window"), inner)
    rows: list[tuple[str, Markup | str, Markup | str, str]] = [
        (
            name,
            together(setting(side.low, terms.unit_of(name)), _end(side.at_ends[0])),
            together(setting(side.high, terms.unit_of(name)), _end(side.at_ends[1])),
            percent(side.share),
        )
        for name, side in made.sides.items()
    ]
    rows += [
        (name, setting(value, terms.unit_of(name)), setting(value, terms.unit_of(name)), "fixed")
        for name, value in made.fixed.items()
        if made.sides
    ]
    designs = [("Robust optimum", made.params, made.kept)]
    if made.found:
        designs.append(("Worst place found", made.worst, made.worst_kept))
    return element(
        "section",
        element("h3", "Operating window"),
        element(
            "p",
            f"{_sentence(made.verdict)} The confidence is that of each single setting in the "
            "window, not of all of them at once.",
        ),
        table("Operating window", ("Parameter", "From", "To", "Share of the range"), rows)
        if rows
        else None,
        _designs(tuple(designs), terms),
        _experiment(made.experiment, terms),
    )


def _end(at_end: bool) -> Markup | None:
    return remark("end of the range") if at_end else None


def _designs(designs: tuple[tuple[str, Design, object], ...], terms: Terms) -> Markup:
    names = list(dict.fromkeys(name for _, design, _ in designs for name in design))
    rows: list[tuple[str, ...]] = [
        (
            name,
            *(
                setting(design[name], terms.unit_of(name)) if name in design else ""
                for _, design, _ in designs
            ),
        )
        for name in names
    ]
    every = [kept for _, _, kept in designs if isinstance(kept, dict)]
    for name in dict.fromkeys(name for kept in every for name in kept):
        rows.append((f"{name}: goal met in", *(_kept(kept[name]) for kept in every)))
    head = ("", *(title for title, _, _ in designs))
    return table("Designs and how they meet the goal", head, rows, wide=True)


def _kept(kept: Kept) -> str:
    if kept.share is None:
        return "not known"
    low, high = kept.interval
    asked = percent(kept.constraint.probability)
    return f"{percent(kept.share)} ({percent(low)} to {percent(high)}), asked: {asked}"


def _experiment(design: Design | None, terms: Terms) -> Markup | None:
    if design is None:
        return None
    values = ", ".join(f"{n} = {setting(v, terms.unit_of(n))}" for n, v in design.items())
    return element("p", f"An experiment that would tell most: {values}.")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
