"""Where a report comes from: for whoever finds it in a year."""

from dataclasses import dataclass
from datetime import datetime

import meseta


@dataclass(frozen=True)
class Origin:
    """When a report was written, by which version, and of which study file."""

    written: str  # date and time where it was written, with the offset of the zone
    version: str
    file: str = ""


def origin(file: str = "") -> Origin:
    """Here and now."""
    now = datetime.now().astimezone()
    return Origin(now.strftime("%Y-%m-%d %H:%M %z"), meseta.__version__, file)
