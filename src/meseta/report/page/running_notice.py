"""The line above the report of a study that is still running; the script loads the page anew.

A run that was killed cannot say so: the script says how old a page is that nobody has renewed.
"""

from meseta.report.page.markup import Markup, element
from meseta.report.views.running import Running


def running_notice(running: Running | None) -> Markup | None:
    if running is None:
        return None
    of = "" if running.budget is None else f" of {running.budget}"
    trials = "trial" if (running.budget or running.done) == 1 else "trials"
    return element(
        "p",
        f"Running: {running.done}{of} {trials}. Written at {running.written:%H:%M}, "
        f"{running.written:%Y-%m-%d}. This page loads itself anew.",
        class_="notice running",
        id="running",
        data_again=running.again,
        data_written=round(running.written.timestamp()),
    )


def refresh(running: Running | None) -> Markup | None:
    """The same for a browser without scripts."""
    if running is None:
        return None
    meta = element("meta", http_equiv="refresh", content=running.again)
    return element("noscript", meta)
