"""Options that list several values."""


def split(values: list[str] | None) -> tuple[str, ...]:
    """The parts of repeated and of comma-separated options."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part)
