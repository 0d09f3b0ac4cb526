"""A plot as a piece of the page: its data, a summary for those who do not see it, a caption."""

import json
import math
from typing import Any, Literal

import plotly.graph_objects as go

from meseta.report.page.markup import Markup, element
from meseta.report.page.packing import packed

DIGITS = 6  # of plotted numbers, beyond what their common offset takes


def plot(
    figure: go.Figure, summary: str, caption: str, size: Literal["wide", "small"] = "wide"
) -> Markup:
    """Drawn by the script of the page, from the data beside it."""
    plain = figure.to_plotly_json()
    layout = dict(plain["layout"])
    layout.pop("template", None)  # that of the theme takes its place
    data = packed(_json({"data": plain["data"], "layout": layout}))
    chart = element(
        "div", class_="chart", role="img", aria_label=summary, style=f"height: {layout['height']}px"
    )
    script = element("script", data, type="text/plain")
    return element("figure", chart, script, element("figcaption", caption), class_=f"plot {size}")


def _json(value: object) -> str:
    return json.dumps(_short(value), allow_nan=False, separators=(",", ":"))


def _short(value: Any) -> Any:
    """Without digits that nobody sees, and without NaN, which JSON does not know."""
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
    """Numbers around a million that differ by one keep the digits by which they differ."""
    finite = [value for value in values if math.isfinite(value)]
    span = max(finite, default=0.0) - min(finite, default=0.0)
    largest = max(map(abs, finite), default=0.0)
    if not span or not math.isfinite(span):
        return [value if math.isfinite(value) else None for value in values]
    digits = DIGITS + max(0, math.ceil(math.log10(largest / span)))
    return [float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values]
