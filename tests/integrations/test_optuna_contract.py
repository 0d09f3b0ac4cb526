"""What Optuna asks of every sampler, by the tests that it ships."""

import optuna
import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

import meseta
from meseta.integrations.optuna import RobustSampler


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestRobustSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """Without noise, since its parameters are of all kinds; the model takes over at trial 8."""

    @pytest.fixture
    def sampler(self):
        return lambda: RobustSampler(noise=None, seed=1, num_initial=8, method="uu-ucb")


class TestWithNoise(SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: RobustSampler(noise={"x": meseta.Normal(0.1)}, seed=1)
