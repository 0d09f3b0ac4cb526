"""The look of methods in figures: a colour, a dash pattern and a marker, distinct in grey.

Colours: Okabe and Ito, safe for colour-blind readers; yellow, which print loses, is brown here.
"""

from typing import Any, NamedTuple

from meseta.acquisition import methods
from meseta.bench.job import read_method

RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,  # text stays text
    "figure.dpi": 100,
    "savefig.dpi": 200,
}


class Style(NamedTuple):
    colour: str
    dashes: Any
    marker: str

    def line(self) -> dict[str, Any]:
        """The arguments of `Axes.plot`."""
        return {"color": self.colour, "linestyle": self.dashes, "marker": self.marker}


STYLES = {
    "rkg": Style("#0072B2", "-", "o"),
    "nes-ep": Style("#009E73", "--", "s"),
    "nes-rs": Style("#56B4E9", (0, (6, 1.5)), "D"),
    "uu-ei": Style("#E69F00", "-.", "^"),
    "uu-ucb": Style("#D55E00", (0, (3, 1, 1, 1, 1, 1)), "v"),
    "uu-mes": Style("#CC79A7", (0, (5, 1, 1, 1)), "P"),
    "unscented-ei": Style("#8C510A", ":", "X"),
    "ei": Style("#777777", "-", ""),
    "sobol": Style("#000000", (0, (1, 3)), ""),
}
SYMBOLS = {"num_max_values": "K", "kappa": "κ"}


def styles_of(labels: list[str]) -> dict[str, Style]:
    """A style for each label; labels with options take styles that are free."""
    looks = {label: STYLES[label] for label in labels if label in STYLES}
    free = [style for style in STYLES.values() if style not in looks.values()]
    others = [label for label in labels if label not in STYLES]
    pool = free or list(STYLES.values())
    return {**looks, **{label: _style(pool, number) for number, label in enumerate(others)}}


def _style(pool: list[Style], number: int) -> Style:
    """The next one that is free; once all are taken, their colours with other dashes."""
    again, index = divmod(number, len(pool))
    if not again:
        return pool[index]
    every = list(STYLES.values())
    other = every[(every.index(pool[index]) + 3 * again) % len(every)]
    return Style(pool[index].colour, other.dashes, other.marker)


def title_of(label: str, among: list[str] | None = None) -> str:
    """A method's title, "NES-EP, K = 10"; options that differ `among` others are shown."""
    name, options = read_method(label)
    shown = dict(options)
    rivals = [read_method(other) for other in among or []]
    for other, settings in rivals:
        if other == name:
            for key, _ in settings:
                default = getattr(methods.checked_options(name), key)
                shown.setdefault(key, default)
    parts = [f"{SYMBOLS.get(key, key)} = {value}" for key, value in shown.items()]
    return ", ".join([methods.get(name).title, *parts])
