"""Noise laws in words, as an engineer would write them."""

from typing import Protocol, runtime_checkable

from meseta.noise.law import NoiseLaw

LONGEST = 120  # letters of a law with many numbers, such as a sample


@runtime_checkable
class Worded(Protocol):
    """A noise law that has words for itself."""

    def in_words(self, unit: str) -> str:
        """The law in words; `unit` is that of its parameter, or empty."""
        ...


def law_in_words(law: NoiseLaw, unit: str = "") -> str:
    """The words of the law itself; the code that gives the law where it has none."""
    if isinstance(law, Worded):
        return law.in_words(unit)
    text = repr(law)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def amount(value: float, unit: str, relative: bool = False) -> str:
    """A width with its unit, or in per cent of the parameter."""
    if relative:
        return f"{100 * value:.3g} % of the value"
    return f"{value:.4g} {unit}" if unit else f"{value:.4g}"


def on_average(bias: float) -> str:
    """What is added to the words of a law whose mean is not 0."""
    return f", {bias:+.4g} on average" if bias else ""
