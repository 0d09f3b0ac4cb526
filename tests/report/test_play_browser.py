"""What the page computes by itself, in a real browser: against Python, and as people use it."""

import math
import random
import re
from dataclasses import replace
from importlib.resources import files

import pytest
import torch
from scipy.special import erfcx

import play_cases
from browsers import CONTRASTS, launched
from examples import some
from meseta import Environment, Float, Int, Normal, Uniform
from meseta.kernels.shapes import SHAPES
from meseta.report import for_optimizer
from meseta.report.page import numbers
from meseta.report.page.play_tab import plain
from meseta.report.views.estimate import Estimate
from meseta.report.views.played import placed, played, row_of
from meseta.report.views.wording import Terms
from play_cases import made, settings_of
from shared import made_once

FIGURES = """([ground, cases]) => {
  const model = mesetaModel.modelOf(ground);
  return cases.map(([settings, times]) => {
    const row = model.rowOf(settings);
    const [g, f] = [model.estimate(row, times, true), model.estimate(row, times, false)];
    const { values, weights } = model.values(row, times);
    const some = model.shareInterval(row, times, g.mean, Infinity);
    const spread = ground.knobs.map((_, k) => model.spread(k, row, times));
    return { g, f, values: [...values], weights: [...weights], some, spread,
             mean: model.meanOfG(row, times) };
  });
}"""


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def bare(browser):
    """A page with nothing but the model."""
    page = browser.new_page()
    page.add_script_tag(content=files("meseta.report.page").joinpath("model.js").read_text("utf-8"))
    yield page
    page.close()


@pytest.mark.parametrize("name", some(play_cases.ALL, 4))
def test_the_page_computes_what_python_does(bare, name):
    subject, ground = made(name)
    rng = random.Random(f"browser {name}")
    cases = [settings_of(ground, rng) for _ in range(4)]
    cases.append(([knob.robust for knob in ground.knobs], [1.0] * len(ground.knobs)))
    found = bare.evaluate(FIGURES, [plain(ground, Terms()), cases])
    y = torch.tensor([t.value for t in subject.optimizer.trials if t.value is not None])
    close = 1e-6 * float(y.std())
    for (settings, factors), page in zip(cases, found, strict=True):
        row = row_of(ground, settings)
        python = played(ground, row, factors)
        for key, expected in (("g", python.robust), ("f", python.nominal)):
            assert page[key]["mean"] == pytest.approx(expected.mean, abs=close)
            # the root of a difference: its square has the digits
            assert page[key]["std"] ** 2 == pytest.approx(
                expected.std**2, rel=1e-6, abs=close * float(y.std())
            )
            low, high = (
                max(ground.possible[0], page[key]["mean"] - numbers.BAND * page[key]["std"]),
                min(ground.possible[1], page[key]["mean"] + numbers.BAND * page[key]["std"]),
            )
            assert (page[key]["low"], page[key]["high"]) == pytest.approx((low, high))
        assert page["values"] == pytest.approx(python.values, abs=close)
        assert page["weights"] == pytest.approx(python.weights, abs=1e-12)
        low, high = page["some"]
        assert 0 <= low <= high <= 1 + 1e-9
        if not ground.noise.together:  # a map has fewer draws of these
            assert page["mean"] == pytest.approx(python.robust.mean, abs=close)


def test_with_too_many_values_the_page_has_means_alone(bare):
    _, ground = made("auto")
    many = replace(ground, parts=tuple(replace(part, noise=()) for part in ground.parts))
    case = ([0.3, 0.7], [1.0, 0.5])
    few, found = (
        bare.evaluate(FIGURES, [plain(each, Terms()), [case]])[0] for each in (ground, many)
    )
    assert found["g"]["mean"] == few["g"]["mean"]
    assert math.isnan(found["g"]["std"])
    assert found["some"] is None
    assert found["values"] == few["values"]


def test_widths_in_units_of_the_parameters(bare):
    _, ground = made("relative")
    cases = [([2.0, 1.0], [1.0, 1.0]), ([3.0, 4.0], [0.5, 2.0])]
    for (settings, factors), page in zip(
        cases, bare.evaluate(FIGURES, [plain(ground, Terms()), cases]), strict=True
    ):
        x = row_of(ground, settings)[0]
        z, weights = placed(ground.noise.columns[0], x, factors[0])
        raw = 1 + 2 * z
        std = float((weights * (raw - weights @ raw).square()).sum().sqrt())
        assert std == pytest.approx(0.1 * settings[0] * factors[0], rel=1e-6)
        assert page["spread"][0] == pytest.approx(std, rel=0.02)  # by draws
        assert page["spread"][1] == pytest.approx(0.2 * settings[1] * factors[1], rel=0.15)


def test_error_function_and_averages_of_kernels(bare):
    x = [0.0, 1e-8, 0.3, 0.9, 1.5, 1.99, 2.0, 2.01, 3.0, 5.0, 12.0, 40.0, 1e4]
    found = bare.evaluate("xs => xs.map(mesetaModel.erfcx)", x)
    assert found == pytest.approx(erfcx(x), rel=2e-13)
    cases = [
        (shape, z, std)
        for shape in ("se", "matern12", "matern32", "matern52")
        for z in (0.0, 0.01, 0.7, 3.0, 9.0)
        for std in (0.0, 1e-4, 0.1, 1.0, 4.0, 9.0, 40.0)
    ]
    wide = [s != "se" and std * (2 * SHAPES[s].nu) ** 0.5 > 12 for s, _, std in cases]
    script = "cs => cs.map(([s, z, std, wide]) => mesetaModel.smoothed(s, z, std, wide))"
    found = bare.evaluate(script, [[*case, w] for case, w in zip(cases, wide, strict=True)])
    for (shape, z, std), value in zip(cases, found, strict=True):
        one = torch.ones(1, dtype=torch.double)
        form = SHAPES[shape].form(Normal(1.0), std)
        exact = float(form(one, std * one).gf(z * one[None]))
        assert value == pytest.approx(exact, rel=1e-10, abs=1e-14)


def test_the_interval_of_a_share_is_that_of_sample_paths(bare):
    subject, ground = made("auto")
    limit = subject.robust.mean
    script = """([ground, limit]) => {
      const model = mesetaModel.modelOf(ground);
      const row = model.rowOf(ground.knobs.map((knob) => knob.robust));
      return model.shareInterval(row, ground.knobs.map(() => 1), limit, Infinity);
    }"""
    low, high = bare.evaluate(script, [plain(ground, Terms()), limit])
    z = subject.perturbed(subject.x_robust, 2000, stream=2)
    share = (subject.f_values(z) >= limit).double().mean(-1)
    expected = share.quantile(torch.tensor([0.025, 0.975], dtype=torch.double)).tolist()
    assert (low, high) == pytest.approx(expected, abs=0.04)


# ---- the page


@pytest.fixture(scope="module")
def report_files(tmp_path_factory):
    folder = made_once(tmp_path_factory, "played", write_reports)
    return {name: folder / f"{name}.html" for name in ("plain", "mixed", "kinds")}


def write_reports(folder):
    evil = "</script><b>&{%{x}"
    mixed = play_cases.told(
        {
            "speed": Float(1.0, 10.0, log=True),
            "layers": Int(1, 8),
            evil: (0.0, 1.0),
            "heat": (10.0, 30.0),
        },
        {
            "speed": Uniform(0.3),
            "layers": Normal(0.5),
            evil: Normal(0.1),
            "heat": Environment(Normal(4.0, mean=20.0)),
        },
        direction="minimize",
    )
    words = {"title": "Extrusion", "value": "wall", "unit": "mm"}
    plain = for_optimizer(made("auto")[0].optimizer, at_least=1.7, **words)
    plain.save(folder / "plain.html")
    for_optimizer(mixed, **words).save(folder / "mixed.html")
    for_optimizer(made("kinds")[0].optimizer, **words).save(folder / "kinds.html")


@pytest.fixture
def show(browser, report_files):
    contexts, wrong = [], []

    def open_report(name, *, width=1200, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: wrong.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda e: wrong.append(f"error: {e}"))
        page.goto(report_files[name].as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-plots=drawn]", timeout=20_000)
            page.get_by_role("tab", name="Try it").click()
            page.wait_for_selector("html[data-played]", timeout=20_000)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert wrong == []


def settled(page, act):
    """Does something, and waits until all figures have followed."""
    before = page.evaluate("document.documentElement.dataset.played")
    act()
    page.wait_for_function(
        "before => document.documentElement.dataset.played !== before", arg=before
    )


def figure(page, key):
    return page.locator(f"#play-{key}").inner_text().replace("\xa0", " ")


def test_it_starts_at_the_figures_of_the_first_part(show, report_files):
    page = show("plain")
    table = re.sub("<[^>]+>", "|", report_files["plain"].read_text("utf-8")).replace("\xa0", " ")
    for key in ("robust", "nominal"):
        text = figure(page, key)
        assert "±" in text
        # intervals leave the hyper-parameters open there, so that there are fewer digits
        shown = [float(each) for each in re.findall(r"\|(\d+\.\d+) ±", table)]
        assert min(abs(each - float(text.split()[0])) for each in shown) < 1e-3
    assert f"|{figure(page, 'meets')}|" in table  # counted there with many more draws
    between = page.locator("#play-meets-more").inner_text().replace("\xa0", " ")
    assert re.fullmatch(r"95 %: [\d.]+ % to [\d.]+ %", between)
    assert f"|{between}|" in table
    assert page.locator(".chart:visible .main-svg").count() >= 2


def test_sliders_fields_and_buttons(show):
    page = show("plain")
    start = figure(page, "robust"), figure(page, "nominal")
    page.locator("#set-0").focus()
    settled(page, lambda: [page.keyboard.press("ArrowLeft") for _ in range(40)])
    assert figure(page, "robust") != start[0]
    assert "robust optimum today" in page.locator("#play-robust-more").inner_text()
    assert "Robust value (g)" in page.locator("#play-said").inner_text()
    settled(page, lambda: page.locator("#play-to-robust").click())
    assert (figure(page, "robust"), figure(page, "nominal")) == start
    settled(page, lambda: page.locator("#tol-0").fill("0"))
    settled(page, lambda: page.locator("#tol-1-number").fill("0") or page.keyboard.press("Tab"))
    assert figure(page, "robust") == figure(page, "nominal") == start[1]
    assert page.locator("#tol-0-width").inner_text().endswith("\xa00")
    settled(page, lambda: page.locator("#play-to-nominal").click())
    settled(page, lambda: page.locator("#play-to-reset").click())
    assert (figure(page, "robust"), figure(page, "nominal")) == start
    assert page.locator("#tol-0-number").input_value() == "1"
    number = page.locator("#set-0-number")
    settled(page, lambda: number.fill("7") or page.keyboard.press("Tab"))
    assert number.input_value() == "1"  # the end of the range
    settled(page, lambda: page.locator("#play-up").select_option("-1"))
    assert page.locator("figure[data-live=map] .scatterlayer .trace").count() > 2


def test_steps_logarithms_and_what_cannot_be_moved(show):
    page = show("mixed")
    said = page.locator(".controls").inner_text()
    assert "The tolerance of heat cannot be moved here, because nobody sets it" in said
    assert page.locator("#set-3, #tol-3").count() == 0
    layers = page.locator("#set-1")
    assert layers.get_attribute("max") == "7"
    settled(page, lambda: layers.fill("0"))
    settled(page, lambda: layers.fill("3"))
    assert page.locator("#set-1-number").input_value() == "4"
    settled(page, lambda: page.locator("#set-0").fill("250"))
    settled(page, lambda: page.locator("#set-0").fill("500"))
    assert float(page.locator("#set-0-number").input_value()) == pytest.approx(10**0.5, rel=1e-5)
    assert page.evaluate("document.querySelectorAll('main b').length") == 0


def test_choices(show):
    page = show("kinds")
    before = figure(page, "robust")
    chosen = page.locator("#set-0").input_value()
    other = "0" if chosen != "0" else "2"
    settled(page, lambda: page.locator("#set-0").select_option(other))
    assert figure(page, "robust") != before
    assert "mistaken 20" in page.locator("#tol-0-width").inner_text()


@pytest.mark.parametrize("name", some(["plain", "mixed", "kinds"], 2))
def test_on_a_phone_nothing_scrolls_sideways(show, name):
    page = show(name, width=380, height=740, has_touch=True, is_mobile=True)
    scroll, client = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert scroll <= client <= 380
    wide = "es => es.filter(e => e.getBoundingClientRect().right > 380).length"
    assert page.locator(".play *:visible, .played .plot").evaluate_all(wide) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read(show, scheme):
    page = show("mixed", color_scheme=scheme)
    assert [each for each in page.evaluate(CONTRASTS) if each[2] < 4.5] == []
    unnamed = """es => es.filter(e => !e.labels?.length && !e.getAttribute("aria-label")).length"""
    controls = page.locator(".played input, .played select")
    assert controls.count() > 10
    assert controls.evaluate_all(unnamed) == 0


def test_printed_figures_are_there_and_sliders_are_not(show):
    page = show("plain")
    settled(page, lambda: page.locator("#tol-0").fill("0.5"))
    text = figure(page, "robust")
    page.emulate_media(media="print")
    assert page.locator("input[type=range]:visible, .buttons:visible").count() == 0
    assert page.locator("#tol-0-number").is_visible()
    assert page.locator("#tol-0-number").input_value() == "0.5"
    assert figure(page, "robust") == text


def test_without_scripts_a_sentence_says_so(show):
    page = show("plain", java_script_enabled=False)
    assert page.get_by_text("This part needs JavaScript").is_visible()
    assert page.locator(".played:visible").count() == 0


def test_numbers_are_written_as_elsewhere(browser, report_files, bare):
    page = browser.new_page()
    page.goto(report_files["plain"].as_uri())
    page.wait_for_selector("html[data-plots=drawn]", timeout=20_000)
    rng = random.Random(3)
    cases = [
        (rng.uniform(-1, 1) * 10 ** rng.uniform(-8, 9), 10 ** rng.uniform(-9, 6))
        for _ in range(300)
    ]
    cases += [(0.0, 0.0), (0.0, 0.1), (1.0, 0.0), (-12.5, 3.0)]
    found = page.evaluate(
        "cs => cs.map(([mean, std]) => mesetaNumbers.estimate({ mean, std }, 'N'))", cases
    )
    assert found == [numbers.estimate(Estimate(*case), "N") for case in cases]
    shares = [0.0, 1.0, 0.5, 0.99999, 0.9997, 0.00004, 0.123, 0.9999999, 1e-8]
    assert page.evaluate("ss => ss.map(mesetaNumbers.percent)", shares) == [
        numbers.percent(share) for share in shares
    ]
    values = [mean for mean, _ in cases]
    assert page.evaluate("vs => vs.map((v) => mesetaNumbers.plain(v, 4))", values) == [
        numbers.plain(value, 4) for value in values
    ]
    page.close()
