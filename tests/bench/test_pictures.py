"""The pictures of docs/method.md, and the numbers that the page reads off them."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from examples import thorough

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "method.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def draw():
    return runpy.run_path(str(DOCS / "pictures" / "draw.py"))


@pytest.fixture(scope="module")
def information(draw):
    return draw["information"]()


@thorough
def test_the_script_draws_every_picture_of_the_page(draw, tmp_path, capsys):
    written = draw["main"](tmp_path / "folder")
    names = {path.name for path in written}
    assert names == set(re.findall(r"\(pictures/([^)]+)\)", PAGE))
    assert names == {path.name for path in (DOCS / "pictures").glob("*.svg")}
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "<svg" in text
        assert re.search(r'<g id="patch_1">\s*<path [^>]*fill: (?!none)', text)  # a page behind it
    assert capsys.readouterr().out.count(".svg") == len(written)


def test_needle_and_plateau_are_worth_what_the_page_says(draw):
    shown = draw["needle"]()
    for value in (*shown.at_nominal, *shown.at_robust):
        assert f"{value:.2f}" in PAGE
    assert shown.at_nominal[0] > shown.at_robust[0]
    assert shown.at_nominal[1] < shown.at_robust[1]


def test_kernels_have_the_heights_of_the_formula_on_the_page(draw):
    normal, lopsided = draw["kernels"]()
    middle = len(normal.k_f) // 2
    # l / sqrt(l^2 + s^2) and l / sqrt(l^2 + 2 s^2) with l = s = 1
    heights = (normal.k_f[middle], normal.k_gf[middle], normal.k_g[middle])
    assert heights == pytest.approx((1, 2**-0.5, 3**-0.5), abs=1e-12)
    assert lopsided.k_g == pytest.approx(lopsided.k_g[::-1], abs=1e-10)
    assert lopsided.k_gf[0] > 10 * lopsided.k_gf[-1]  # g(x) has to do with f(x + 3)


def test_a_path_of_g_rises_to_its_maximum(draw):
    shown = draw["paths"](num_paths=50)
    highest = shown.g.max(axis=1)
    assert np.all(shown.tops[:, 1] >= highest - 1e-6)
    assert shown.tops[:, 1] == pytest.approx(highest, abs=1e-3)


def test_conditioning_on_the_maximum_removes_variance(information):
    assert (information.v_g <= information.before.v_g).all()
    assert (information.v_f <= information.before.v_f).all()
    assert (information.m_g < information.g_star).all()


def test_rejection_sampling_and_ep_agree_as_the_page_says(draw, information):
    ep, rs, x = information.ep, information.rs, draw["X"]
    assert x[rs.argmax()] == pytest.approx(0.50, abs=0.015)
    assert x[ep.argmax()] == pytest.approx(0.51, abs=0.015)
    assert np.corrcoef(ep, rs)[0, 1] == pytest.approx(0.93, abs=0.02)
    assert np.median(abs(ep - rs)) == pytest.approx(0.03, abs=0.01)
    assert abs(ep - rs).max() == pytest.approx(0.14, abs=0.03)
    assert np.mean(ep < rs) > 0.6  # EP is mostly too low


@thorough
def test_one_method_asks_again_and_the_others_do_not(draw):
    runs = {method: draw["run"](method) for method in draw["LOOKS"]}
    assert runs["uu-ei"].x[-12:] == pytest.approx(1.0, abs=1e-6)
    assert runs["uu-ei"].x[-13] < 0.99  # twelve times in a row
    for method in ("nes-ep", "rkg"):
        assert np.ptp(runs[method].x[-12:]) > 0.3
        assert runs[method].regret[-1] < 1e-3 * runs["uu-ei"].regret[-1]
