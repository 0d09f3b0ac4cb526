"""The noise in words: the parameters that have it, and its noise law."""

from meseta.noise import Joint, NoiseLaw, Normal, Placed, Substituted
from meseta.noise.words import law_in_words
from meseta.report.views.subject import Subject
from meseta.report.views.wording import Terms

__all__ = ["law_in_words", "noise_in_words", "part_in_words"]


def noise_in_words(subject: Subject, terms: Terms) -> tuple[tuple[str, str], ...]:
    """Parameters and their noise law: first the noise of single parameters, then shared noise."""
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
    """The words for noise that several columns share."""
    if isinstance(part, Normal | Substituted):
        return law_in_words(part)
    return "together, " + law_in_words(part)


def _moves(law: NoiseLaw) -> bool:
    if isinstance(law, Placed):
        return True
    return bool(law.mean.any() or law.covariance_matrix.any())


def _columns(subject: Subject, name: str) -> range:
    place = subject.optimizer.space.columns_of(name)
    return range(place.start, place.stop)
