"""The files for BoTorch's community folder: their own tests, as if in place, and our numbers."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import botorch_community.acquisition
import botorch_community.utils
import pytest
import torch

from gp_models import kernel, model, random_model, tensor, uniform, unit_box
from meseta import Normal
from meseta.integrations import botorch as ours

CASES = json.loads((Path(__file__).parents[1] / "data" / "nes_ep_cases.json").read_text())["cases"]
CONTRIB = Path(__file__).parents[2] / "contrib" / "botorch_community"
for _package in (botorch_community.acquisition, botorch_community.utils):
    _package.__path__.append(str(CONTRIB.joinpath(*_package.__name__.split("."))))


def _loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for _path in sorted((CONTRIB / "test_community").rglob("test_*.py")):
    _tests = _loaded(_path)
    globals().update({name: _tests.__dict__[name] for name in dir(_tests) if name[:4] == "Test"})


@pytest.fixture(scope="module")
def contributed():
    from botorch_community.acquisition.robust_knowledge_gradient import LogRobustKnowledgeGradient

    return LogRobustKnowledgeGradient


@pytest.fixture(scope="module")
def entropy_search():
    from botorch_community.acquisition.noisy_input_entropy_search import NoisyInputEntropySearch

    return NoisyInputEntropySearch


def test_the_posterior_is_ours(contributed):
    model, designs = random_model(3, 2, 8, noise_variance=1e-3), uniform(30, 2, seed=1)
    acquisition = contributed(model, 0.1, designs)
    posterior = ours.RobustPosterior.from_model(model, Normal(0.1), unit_box(2))
    torch.testing.assert_close(acquisition.robust_mean(designs), posterior.g(designs).mean)


def test_the_values_are_ours(contributed):
    """Over the same designs; ours leaves out lines that are highest only between two nodes."""
    from meseta.inference.envelope import log_expected_gain

    model, designs = random_model(3, 2, 8, noise_variance=1e-3), uniform(30, 2, seed=1)
    acquisition = contributed(model, 0.1, designs)
    posterior, values = ours.RobustPosterior.from_model(model, Normal(0.1), unit_box(2)), []
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"n={case['n']},d={case['d']}")
def test_entropy_search_has_the_stored_values(entropy_search, case):
    d = case["d"]
    X, x = tensor(case["X"]).reshape(-1, d), tensor(case["query_points"]).reshape(-1, 1, d)
    covar = kernel("se", case["lengthscale"], case["signal_variance"])
    noise = torch.full((len(X),), case["observation_noise_variance"], dtype=torch.double)
    acquisition = entropy_search(
        model(X, tensor(case["y"]), covar, noise),
        tensor(case["input_noise_std"]),
        max_values=tensor([case["g_star"]]),
    )
    torch.testing.assert_close(acquisition(x), tensor(case["alpha"]), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("d", "n"), [(1, 1), (1, 12), (2, 15), (4, 30)])
@pytest.mark.parametrize("num_max_values", [1, 5])
def test_entropy_search_has_our_values(entropy_search, d, n, num_max_values):
    gp, x = random_model(n, d, n, noise_variance=1e-3), uniform(20, 1, d, seed=1)
    std = tensor([0.1, 0.0, 0.3, 0.02][:d])
    acquisition = entropy_search(
        gp, std, uniform(50, d, seed=2), num_max_values, X_pending=uniform(2, d, seed=3)
    )
    assert len(acquisition.max_values) == num_max_values
    for below in (0.0, 1.0):
        values = acquisition.max_values - below
        mine, theirs = (
            ours.NoisyInputEntropySearch(
                gp,
                Normal(std.tolist()),
                unit_box(d),
                max_values=values,
                X_pending=uniform(2, d, seed=3),
            ),
            entropy_search(gp, std, max_values=values, X_pending=uniform(2, d, seed=3)),
        )
        torch.testing.assert_close(theirs(x), mine(x), rtol=0, atol=1e-9)


def test_values_at_whole_numbers_are_no_whole_numbers(contributed, entropy_search):
    gp, designs = random_model(3, 2, 8, noise_variance=1e-3), uniform(30, 2, seed=1)
    x = torch.tensor([[[0, 1]], [[1, 1]]])
    for acquisition in (contributed(gp, 0.1, designs), entropy_search(gp, 0.1, designs)):
        torch.testing.assert_close(acquisition(x), acquisition(x.double()))


def test_only_public_names_are_imported():
    for path in CONTRIB.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("from ", "import ")) and "__future__" not in line:
                assert not any(word.startswith("_") for word in line.replace(".", " ").split())


def test_it_keeps_the_rules_of_their_linter():
    subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", CONTRIB], check=True)


def test_it_does_not_need_meseta():
    for path in CONTRIB.rglob("*.py"):
        assert "meseta" not in path.read_text("utf-8")
