"""What BoTorch asks of every test problem, by the cases that it ships."""

import pytest
import torch
from botorch.utils.testing import (
    BaseTestProblemTestCaseMixIn,
    BotorchTestCase,
    ConstrainedTestProblemTestCaseMixin,
    SyntheticTestFunctionTestCaseMixin,
)

from as_botorch import ConstrainedObjective, Observed, RobustObjective
from examples import some
from meseta.problems import get, names


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


class TestRobustObjectives(
    BotorchTestCase, BaseTestProblemTestCaseMixIn, SyntheticTestFunctionTestCaseMixin
):
    functions = tuple(
        RobustObjective(get(name), negate=i % 2 > 0)
        for i, name in enumerate((*names("mean"), *names("risk")))
    )


CONSTRAINED = [ConstrainedObjective(get(name)) for name in names("constraints")]


class TestObjectivesWithinConstraints(BotorchTestCase, BaseTestProblemTestCaseMixIn):
    functions = tuple(CONSTRAINED)


class TestTheirOptima(BotorchTestCase, SyntheticTestFunctionTestCaseMixin):
    """Each draws thousands of designs to find one that keeps the constraints."""

    functions = tuple(some(CONSTRAINED, 3))


class TestTheirConstraints(BotorchTestCase, ConstrainedTestProblemTestCaseMixin):
    """The cases do not round whole numbers, as they should."""

    functions = tuple(each for each in CONSTRAINED if not each.discrete_inds)


class TestWhatIsObserved(BotorchTestCase, BaseTestProblemTestCaseMixIn):
    functions = tuple(Observed(get(name)) for name in names())
