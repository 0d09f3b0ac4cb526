"""The tab of f and g along each parameter and over pairs of parameters."""

from meseta.report.page.chart import plot
from meseta.report.page.figures_landscape import cut_off, map_figures, slice_figure
from meseta.report.page.markup import Markup, element, together
from meseta.report.page.numbers import number, setting
from meseta.report.views.landscape import Landscape, Map, Slice
from meseta.report.views.report import Report
from meseta.report.views.wording import Terms


def landscape_tab(report: Report) -> Markup:
    landscape, terms = report.landscape, report.terms
    if landscape is None:
        return element("p", "There is no model yet, so there is no landscape to show.")
    return together(_slices(landscape, terms), _maps(landscape, report))


def _slices(landscape: Landscape, terms: Terms) -> Markup:
    alone = len(landscape.slices) == 1
    plots = [
        plot(
            slice_figure(each, terms, landscape.next_point if alone else None),
            _told(each, terms),
            _caption(each, landscape, alone),
            "wide" if alone else "small",
        )
        for each in landscape.slices
    ]
    heading = "f and g along the parameter" if alone else "f and g along each parameter"
    return element(
        "section",
        element("h3", heading),
        element("div", plots, class_="column" if alone else "grid"),
    )


def _caption(each: Slice, landscape: Landscape, alone: bool) -> str:
    text = (
        "The dashed line is the nominal value (f), the solid line is the robust value (g). Bands "
        "are 95 % intervals."
    )
    if each.axis.scale == "choices":
        text = (
            f"For each choice of {each.axis.name}, the diamond is the nominal value (f) and the "
            "star is the robust value (g). Bars are 95 % intervals."
        )
    if not each.exact:
        text += (
            " The other parameters are those of the robust optimum. The evaluations (hollow "
            "circles) have other values there and need not lie near the lines."
        )
    if alone and landscape.next_point is not None and landscape.next_point.axis is not None:
        text += " The panel below shows where the next evaluation is most useful."
    beyond = cut_off(each)
    if beyond:
        text += (
            f" {beyond} evaluation{'s lie' if beyond > 1 else ' lies'} beyond the plot, which "
            "would be flat with all of them; the table of trials has every value."
        )
    return text


def _told(each: Slice, terms: Terms) -> str:
    name, unit = each.axis.name, terms.unit_of(each.axis.name)
    return (
        f"{terms.value} along {name}: the robust optimum is at {setting(each.robust.x, unit)}, "
        f"with the robust value {number(each.robust.y, terms.unit)}; the nominal optimum is at "
        f"{setting(each.nominal.x, unit)}, with the nominal value "
        f"{number(each.nominal.y, terms.unit)}."
    )


def _maps(landscape: Landscape, report: Report) -> Markup | None:
    if not landscape.maps:
        return None
    pairs = [_map(each, report) for each in landscape.maps]
    left = landscape.left_out
    note = (
        element("p", f"{left} more pair{'s have' if left > 1 else ' has'} no map.")
        if left
        else None
    )
    return element("section", element("h3", "f and g over two parameters"), pairs, note)


def _map(map_: Map, report: Report) -> Markup:
    terms = report.terms
    by = None if report.answer is None else report.answer.measured
    maximize = report.maximize if by is None or by.of_values else None  # of a target neither
    nominal, robust = map_figures(map_, terms, maximize)
    colours = {
        True: "Bright colours are good values",
        False: "Dark colours are good values",
        None: "Bright colours are large values",
    }[maximize]
    x, y = map_.x.name, map_.y.name
    where = (
        f"The robust optimum is at {setting(map_.robust.x, terms.unit_of(x))}, "
        f"{setting(map_.robust.y, terms.unit_of(y))}; the nominal optimum is at "
        f"{setting(map_.nominal.x, terms.unit_of(x))}, "
        f"{setting(map_.nominal.y, terms.unit_of(y))}."
    )
    named = f"{terms.value} ({terms.unit})" if terms.unit else terms.value
    rest = "" if map_.exact else " The other parameters are those of the robust optimum."
    return element(
        "div",
        element("h4", f"{named} over {x} and {y}"),
        element(
            "div",
            plot(
                nominal,
                f"Map of the nominal value of {terms.value} over {x} and {y}. {where}",
                f"Nominal value (f). {colours}. Circles are evaluations, the "
                f"diamond is the nominal optimum and the star is the robust optimum.{rest}",
                "small",
            ),
            plot(
                robust,
                f"Map of the robust value of {terms.value} over {x} and {y}. {where}",
                "Robust value (g), in the same colours. Where the two maps differ, the noise "
                "matters.",
                "small",
            ),
            class_="grid pair",
        ),
    )
