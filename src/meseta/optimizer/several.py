"""Several designs that are told in one call."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from meseta.boundary import read_list, shown

T = TypeVar("T")
EachOrAll: TypeAlias = T | Sequence[T | None] | None


def read_several(params: Any, values: Any, others: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return what is told of each design: it, its value, and the others; refuse other lengths.

    Of the others a list has one for each design; anything else holds for all.
    """
    designs, told = read_list(params), read_list(values)
    if not designs:
        raise ValueError("there is no design in the list; tell one or more")
    if told is None:
        raise TypeError(
            f"a list of {len(designs)} designs needs a list with a value for each, None for one "
            f"that failed; got {shown(values)}"
        )
    columns = [told]
    for other in others:
        each = read_list(other)
        columns.append([other] * len(designs) if each is None else each)
    for name, column in zip(NAMES, columns, strict=True):
        if len(column) != len(designs):
            raise ValueError(
                f"{name} has {len(column)} for {len(designs)} designs; pass a list with one for "
                "each"
            )
    return list(zip(designs, *columns, strict=True))


NAMES = ("value", "error", "trial", "std", "n", "executed")  # of what is told beside a design


@contextmanager
def at_place(place: int) -> Iterator[None]:
    """Let an error say in which of the designs the mistake is."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"design {place} of the list: {error}") from None
