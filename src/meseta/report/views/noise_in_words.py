"""Laws of noise in words."""

import torch

from meseta.noise import (
    Joint,
    LogNormal,
    NoiseLaw,
    Normal,
    Placed,
    Substituted,
    TruncatedNormal,
    Uniform,
)
from meseta.report.views.subject import Subject
from meseta.report.views.terms import Terms

LONGEST = 120  # letters of a law whose numbers are many, such as a sample


def law_in_words(law: NoiseLaw, unit: str = "") -> str:
    """Of one parameter, as an engineer would write it."""
    unit = f" {unit}" if unit else ""
    match law:
        case Placed(kind="replace"):
            return f"environment: {law_in_words(law.law, unit.strip())}"
        case Placed():
            edge = "" if law.edge == "allow" else f", {law.edge} at the ends of the range"
            return law_in_words(law.law, unit.strip()) + edge
        case LogNormal():
            return f"log-normal, about {100 * law.sigma:.3g} % up or down"
        case Normal() | Uniform() if law.width is not None:
            return f"{type(law).__name__.lower()}, of a width that depends on the value"
        case Normal() if law.independent:
            std = float(law.standard_deviation)
            return "normal, standard deviation " + _amount(std, law.relative, unit) + _bias(law)
        case Uniform():
            half = float(law.half_widths)
            return "uniform, ± " + _amount(half, law.relative, unit) + _bias(law)
        case TruncatedNormal():
            return (
                f"normal, standard deviation {law.std:.4g}{unit}, "
                f"cut off at {law.low:.4g} and {law.high:.4g}{unit}"
            )
    text = repr(law)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def noise_in_words(subject: Subject, terms: Terms) -> tuple[tuple[str, str], ...]:
    """Whose noise, and its law: each parameter's own, then what several share."""
    law, space = subject.law, subject.optimizer.space
    own = law.own if isinstance(law, Joint) else law
    rows = []
    if own.independent:
        for name in subject.parameters:
            marginal = own.marginals[space.columns_of(name).start]
            if _moves(marginal):
                outer = subject.name(name)
                rows.append((outer, law_in_words(marginal, terms.unit_of(outer))))
    parts = law.parts if isinstance(law, Joint) else ()
    if not own.independent:
        parts = (*parts, (tuple(range(space.num_columns)), own))
    for dims, part in parts:
        names = [n for n in subject.parameters if set(_columns(subject, n)) & set(dims)]
        rows.append((", ".join(subject.name(n) for n in names), part_in_words(part)))
    return tuple(rows)


def part_in_words(part: NoiseLaw) -> str:
    """Of noise that several columns have together."""
    if isinstance(part, Substituted):
        matrix = torch.tensor(part.matrix, dtype=torch.double)
        if bool((matrix == matrix[0]).all()):
            return "environment: a choice that nobody makes"
        return f"another choice with probability {float(1 - matrix.diagonal().mean()):.3g}"
    if isinstance(part, Normal):
        stds = ", ".join(f"{s:.3g}" for s in part.standard_deviation.tolist())
        return f"normal and correlated, standard deviations {stds}"
    return "together, " + law_in_words(part)


def _amount(value: float, relative: bool, unit: str) -> str:
    return f"{100 * value:.3g} % of the value" if relative else f"{value:.4g}{unit}"


def _bias(law: Normal | Uniform) -> str:
    bias = float(law.mean)
    return f", {bias:+.4g} on average" if bias else ""


def _moves(law: NoiseLaw) -> bool:
    if isinstance(law, Placed):
        return True
    return bool(law.mean.any() or law.covariance_matrix.any())


def _columns(subject: Subject, name: str) -> range:
    place = subject.optimizer.space.columns_of(name)
    return range(place.start, place.stop)
