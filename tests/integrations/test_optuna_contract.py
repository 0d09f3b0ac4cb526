"""What Optuna asks of every sampler, by the tests that it ships."""

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

import meseta
from examples import thorough
from meseta.integrations.optuna import RobustSampler


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestRobustSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """Without noise, since its parameters are of all kinds; the model takes over at trial 8."""

    @pytest.fixture
    def sampler(self):
        return lambda: RobustSampler(noise=None, seed=1, num_initial=8, method="uu-ucb")


def is_choice(distribution):
    return isinstance(distribution, CategoricalDistribution)


def is_number(distribution):
    return not is_choice(distribution)


def is_near_zero_on_a_logarithmic_scale(distribution):
    """From 1e-7: noise of 0.1 leads below 0. Whole numbers begin at 1, which is ten of it away."""
    return isinstance(distribution, FloatDistribution) and distribution.log


# Why a law does not fit to a parameter; everything else has to work.
NO_CHOICE = (is_choice, "is a choice, and noise is added to numbers only")
NO_NUMBER = (is_number, "only a choice can be replaced by another choice")
NEAR_ZERO = (is_near_zero_on_a_logarithmic_scale, "logarithmic, but the noise of 'x' leads")


class Refusing(RobustSampler):
    """A sampler whose noise of x is refused for these reasons, and only then; it goes on without.

    So every case of the contract runs to its end, and a refusal that is new, or no more, is seen.
    """

    def __init__(self, *reasons, **settings):
        super().__init__(seed=1, **settings)
        self.reasons = reasons
        self.without = RobustSampler(seed=1, **{**settings, "noise": None, "edge": "allow"})

    def sample_relative(self, study, trial, search_space):
        x = search_space.get("x")
        for applies, reason in self.reasons:
            if x is not None and applies(x):
                with pytest.raises(ValueError, match=reason):
                    super().sample_relative(study, trial, search_space)
                return self.without.sample_relative(study, trial, search_space)
        return super().sample_relative(study, trial, search_space)


class TestWithNormalNoise(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        settings = {"noise": {"x": meseta.Normal(0.1)}, "num_initial": 8, "method": "uu-ucb"}
        return lambda: Refusing(NO_CHOICE, NEAR_ZERO, **settings)


class TestWithNoiseThatStopsAtTheEnds(TestWithNormalNoise):
    @pytest.fixture
    def sampler(self):
        settings = {"noise": {"x": meseta.Uniform(0.1)}, "edge": {"x": "clip"}, "num_initial": 8}
        return lambda: Refusing(NO_CHOICE, method="ei", **settings)


class TestWithMistakenChoices:
    """Cases that have choices; by the model from the second trial on."""

    test_categorical = BasicSamplerTestCase.test_categorical
    test_conditional = BasicSamplerTestCase.test_conditional_sample_independent
    test_conditional_objective = BasicSamplerTestCase.test_conditional_parameter_objective
    test_single = BasicSamplerTestCase.test_single_parameter_objective
    test_relative = RelativeSamplerTestCase.test_sample_relative_categorical

    @pytest.fixture
    def sampler(self):
        settings = {"noise": {"x": meseta.Substitution(0.05)}, "method": "ei", "num_initial": 1}
        return lambda: Refusing(NO_NUMBER, **settings)


@thorough
class TestWithTheDefaultMethodFromTheSecondTrialOn(TestWithNormalNoise):
    @pytest.fixture
    def sampler(self):
        settings = {"noise": {"x": meseta.Normal(0.1)}, "num_initial": 1}
        return lambda: Refusing(NO_CHOICE, NEAR_ZERO, **settings)
