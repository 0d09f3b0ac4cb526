"""Colours, light and dark: of the page and of the plots in it.

Robust and nominal are vermilion and blue (Okabe and Ito), which people of every colour vision tell
apart; every use of them differs in dash or symbol, too.
"""

from dataclasses import dataclass, fields
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Palette:
    """Text on its grounds has a contrast of 4.5 or more, lines one of 3 or more."""

    ground: str
    panel: str  # of plots and tables
    ink: str
    soft: str  # text of less weight
    line: str
    accent: str  # links, focus, the tab that is open
    warning: str
    robust: str
    nominal: str
    third: str
    fourth: str
    fifth: str
    sixth: str

    @property
    def series(self) -> tuple[str, ...]:
        """For lines that are neither robust nor nominal, one per parameter."""
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
SCALE = "Viridis"  # of values: even to the eye, in every colour vision
BAND_OPACITY = 0.16


def translucent(color: str, opacity: float = BAND_OPACITY) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def custom_properties(palette: Palette) -> str:
    """For the style sheet."""
    return " ".join(f"--{f.name}: {getattr(palette, f.name)};" for f in fields(palette))


def in_the_dark() -> dict[str, str]:
    """What each colour of a plot, which are drawn for light, becomes in the dark theme."""
    colors = {getattr(LIGHT, f.name): getattr(DARK, f.name) for f in fields(LIGHT)}
    return colors | {translucent(light): translucent(dark) for light, dark in colors.items()}


def template(palette: Palette) -> dict[str, Any]:
    """Of plotly: what all plots have in common."""
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
            # whatever long labels ask for, this much of a plot stays
            "minreducedwidth": 80,
            "minreducedheight": 120,
        }
    }
