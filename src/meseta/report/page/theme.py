"""Light and dark colours of the page and its plots.

Robust and nominal are vermilion and blue (Okabe and Ito), which colour-blind readers can tell
apart; dashes and symbols differ, too.
"""

from dataclasses import dataclass, fields
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Palette:
    """The colours of a theme. Text has a contrast of at least 4.5, lines of at least 3."""

    ground: str
    panel: str  # background of plots and tables
    ink: str
    soft: str  # less important text
    line: str
    accent: str  # links, focus, the open tab
    warning: str
    robust: str
    nominal: str
    third: str
    fourth: str
    fifth: str
    sixth: str

    @property
    def series(self) -> tuple[str, ...]:
        """The colours of lines of parameters."""
        return (self.nominal, self.robust, self.third, self.fourth, self.fifth, self.sixth)


LIGHT = Palette(
    ground="#f6f7f8",
    panel="#ffffff",
    ink="#1b2024",
    soft="#525c65",
    line="#d5dade",
    accent="#0b5a8f",
    warning="#9a3412",
    robust="#c64f00",
    nominal="#0069a8",
    third="#007a5a",
    fourth="#a8427d",
    fifth="#7a6200",
    sixth="#555f69",
)
DARK = Palette(
    ground="#14181c",
    panel="#1b2126",
    ink="#e6eaed",
    soft="#a9b4bd",
    line="#3a444d",
    accent="#7cc0ee",
    warning="#fdba8c",
    robust="#ff9040",
    nominal="#5cb3ea",
    third="#35c496",
    fourth="#e08fbd",
    fifth="#d9bd3f",
    sixth="#aab4bd",
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
SCALE = "Viridis"  # colours of values: perceptually uniform, also for colour-blind readers
BAND_OPACITY = 0.16


def translucent(color: str, opacity: float = BAND_OPACITY) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def custom_properties(palette: Palette) -> str:
    """The colours as custom properties of CSS."""
    return " ".join(f"--{f.name}: {getattr(palette, f.name)};" for f in fields(palette))


def in_the_dark() -> dict[str, str]:
    """The dark colour for each light colour; plots are drawn in light ones."""
    colors = {getattr(LIGHT, f.name): getattr(DARK, f.name) for f in fields(LIGHT)}
    return colors | {translucent(light): translucent(dark) for light, dark in colors.items()}


def template(palette: Palette) -> dict[str, Any]:
    """The plotly template that all plots share."""
    axis = {
        "automargin": True,
        "gridcolor": palette.line,
        "linecolor": palette.line,
        "tickcolor": palette.line,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "zeroline": False,
        "title": {"standoff": 8, "font": {"size": 13}},
    }
    return {
        "layout": {
            "font": {"family": FONT, "size": 13, "color": palette.ink},
            "paper_bgcolor": palette.panel,
            "plot_bgcolor": palette.panel,
            "xaxis": axis,
            "yaxis": axis,
            "margin": {"l": 48, "r": 16, "t": 16, "b": 40},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "bgcolor": "rgba(0, 0, 0, 0)",
                "font": {"size": 12},
            },
            "hoverlabel": {
                "bgcolor": palette.panel,
                "bordercolor": palette.soft,
                "font": {"family": FONT, "size": 13, "color": palette.ink},
                "align": "left",
            },
            "modebar": {
                "bgcolor": "rgba(0, 0, 0, 0)",
                "color": palette.soft,
                "activecolor": palette.accent,
            },
            "hovermode": "closest",
            # the least that remains of a plot beside long labels
            "minreducedwidth": 80,
            "minreducedheight": 120,
        }
    }
