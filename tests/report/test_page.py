"""The HTML report, without a browser: what is in the file."""

import base64
import gzip
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import views_made_up as made_up
from meseta.report import page
from meseta.report.page import numbers
from meseta.report.page.axes import reach
from meseta.report.page.chart import plot
from meseta.report.page.labels import label
from meseta.report.page.markup import Markup, element
from meseta.report.views.deviations import Deviation
from meseta.report.views.estimate import BAND, Estimate, SampledEstimate

NBSP = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def pages():
    return {name: page.html(make()) for name, make in made_up.ALL.items()}


def plotted(text):
    """Data and layout of every plot."""
    packed = re.findall(r'<script type="text/plain">([A-Za-z0-9+/=]*)</script>', text)
    return [json.loads(gzip.decompress(base64.b64decode(each))) for each in packed]


def strings(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def without_library(text):
    return re.sub(r'(<script type="text/plain" id="library">)[^<]*', r"\1", text)


class Reader(HTMLParser):
    """Every start of an element, and all text that people see."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.starts, self.texts, self.inside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.starts.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag

    def handle_data(self, data):
        if self.inside and self.inside[-1] not in ("script", "style"):
            self.texts.append(data)


def seen(text):
    return "\n".join(Reader(text).texts)


# ---- numbers


def half(width):
    """A standard deviation whose 95 % interval has that half-width."""
    return width / BAND


@pytest.mark.parametrize(
    ("belief", "unit", "expected"),
    [
        (Estimate(1.83842, half(0.0121)), "N", "1.838 ± 0.012 N"),
        (Estimate(1.83842, half(0.121)), "", "1.84 ± 0.12"),
        (Estimate(-0.5, half(3.2)), "", "-0.5 ± 3.2"),
        (Estimate(12344.0, half(678.0)), "Pa", "12340 ± 680 Pa"),
        (Estimate(1.0, half(0.0996)), "", "1.00 ± 0.10"),
        (Estimate(2.0, 0.0), "N", "2 N"),
        (Estimate(2.0, 1e-12), "N", "2 N"),
        (Estimate(1.2341e-7, half(1.2e-9)), "m", "(1.234 ± 0.012)·10⁻⁷ m"),
        (Estimate(-3.21e9, half(4.4e7)), "", "(-3.210 ± 0.044)·10⁹"),
        (Estimate(0.0, 0.0), "", "0"),
        (Estimate(-0.001, half(1.0)), "", "0.0 ± 1.0"),
        (Estimate(math.nan, 1.0), "N", "not known N"),
    ],
)
def test_estimates_have_the_digits_that_are_known(belief, unit, expected):
    shown = numbers.estimate(belief, unit).replace(NBSP, " ").replace(MINUS, "-")
    assert shown == expected


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (SampledEstimate(12.31, 11.78, 12.93), "12.3 (11.8 to 12.9)"),
        (SampledEstimate(0.0461, 0.0415, 0.0516), "0.046 (0.042 to 0.052)"),
        (SampledEstimate(3.0, 3.0, 3.0), "3 (3 to 3)"),
        (SampledEstimate(-150.0, -220.0, -80.0), "-150 (-220 to -80)"),
    ],
)
def test_intervals_of_draws(drawn, expected):
    assert numbers.with_interval(drawn).replace(MINUS, "-") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0"),
        (1234567.0, "1234567"),
        (0.000123456, "0.00012346"),
        (1.5e-9, "1.5·10⁻⁹"),
        (-2.50, "-2.5"),
        (99999.96, "100000"),
        (100.0, "100"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "not known"),
    ],
)
def test_plain_numbers(value, expected):
    assert numbers.plain(value).replace(MINUS, "-") == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.9713, "97.1 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.99996, "99.996 %"),
        (0.0003, "0.03 %"),
        (0.9999999, "over 99.999 %"),
        (1e-7, "below 0.001 %"),
    ],
)
def test_percentages_say_all_only_of_all(share, expected):
    assert numbers.percent(share).replace(NBSP, " ") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, "3 mm"),
        (-3, "-3 mm"),
        (2.5, "2.5 mm"),
        ("water", "water"),
        (True, "True"),
        (None, "None"),
    ],
)
def test_settings_have_a_unit_if_they_are_numbers(value, expected):
    assert numbers.setting(value, "mm").replace(NBSP, " ").replace(MINUS, "-") == expected


@pytest.mark.parametrize(
    ("ratio", "interval", "pairs", "words"),
    [
        (1.0, (0.7, 1.8), 10, "as assumed"),
        (1.2, (0.5, 7.0), 2, "too few pairs to tell it from the assumed noise"),
        (1.51, (1.01, 2.3), 12, "larger than assumed"),
        (0.66, (0.4, 0.99), 12, "smaller than assumed"),
        (0.0, (0.0, 0.0), 3, "no deviation at all: the instrument may be too coarse to show it"),
        (math.nan, (math.nan, math.nan), 3, "no noise is assumed"),
    ],
)
def test_verdicts_on_deviations(ratio, interval, pairs, words):
    assert Deviation("x", pairs, 0.0, 0.1, 0.0, 0.1, ratio, interval).verdict == words


# ---- safety


def test_text_is_escaped_and_markup_is_not():
    shown = element("p", "a < b", Markup("<br>"), ["&", None], title='"', hidden=True, id=None)
    assert shown == '<p title="&quot;" hidden>a &lt; b<br>&amp;</p>'


@pytest.mark.parametrize("text", made_up.EVIL)
def test_labels_have_no_tags_and_no_templates(text):
    shown = label(text, 80)
    assert "<" not in shown
    assert "%{" not in shown
    assert label("x" * 100, 10) == "xxxxxxxxx…"


def test_the_page_of_evil_names_has_no_more_elements_than_another(pages):
    """Every element and attribute is of the page's own: none comes from a text."""
    allowed = {"html", "head", "meta", "title", "style", "body", "header", "div", "h1", "h2", "h3"}
    allowed |= {"h4", "button", "p", "dl", "dt", "dd", "main", "table", "caption"}
    allowed |= {"thead", "tbody", "tr", "th", "td", "span", "section", "figure", "figcaption"}
    allowed |= {"script", "ul", "li", "strong", "details", "summary"}
    reader = Reader(pages["evil"])
    assert {tag for tag, _ in reader.starts} <= allowed
    assert not any(name.startswith("on") for _, attributes in reader.starts for name in attributes)
    assert not reader.inside
    for text in made_up.EVIL:
        assert text in seen(pages["evil"])


def test_data_of_plots_are_packed_and_labels_in_them_escaped(pages):
    data = plotted(pages["evil"])
    assert len(data) > 10
    for each in data:
        for text in strings(each):
            assert not re.search(r"<(?!br>|extra>|/extra>)", text)


def test_nothing_is_loaded_from_anywhere(pages):
    for text in pages.values():
        rest = without_library(text)
        assert "http://" not in rest
        assert "https://" not in rest
        for _, attributes in Reader(rest).starts:
            assert not {"src", "href", "srcset", "action"} & set(attributes)
        assert "url(" not in rest
        assert "@import" not in rest


# ---- the file


@pytest.mark.parametrize("name", made_up.ALL)
def test_a_report_is_a_small_file(name, pages):
    assert len(pages[name].encode()) < 5_000_000
    assert pages[name].startswith('<!DOCTYPE html>\n<html lang="en">')


@pytest.mark.parametrize("name", ["one", "evil"])
def test_the_same_report_gives_the_same_file(name, pages):
    assert page.html(made_up.ALL[name]()) == pages[name]


def test_numbers_of_the_answer_are_in_its_tables(pages):
    text = seen(pages["two"]).replace(NBSP, " ")
    for shown in (
        *("Extrusion", "36 complete, 3 failed, 1 pending", "Measured on the large press."),
        *("42.4 mm/s", "18.75 mm/s", "220.8 °C", "195 °C"),
        *("1.838 ± 0.012 MPa", "1.826 to 1.850", "1.592 ± 0.063 MPa", "1.9012 ± 0.0084 MPa"),
        *("0.246 ± 0.064 MPa", "0.146 ± 0.031 MPa", "of the nozzle, as set on the controller"),
        *("0.078 ± 0.024 MPa", "60.0 % (50.0 % to 68.0 %)", f"{MINUS}0.0213 MPa per mm/s"),
        *("The design that rkg would evaluate next", "93.4 %", "87.1 %", "larger than assumed"),
        *("Warning, search: ", "RuntimeError: no restart was dropped", "space-filling"),
    ):
        assert shown in text


def test_limits_of_the_value_are_said(pages):
    text = seen(pages["minimised"]).replace(NBSP, " ")
    assert "at least 0 and at most 2.5" in text
    assert "97.1 %\n95 %: 95.3 % to 98.4 %" in text
    assert "97.1 % of the values meet the specification (at least 0 and at most 2.5)" in text
    assert "small values are better" in text


def test_capability_is_a_tab_of_studies_with_limits(pages):
    text = seen(pages["minimised"]).replace(NBSP, " ")
    for shown in (
        *("29 000 ppm (16 000 to 47 000)", "28 000 below, 1 000 above"),
        *("1.21 (0.97 to 1.57)", "∞ (∞ to ∞)", "go by Ppk", "1.33 that is commonly asked for"),
        *("Worst case", "Root sum square", "99.73 % of the values", "Defects by setting"),
    ):
        assert shown in text
    assert 'id="tab-capability"' not in pages["one"]


def test_a_page_says_when_and_of_what_it_was_written(tmp_path):
    report = made_up.one_parameter()
    assert "Written" not in seen(page.html(report))
    file = page.write(report, tmp_path / "report.html", file="press.toml")
    text = seen(file.read_text(encoding="utf-8"))
    assert re.search(
        r"Written\n\d{4}-\d\d-\d\d \d\d:\d\d [+-]\d{4}\nStudy file\npress.toml\n", text
    )
    assert re.search(r"Meseta\n\d+\.\d+", text)


def test_an_axis_is_not_flattened_by_a_few_far_values():
    curve = [math.sin(i / 10) for i in range(100)]
    low, high = reach(curve, [0.5, -0.9, 1e6, -3e5])
    assert -1.2 < low < -0.95
    assert 0.95 < high < 1.2
    low, high = reach([*curve, 1e9], [3.0])
    assert low > -1.5
    assert 3.0 < high < 6.0
    assert reach([], []) == (0.0, 1.0)
    low, high = reach([2.0, 2.0])
    assert low < 2.0 < high


def test_maps_say_what_they_show_and_which_end_is_good(pages):
    for name, end in (("two", "large is good"), ("minimised", "small is good")):
        titles = [
            each["layout"]["title"]["text"]
            for each in plotted(pages[name])
            if "title" in each["layout"]
        ]
        assert any(title.startswith("Robust value (g): ") for title in titles), name
        assert all(title.endswith(end) for title in titles)


def test_evaluations_beyond_a_plot_are_counted():
    report = made_up.one_parameter()
    (one,) = report.landscape.slices
    far = replace(one.data[0], y=1e7, value=1e7)
    odd = replace(one, data=(far, *one.data[1:]))
    text = seen(page.html(replace(report, landscape=replace(report.landscape, slices=(odd,)))))
    assert "1 evaluation lies beyond the plot" in text


def test_every_trial_is_a_row_and_many_of_them_are_folded(pages):
    for name, folded in (("two", False), ("six", True)):
        trials = made_up.ALL[name]().search.trials
        table = pages[name][pages[name].index("Every trial") :]
        assert table.count("<tr>") == len(trials) + 1
        assert ("<details>" in pages[name]) is folded


def test_nothing_finished_is_said_and_trials_are_shown(pages):
    text = seen(pages["nothing"])
    assert "No trial has a value yet" in text
    assert "it jammed" in text
    assert not any(a.get("role") == "tab" for _, a in Reader(pages["nothing"]).starts)


def test_a_gain_that_may_be_none_is_not_called_one():
    report = made_up.one_parameter()
    unclear = replace(report, answer=replace(report.answer, gain=Estimate(0.01, 0.02)))
    text = seen(page.html(unclear))
    assert "not clearly better" in text
    assert "not clearly different" in text


def test_plotted_numbers_keep_the_digits_by_which_they_differ():
    go = pytest.importorskip("plotly.graph_objects")
    y = [1e6 + 1e-3 * i for i in range(5)] + [math.nan]
    figure = go.Figure(layout={"height": 100}).add_scatter(y=y, x=[i / 3 for i in range(6)])
    shown = plotted(plot(figure, "", ""))[0]["data"][0]
    assert shown["y"][-1] is None
    assert len(set(shown["y"][:5])) == 5
    assert shown["x"][1] == 0.333333


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        ("no/such/report.html", FileNotFoundError, "there is no folder"),
        ("", IsADirectoryError, "is a folder"),
        ("/dev/null", FileExistsError, "no regular file"),
    ],
)
def test_bad_paths_are_refused(tmp_path, place, error, words):
    with pytest.raises(error, match=words):
        page.write(made_up.nothing_finished(), tmp_path / place)


def test_a_report_is_written_whole(tmp_path):
    report = made_up.nothing_finished()
    broken = replace(report, terms=replace(report.terms, title="half a pair: \ud83d"))
    path = page.write(broken, str(tmp_path / "report.html"))
    assert path == tmp_path / "report.html"
    assert list(tmp_path.iterdir()) == [path]
    assert "half a pair: ?" in path.read_text(encoding="utf-8")


def test_without_plotly_the_extra_is_named():
    code = "import sys; sys.modules['plotly'] = None; import meseta.report.page"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert "pip install 'meseta[report]'" in done.stderr.splitlines()[-1]
