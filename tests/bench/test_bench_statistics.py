"""Statistics against brute force, on made-up data."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from bench_records import made_up
from examples import some
from meseta.bench.statistics import (
    FLOOR,
    compare,
    curve,
    fewest_pairs,
    groups,
    halfway,
    holm,
    mean_ranks,
    mean_ranks_of_many,
    signed_rank,
)

RANDOM = np.random.default_rng(5)


def runs_of(method, finals, problem="gmm", length=9):
    return [
        made_up(problem, method, seed, np.linspace(1, final, length))
        for seed, final in enumerate(finals)
    ]


def test_curves_are_medians_and_quartiles():
    regrets = RANDOM.uniform(size=(7, 9))
    records = [made_up(seed=seed, regret=row) for seed, row in enumerate(regrets)]
    found = curve(records)
    ordered = np.sort(regrets, axis=0)
    np.testing.assert_allclose(found.median, ordered[3])
    # of 7 values the quartiles are half way between the second and third, fifth and sixth
    np.testing.assert_allclose(found.lower, (ordered[1] + ordered[2]) / 2)
    np.testing.assert_allclose(found.upper, (ordered[4] + ordered[5]) / 2)
    # made_up starts with two points
    np.testing.assert_array_equal(found.evaluations, np.arange(2, 11))
    assert found.runs == 7
    assert found.evaluations[halfway(found)] == 5
    np.testing.assert_allclose(curve(records, "distance").median, 3 * ordered[3])
    assert halfway(curve([made_up(regret=[1.0])])) == 0


def test_failed_runs_are_left_out_and_seeds_ordered():
    records = [made_up(seed=2), made_up(seed=1, state="failed"), made_up(seed=0)]
    assert [r.job.seed for r in groups(records)["gmm"]["rkg"]] == [0, 2]


def brute_force_signed_rank(difference):
    """Share of all assignments of signs whose rank sum is as far from its mean or farther."""
    ranks = rankdata(np.abs(difference))
    mean = ranks.sum() / 2
    seen = abs(ranks[difference > 0].sum() - mean)
    signs = np.array(list(itertools.product([0, 1], repeat=len(difference))))
    return np.mean(np.abs(signs @ ranks - mean) >= seen - 1e-9)


@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("n", [3, 7, 10])
def test_the_signed_rank_test_is_that_of_all_assignments_of_signs(n, shift):
    difference = RANDOM.normal(shift, size=n)
    assert signed_rank(difference) == pytest.approx(brute_force_signed_rank(difference))
    zeros = np.concatenate([difference, np.zeros(4)])
    assert signed_rank(zeros) == pytest.approx(brute_force_signed_rank(difference))


def test_nothing_but_ties_is_no_difference():
    assert signed_rank(np.zeros(5)) == 1


def step_down(p, level):
    """Holm's procedure as he states it: which hypotheses are rejected."""
    rejected = set()
    for i, index in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        if p[index] > level / (len(p) - i):
            break
        rejected.add(index)
    return rejected


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8), st.floats(0.001, 0.2))
def test_corrected_p_values_reject_what_holms_procedure_rejects(p, level):
    corrected = holm(p)
    close = any(abs(value - level) < 1e-12 for value in corrected)
    if not close:
        assert {k for k, value in enumerate(corrected) if value <= level} == step_down(p, level)
    assert all(a >= b for a, b in zip(corrected, p, strict=True))


def test_holm_on_a_textbook_case():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_the_fewest_pairs_that_can_show_anything():
    for comparisons in (1, 3, 8, 40):
        k = fewest_pairs(comparisons)
        assert comparisons * 2.0 ** (1 - k) < 0.05 <= comparisons * 2.0 ** (2 - k)


def test_comparisons_are_paired_and_know_which_differences_are_real():
    base = 10 ** RANDOM.uniform(-6, -1, size=12)  # seeds differ far more than methods do
    records = [
        *runs_of("nes-ep", base),
        *runs_of("ei", 1.5 * base),
        *runs_of("uu-ei", base * 10 ** RANDOM.normal(0, 0.01, size=12)),
        *runs_of("sobol", np.r_[base[:9], 0.5 * base[9:]]),
    ]
    found = {c.method: c for c in compare(records, "nes-ep")}
    ei = found["ei"]
    assert (ei.wins, ei.ties, ei.losses, ei.pairs) == (12, 0, 0, 12)
    assert ei.ratio == pytest.approx(1.5)
    assert ei.p == pytest.approx(2.0**-11)
    assert ei.p_holm == pytest.approx(3 * 2.0**-11)
    assert ei.verdict == "nes-ep is better"
    assert found["uu-ei"].verdict == "no difference shown"
    assert (found["sobol"].wins, found["sobol"].ties, found["sobol"].losses) == (0, 9, 3)
    (mirrored,) = (c for c in compare(records, "ei") if c.method == "nes-ep")
    assert (mirrored.wins, mirrored.losses) == (0, 12)
    assert mirrored.verdict == "nes-ep is better"


def test_a_difference_points_where_the_test_leans():
    """Ten small losses and nine big wins: ranks 1 to 10 against 11 to 19, so 80 in favour."""
    ratios = np.r_[1 - np.arange(1, 11) / 1e3, 10.0 ** np.arange(1, 10)]
    ratios = np.r_[ratios, np.ones(5)]  # ties
    base = np.full(24, 1e-9)
    records = [*runs_of("nes-ep", base), *runs_of("ei", base * ratios)]
    (found,) = compare(records, "nes-ep")
    assert (found.wins, found.losses, found.balance) == (9, 10, 80)
    assert found._replace(p_holm=0.01).verdict == "nes-ep is better"
    assert found._replace(p_holm=0.01, balance=-80.0).better == "ei"
    assert found._replace(p_holm=0.5).better is None


def test_only_common_seeds_are_compared_and_rounding_is_a_tie():
    records = runs_of("nes-ep", [1e-14, 1e-3, 1e-3])[:2] + runs_of("ei", [FLOOR / 7, 1e-2, 1.0])
    (found,) = compare(records, "nes-ep")
    assert (found.pairs, found.wins, found.ties) == (2, 1, 1)
    assert compare(records, "rkg") == []


def test_ranks_are_those_within_a_problem_and_seed():
    a, b, c = RANDOM.uniform(0.1, 1, size=(3, 20))
    records = [
        *(r for name, v in zip("abc", (a, b, c), strict=True) for r in runs_of(name, v[:12])),
        *(r for name, v in zip("abc", (a, b, c), strict=True) for r in runs_of(name, v[12:], "p")),
    ]
    found = {rank.method: rank for rank in mean_ranks(records)}
    brute = np.mean([np.argsort(np.argsort(row)) + 1 for row in np.stack([a, b, c], 1)], axis=0)
    assert [found[name].mean for name in "abc"] == pytest.approx(brute.tolist())
    for rank in found.values():
        assert rank.low <= rank.mean <= rank.high
        assert rank.cells == 20
    assert mean_ranks(records) == mean_ranks(records)
    assert [r.mean for r in mean_ranks(records)] == sorted(r.mean for r in mean_ranks(records))


def test_bootstrap_intervals_have_the_width_of_the_standard_error():
    """Two methods, equal chances: rank 1 or 2, standard error sqrt(1/4 / 400) = 0.025."""
    finals = RANDOM.uniform(0.1, 1, size=(2, 400))
    records = [*runs_of("a", finals[0], length=2), *runs_of("b", finals[1], length=2)]
    for rank in mean_ranks(records):
        assert rank.high - rank.low == pytest.approx(2 * 1.96 * 0.025, rel=0.08)


def test_seeds_that_a_method_lacks_are_not_ranked():
    records = runs_of("a", [0.1, 0.2, 0.3]) + runs_of("b", [0.2, 0.1])
    assert [(r.method, r.mean, r.cells) for r in mean_ranks(records)] == [
        ("a", 1.5, 2),
        ("b", 1.5, 2),
    ]
    assert mean_ranks([]) == []
    one_each = [
        run
        for problem, values in (("p", (1e-3, 1e-2)), ("q", (1e-2, 1e-3)), ("r", (1e-3, 1e-2)))
        for name, value in zip("ab", values, strict=True)
        for run in runs_of(name, [value], problem)
    ]
    known, of_many = mean_ranks(one_each), mean_ranks_of_many(one_each)
    assert [(r.low, r.high) for r in known] == [(r.mean, r.mean) for r in known]
    assert [r.mean for r in of_many] == [r.mean for r in known]
    assert all(r.low == 1 and r.high == 2 for r in of_many)
    assert mean_ranks(runs_of("a", [0.1]) + runs_of("b", [0.1], "other")) == []
    assert mean_ranks_of_many([]) == []
    one_problem = mean_ranks_of_many(runs_of("a", [0.1, 0.2]) + runs_of("b", [0.2, 0.1]))
    assert all(r.mean == 1.5 and np.isnan([r.low, r.high]).all() for r in one_problem)


@pytest.mark.parametrize(("problems", "seeds"), some([(4, 1), (6, 1), (6, 3), (14, 3)], 2))
def test_intervals_of_mean_ranks_hold_those_of_many_problems(problems, seeds):
    """Three methods; on a problem each has a level of its own, and a run scatters about it."""
    random = np.random.default_rng(5)
    draw = lambda k, n: (  # noqa: E731
        np.array([0.0, 0.7, 1.0])
        + random.normal(size=(k, 1, 3))
        + 0.5 * random.normal(size=(k, n, 3))
    )
    truth = (draw(200_000, 1).argsort(-1).argsort(-1) + 1).mean((0, 1))
    held, shown = np.zeros(3), np.zeros(3)
    for _ in range(200):
        regrets = 10.0 ** draw(problems, seeds)
        records = [
            run
            for p in range(problems)
            for j in range(3)
            for run in runs_of("abc"[j], regrets[p, :, j], f"p{p}", length=2)
        ]
        found = {rank.method: rank for rank in mean_ranks_of_many(records)}
        ranks = [found[name] for name in "abc"]
        shown += [rank.low < rank.high for rank in ranks]
        held += [r.low <= t <= r.high and r.low < r.high for r, t in zip(ranks, truth, strict=True)]
    # 4000 repetitions give 0.91 to 1: ranks are few numbers; here two standard errors less
    assert (held / shown > 0.87).all()
