"""f and g along each parameter, and over pairs of them."""

from meseta.report.page.chart import plot
from meseta.report.page.figures_landscape import map_figures, slice_figure
from meseta.report.page.markup import Markup, element, together
from meseta.report.page.numbers import number, setting
from meseta.report.views.landscape import Landscape, Map, Slice
from meseta.report.views.report import Report
from meseta.report.views.terms import Terms


def landscape_tab(report: Report) -> Markup:
    landscape, terms = report.landscape, report.terms
    if landscape is None:
        return element("p", "There is no model yet, so that there is no landscape to show.")
    return together(_slices(landscape, terms), _maps(landscape, terms))


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
    heading = "Along the parameter" if alone else "Along each parameter"
    return element(
        "section",
        element("h3", heading),
        element("div", plots, class_="column" if alone else "grid"),
    )


def _caption(each: Slice, landscape: Landscape, alone: bool) -> str:
    text = (
        f"Lines show the means, bands the 95 % intervals along {each.axis.name}: dashed for the "
        "unperturbed value, solid for the value expected in use."
    )
    if each.axis.scale == "choices":
        text = (
            f"Symbols show the means, bars the 95 % intervals for each choice of {each.axis.name}: "
            "diamonds for the unperturbed value, stars for the value expected in use."
        )
    if not each.exact:
        text += (
            " The other parameters are as in the robust optimum; evaluations (hollow) had others, "
            "and need not lie near the lines."
        )
    if alone and landscape.next_point is not None and landscape.next_point.axis is not None:
        text += " Below, where the next evaluation would tell most."
    return text


def _told(each: Slice, terms: Terms) -> str:
    name, unit = each.axis.name, terms.unit_of(each.axis.name)
    return (
        f"{terms.value} along {name}: the robust optimum is at {setting(each.robust.x, unit)}, "
        f"where {number(each.robust.y, terms.unit)} is expected in use; the nominal optimum is at "
        f"{setting(each.nominal.x, unit)}, with {number(each.nominal.y, terms.unit)} unperturbed."
    )


def _maps(landscape: Landscape, terms: Terms) -> Markup | None:
    if not landscape.maps:
        return None
    pairs = [_map(each, terms) for each in landscape.maps]
    left = landscape.left_out
    note = (
        element("p", f"{left} more pair{'s' if left > 1 else ''} of parameters without a map.")
        if left
        else None
    )
    return element("section", element("h3", "Over two parameters"), pairs, note)


def _map(map_: Map, terms: Terms) -> Markup:
    on_paper, in_use = map_figures(map_, terms)
    x, y = map_.x.name, map_.y.name
    where = (
        f"The robust optimum is at {setting(map_.robust.x, terms.unit_of(x))}, "
        f"{setting(map_.robust.y, terms.unit_of(y))}; the nominal one at "
        f"{setting(map_.nominal.x, terms.unit_of(x))}, "
        f"{setting(map_.nominal.y, terms.unit_of(y))}."
    )
    named = f"{terms.value} ({terms.unit})" if terms.unit else terms.value
    rest = "" if map_.exact else " The other parameters are as in the robust optimum."
    return element(
        "div",
        element("h4", f"{named} over {x} and {y}"),
        element(
            "div",
            plot(
                on_paper,
                f"Map of unperturbed {terms.value} over {x} and {y}. {where}",
                "Unperturbed (f): bright is large, circles are evaluations, the diamond is the "
                f"nominal and the star the robust optimum.{rest}",
                "small",
            ),
            plot(
                in_use,
                f"Map of {terms.value} in use over {x} and {y}. {where}",
                "In use (g): the same under the noise, in the same colours; where the two maps "
                "differ, the noise matters.",
                "small",
            ),
            class_="grid pair",
        ),
    )
