"""Options that list several values."""


def split(values: list[str] | None) -> tuple[str, ...]:
    """The parts of repeated and of comma-separated options; an empty one is refused."""
    parts = tuple(part.strip() for value in values or () for part in value.split(","))
    if not all(parts):
        raise ValueError(f"an empty name in {', '.join(map(repr, values or ()))}")
    return parts
