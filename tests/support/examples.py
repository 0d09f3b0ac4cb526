"""How many examples Hypothesis draws: a few, always the same, or others by MESETA_EXAMPLES."""

import os

import pytest
from hypothesis import settings

ASKED_FOR = os.environ.get("MESETA_EXAMPLES")


def examples(number: int) -> settings:
    """The number of examples of a test, unless MESETA_EXAMPLES=1000 or so says otherwise."""
    return settings(
        max_examples=int(ASKED_FOR or number), deadline=None, derandomize=ASKED_FOR is None
    )


def some(cases, every):
    """One of `every` so many cases, the first among them; all of them with MESETA_EXAMPLES."""
    return list(cases) if ASKED_FOR else list(cases)[::every]


# For tests that take long and look again at what quicker ones have seen.
thorough = pytest.mark.skipif(
    not ASKED_FOR, reason="takes long: MESETA_EXAMPLES=20 runs it, and all cases of others"
)
