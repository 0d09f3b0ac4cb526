"""The published results: the page says what the records say, and nothing is missing."""

from pathlib import Path

from meseta.bench.plan import kept_plans
from meseta.bench.results_page import PAGE, page

RESULTS = Path(__file__).parents[2] / "docs" / "results"
MIB = 2**20


def test_the_page_is_written_from_the_records():
    written = (RESULTS / PAGE).read_text(encoding="utf-8")
    assert written == "\n".join(page(RESULTS)) + "\n"


def test_every_picture_of_the_page_is_there():
    written = (RESULTS / PAGE).read_text(encoding="utf-8")
    names = [
        line.partition("](")[2].rstrip(")") for line in written.splitlines() if line[:2] == "!["
    ]
    assert len(names) > 10
    for name in names:
        assert (RESULTS / name).stat().st_size > 1000


def test_the_paper_experiments_are_all_there():
    plans = {plan.experiment for plan in kept_plans(RESULTS)}
    assert {"within-model", "synthetic", "gravity", "hartmann6", "max-values", "kappa"} <= plans


def test_records_are_small_enough_to_be_kept():
    assert sum(path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()) < 12 * MIB
