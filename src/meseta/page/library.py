"""plotly.js, packed so that a report is a file that can be mailed."""

import base64
import gzip
from functools import cache

from plotly.offline import get_plotlyjs


@cache
def packed() -> str:
    """Inflated by the script of the page; the same bytes whenever it is packed."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()
