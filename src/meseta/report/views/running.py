"""What the page says of a study that is still running."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Running:
    """The state of a running study, as its clock has it."""

    done: int  # the number of trials that have ended
    budget: int | None
    written: datetime  # when the report was made
    again: int  # seconds until a newer one may be there
