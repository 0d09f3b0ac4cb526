"""Mean and standard deviation of the univariate Statistical Reference Datasets of NIST (StRD)."""

import sys
from decimal import Decimal, localcontext
from pathlib import Path

import mpmath
import pytest

from examples import some
from public_names import moments_of

DATA = Path(__file__).parent / "data"
CLOSE = 1e-9  # relative
# https://www.itl.nist.gov/div898/strd/univ/homepage.html
CERTIFIED = {
    "PiDigits": (4.5348, 2.86733906028871),
    "Lottery": (518.958715596330, 291.699727470969),
    "Lew": (-177.435, 277.332168044316),
    "Mavro": (2.001856, 0.000429123454003053),
    "Michelso": (299.8524, 0.0790105478190518),
    "NumAcc1": (10000002.0, 1.0),
    "NumAcc2": (1.2, 0.1),
    "NumAcc3": (1000000.2, 0.1),
    "NumAcc4": (10000000.2, 0.1),
}


def values_of(name: str) -> list[str]:
    """The values as they are written; PiDigits and NumAcc1 to 4 are made as their files say."""
    if name == "PiDigits":
        with mpmath.workdps(5200):
            digits = mpmath.nstr(mpmath.pi, 5150).replace(".", "")
        # 124 digits are missing in the list of NIST: what it certifies is that of the others
        return [*digits[:4980], *digits[5104:5124]]
    if name == "NumAcc1":
        return ["10000001", "10000003", "10000002"]
    if name.startswith("NumAcc"):
        whole = {"NumAcc2": 1, "NumAcc3": 1_000_000, "NumAcc4": 10_000_000}[name]
        return [f"{whole}.2", *[f"{whole}.1", f"{whole}.3"] * 500]
    return (DATA / f"{name}.txt").read_text().split()


def exactly(values: list[Decimal]) -> tuple[float, float]:
    with localcontext() as context:
        context.prec = 50
        mean = sum(values) / len(values)
        return float(mean), float((sum((v - mean) ** 2 for v in values) / (len(values) - 1)).sqrt())


def check(values: list[float], certified: tuple[float, float]) -> None:
    mean, std = certified
    # how far doubles are from the decimals that are certified
    rounded = sys.float_info.epsilon * max(abs(v) for v in values) / 2
    exact = exactly([Decimal(v) for v in values])
    for who, found in moments_of(values).items():
        assert found == pytest.approx(exact, rel=CLOSE), who
        assert found[0] == pytest.approx(mean, rel=CLOSE), who
        assert found[1] == pytest.approx(std, rel=CLOSE, abs=rounded), who


@pytest.mark.parametrize("name", some(CERTIFIED, 2))
def test_mean_and_deviation_are_those_that_are_certified(name):
    written = values_of(name)
    certified = CERTIFIED[name]
    assert exactly([Decimal(text) for text in written]) == pytest.approx(certified, rel=1e-14)
    check([float(text) for text in written], certified)
