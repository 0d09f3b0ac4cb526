"""A plot on the page: its data, a caption, and a summary for readers who cannot see it."""

import json
import math
from typing import Any, Literal

import plotly.graph_objects as go

from meseta.report.page.markup import Markup, element
from meseta.report.page.packing import packed

DIGITS = 6  # digits of plotted numbers, after a part that all numbers share


def plot(
    figure: go.Figure, summary: str, caption: str, size: Literal["wide", "small"] = "wide"
) -> Markup:
    """A figure that the script of the page draws from the data beside it."""
    plain = figure.to_plotly_json()
    layout = dict(plain["layout"])
    layout.pop("template", None)  # the page has its own, light and dark
    data = packed(_json({"data": plain["data"], "layout": layout}))
    chart = element(
        "div", class_="chart", role="img", aria_label=summary, style=f"height: {layout['height']}px"
    )
    script = element("script", data, type="text/plain")
    return element("figure", chart, script, element("figcaption", caption), class_=f"plot {size}")


def _json(value: object) -> str:
    return json.dumps(_short(value), allow_nan=False, separators=(",", ":"))


def _short(value: Any) -> Any:
    """The same without digits that nobody sees, and with null for NaN, which JSON lacks."""
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(each, float) for each in value):
            return _rounded(value)
        return [_short(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _rounded(values: list[float] | tuple[float, ...]) -> list[float | None]:
    """Rounds, but keeps the digits by which numbers differ, such as 1000001 and 1000002."""
    finite = [value for value in values if math.isfinite(value)]
    span = max(finite, default=0.0) - min(finite, default=0.0)
    largest = max(map(abs, finite), default=0.0)
    if not span or not math.isfinite(span):
        return [value if math.isfinite(value) else None for value in values]
    digits = DIGITS + max(0, math.ceil(math.log10(largest / span)))
    return [float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values]
