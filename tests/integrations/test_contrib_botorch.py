"""The file for BoTorch's community folder: its own tests, as if it lay there, and our numbers."""

import importlib.util
from pathlib import Path

import botorch_community.acquisition
import pytest
import torch

from gp_models import random_model, uniform, unit_box
from meseta import Normal
from meseta.integrations.botorch import RobustPosterior

CONTRIB = Path(__file__).parents[2] / "contrib" / "botorch_community"
ACQUISITION = CONTRIB / "botorch_community" / "acquisition"
botorch_community.acquisition.__path__.append(str(ACQUISITION))


def _loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_TESTS = _loaded(CONTRIB / "test_community/acquisition/test_robust_knowledge_gradient.py")
TestLogRobustKnowledgeGradient = _TESTS.TestLogRobustKnowledgeGradient
TestLogExpectedGain = _TESTS.TestLogExpectedGain


@pytest.fixture(scope="module")
def contributed():
    from botorch_community.acquisition import robust_knowledge_gradient

    return robust_knowledge_gradient


def test_the_posterior_is_ours(contributed):
    model, designs = random_model(3, 2, 8, noise_variance=1e-3), uniform(30, 2, seed=1)
    acquisition = contributed.LogRobustKnowledgeGradient(model, 0.1, designs)
    posterior = RobustPosterior.from_model(model, Normal(0.1), unit_box(2))
    torch.testing.assert_close(acquisition.robust_mean(designs), posterior.g(designs).mean)


def test_the_values_are_ours(contributed):
    """Over the same designs; ours leaves out lines that are highest only between two nodes."""
    from meseta.inference.envelope import log_expected_gain

    model, designs = random_model(3, 2, 8, noise_variance=1e-3), uniform(30, 2, seed=1)
    acquisition = contributed.LogRobustKnowledgeGradient(model, 0.1, designs)
    posterior, values = RobustPosterior.from_model(model, Normal(0.1), unit_box(2)), []
    x = uniform(12, 2, seed=2)
    for each in x:
        choices = torch.cat([designs, each[None]])
        y = posterior.joint(each[None])
        std = float((y.v_f + posterior.noise_variance).sqrt())
        # an observation one standard deviation above its mean shifts all means by their slopes
        after = posterior.with_observations(each[None], y.m_f + std)
        before = posterior.g(choices).mean
        slopes = after.g(choices).mean - before
        values.append(log_expected_gain(before, slopes[None]))
    theirs = acquisition(x[:, None])
    assert (theirs > torch.cat(values) - 1e-6).all()
    torch.testing.assert_close(theirs, torch.cat(values), rtol=0, atol=0.05)


def test_only_public_names_are_imported():
    for path in CONTRIB.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("from ", "import ")) and "__future__" not in line:
                assert not any(word.startswith("_") for word in line.replace(".", " ").split())


def test_it_does_not_need_meseta():
    assert "meseta" not in (ACQUISITION / "robust_knowledge_gradient.py").read_text("utf-8")
