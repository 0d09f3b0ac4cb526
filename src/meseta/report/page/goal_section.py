"""The part of the tolerances tab about the goal: loosening, money, and the operating window."""

from typing import Literal

from meseta.optimizer.allocation import NOTICED, Allocation
from meseta.optimizer.beyond import advice
from meseta.optimizer.record import Kept
from meseta.optimizer.window import Window
from meseta.report.page.html_table import remark, table
from meseta.report.page.markup import Markup, element, together
from meseta.report.page.numbers import (
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
        None if view.allocation is None else _money(view.allocation, view, terms),
        _window(view.window, terms),
    )


def _loosening(view: OfGoal, terms: Terms) -> Markup:
    rows = [
        (
            name,
            "several" if each.width is None else each.width.in_words(each.unit),
            "" if each.half is None else percent_with_interval(each.half),
            _far(each, "kept"),
            _far(each, "chosen"),
            _sentence(each.verdict),
        )
        for name, each in view.each.items()
    ]
    head = (
        "Parameter",
        "Width today",
        "Goal met with half the noise",
        "May be, design kept",
        "May be, design chosen anew",
        "Verdict",
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
            f"{today}The goal and all constraints are met today with a probability of "
            f"{percent(view.sure)}. Each noise is changed alone, as far as they are met with one "
            f"of {sure}; the best guess stands below. Widths are looked at from a tenth of today's "
            f"to {REACH:g} times as much.",
        ),
        table("Tolerances and the goal", head, rows, wide=True),
    )


def _far(each: ByGoal, what: Literal["kept", "chosen"]) -> Markup:
    if each.sure is None or each.guess is None:
        return together("a choice")
    both: list[float | None] = [getattr(part, what) for part in (each.sure, each.guess)]
    sure, guess = ("not met" if factor is None else each.times(factor) for factor in both)
    return together(sure, remark(f"best guess: {guess}"))


def _money(made: Allocation, view: OfGoal, terms: Terms) -> Markup:
    def width(name: str, times: float) -> str:
        of = view.each[name]
        assert of.width is not None  # it has a price
        return of.width.in_words(of.unit, times)

    rows = [
        (
            name,
            width(name, 1.0),
            "no price" if each.today_cost is None else plain(each.today_cost),
            width(name, each.factor),
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
