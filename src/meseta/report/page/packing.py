"""Compressed data for the script of the page, so that a report is small enough for mail."""

import base64
import gzip
from functools import cache

from plotly.offline import get_plotlyjs


def packed(text: str) -> str:
    """A compressed text in base64, which HTML parsers leave alone; the script inflates it."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


@cache
def packed_library() -> str:
    """plotly.js, compressed from 4.8 MB to 2 MB."""
    return packed(get_plotlyjs())
