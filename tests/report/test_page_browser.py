"""The HTML report in a real browser: drawn, operated, printed, read without sight or colour."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

import views_made_up as made_up
from browsers import CONTRASTS, launched
from examples import some
from meseta.report import page as report_page
from meseta.report.page.theme import DARK, LIGHT
from meseta.report.views.running import Running
from shared import made_once

SHOWN = ("one", "two", "minimised", "evil", "nothing", "bare")
TABS = ["Robust optimum", "Tolerances", "Landscape", "Trials and model"]


@dataclass
class Opened:
    """A page, and what went wrong on it."""

    page: object
    wrong: list = field(default_factory=list)

    def tab(self, title):
        self.page.get_by_role("tab", name=title).click()

    def drawn(self):
        """How many plots there are in what is open, after checking that each is drawn."""
        charts = self.page.locator(".chart:visible")
        count = charts.count()
        assert self.page.locator(".js-plotly-plot:visible .main-svg").count() >= count
        assert self.page.locator(".chart:visible:not(:has(.main-svg))").count() == 0
        return count


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = made_once(tmp_path_factory, "reports", write_reports)
    return {name: folder / f"{name}.html" for name in SHOWN}


def write_reports(folder):
    for name in SHOWN:
        report_page.write(made_up.ALL[name](), folder / f"{name}.html")


@pytest.fixture
def show(browser, files):
    """Opens a report; nothing may be fetched, and nothing be complained of."""
    contexts, pages = [], []

    def open_report(name, *, width=1280, height=900, **options):
        viewport = {"width": width, "height": height}
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        opened = Opened(context.new_page())
        pages.append(opened)

        def routed(route):
            if route.request.url.startswith(("file:", "data:", "blob:")):
                route.continue_()
            else:
                opened.wrong.append(f"fetched {route.request.url}")
                route.abort()

        context.route("**/*", routed)
        opened.page.on("console", lambda m: opened.wrong.append(f"{m.type}: {m.text}"))
        opened.page.on("pageerror", lambda e: opened.wrong.append(f"error: {e}"))
        opened.page.goto(files[name].as_uri())
        if options.get("java_script_enabled", True):
            opened.page.wait_for_selector("html[data-plots=drawn]", timeout=20_000)
        return opened

    yield open_report
    for context in contexts:
        context.close()
    assert [line for opened in pages for line in opened.wrong] == []


def color_of(opened, selector, what="backgroundColor"):
    script = f"e => getComputedStyle(e).{what}"
    return opened.page.locator(selector).first.evaluate(script)


def rgb(color):
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("one", [1, 4, 1, 4]),
        ("minimised", [1, 8, 9, 8]),
        ("bare", [0, 0, 0, 2]),
    ],
)
def test_every_tab_draws_its_plots_when_it_is_opened(show, name, counts):
    opened = show(name)
    assert opened.page.locator(".js-plotly-plot").count() == counts[0]
    for title, count in zip(TABS, counts, strict=True):
        opened.tab(title)
        assert opened.drawn() == count


def test_a_report_without_an_answer_shows_its_trials(show):
    opened = show("nothing")
    assert opened.page.get_by_role("tab").count() == 0
    assert opened.drawn() == 2
    assert opened.page.get_by_text("it jammed").first.is_visible()


def test_tabs_by_keyboard(show):
    opened = show("one")
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.id") == "theme"
    opened.page.keyboard.press("Tab")
    walk = (("ArrowRight", 1), ("End", 3), ("ArrowRight", 0), ("ArrowLeft", 3), ("Home", 0))
    for key, index in walk:
        opened.page.keyboard.press(key)
        tab = opened.page.locator(":focus")
        assert tab.inner_text() == TABS[index]
        assert tab.get_attribute("aria-selected") == "true"
        assert opened.page.locator("[role=tab][aria-selected=true]").count() == 1
        assert opened.page.locator("[role=tabpanel]:visible").count() == 1
        assert opened.page.locator(f"#{tab.get_attribute('aria-controls')}").is_visible()
    style = opened.page.locator(":focus").evaluate("e => getComputedStyle(e).outlineStyle")
    assert style == "solid"


def test_hovering_says_what_is_there(show):
    opened = show("one")
    opened.tab("Landscape")
    box = opened.page.locator(".chart:visible .nsewdrag").first.bounding_box()
    # 8.16 of 0 to 12: the robust optimum
    opened.page.mouse.move(box["x"] + box["width"] * 0.68, box["y"] + box["height"] * 0.2)
    opened.page.wait_for_selector(".hovertext")
    text = " ".join(opened.page.locator(".hovertext").all_text_contents())
    assert "gripper opening: 8." in text.replace("\N{NO-BREAK SPACE}", " ")


def test_hovering_a_map_says_mean_and_uncertainty(show):
    opened = show("evil")
    opened.tab("Landscape")
    charts = opened.page.locator(".pair .chart:visible")
    charts.first.scroll_into_view_if_needed()
    box = charts.first.locator(".nsewdrag").bounding_box()
    for across in (0.5, 0.55, 0.6):  # evaluations are in the way of some
        opened.page.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * 0.08)
        opened.page.wait_for_selector(".hovertext")
        text = opened.page.locator(".hovertext").first.text_content()
        if "trial" not in text:
            break
    assert "±" in text
    assert made_up.EVIL[0][:24] in text
    assert "%{" in text


def test_the_theme_can_be_changed_and_plots_follow(show):
    opened = show("one")
    button = opened.page.locator("#theme")
    for words, palette in (("auto", LIGHT), ("light", LIGHT), ("dark", DARK), ("auto", LIGHT)):
        assert button.inner_text() == f"Theme: {words}"
        assert color_of(opened, "body") == rgb(palette.ground)
        assert color_of(opened, ".chart:visible .main-svg", "background").startswith(
            rgb(palette.panel)
        )
        assert color_of(opened, ".chart:visible .xtick text", "fill") == rgb(palette.ink)
        button.click()


def test_the_theme_of_the_system_is_followed(show):
    opened = show("one", color_scheme="dark")
    assert color_of(opened, "body") == rgb(DARK.ground)
    assert color_of(opened, ".chart:visible .xtick text", "fill") == rgb(DARK.ink)
    opened.page.emulate_media(color_scheme="light")
    assert color_of(opened, "body") == rgb(LIGHT.ground)
    assert color_of(opened, ".chart:visible .xtick text", "fill") == rgb(LIGHT.ink)


@pytest.mark.parametrize("name", some(["minimised", "evil"], 2))
def test_on_a_phone_the_page_does_not_scroll_sideways(show, name):
    opened = show(name, width=360, height=740, has_touch=True, is_mobile=True)
    for title in TABS:
        opened.tab(title)
        opened.drawn()
        widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        scroll, client = opened.page.evaluate(widths)
        assert scroll <= client <= 360
        wide = "es => es.filter(e => e.getBoundingClientRect().right > 360).length"
        assert opened.page.locator(".plot:visible, .main-svg:visible").evaluate_all(wide) == 0


def test_printed_all_panels_are_there(show, tmp_path):
    opened = show("two", color_scheme="dark")
    opened.page.emulate_media(media="print")
    assert opened.page.locator("[role=tabpanel]:visible").count() == 4
    assert not opened.page.locator("#theme").is_visible()
    assert opened.drawn() == 17
    assert color_of(opened, "body") == rgb("#ffffff")
    assert color_of(opened, ".chart .xtick text", "fill") == rgb(LIGHT.ink)
    path = tmp_path / "report.pdf"
    opened.page.pdf(path=path, format="A4", print_background=True)
    assert path.read_bytes().startswith(b"%PDF")
    assert path.stat().st_size > 50_000
    opened.page.emulate_media(media="screen")
    assert opened.page.locator("[role=tabpanel]:visible").count() == 1
    assert color_of(opened, ".chart:visible .xtick text", "fill") == rgb(DARK.ink)


def test_names_of_users_are_shown_and_never_run(show):
    opened = show("evil")
    for title in TABS:
        opened.tab(title)
        assert opened.drawn() > 0
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img:not(.chart img), .chart a, main b").count() == 0
    assert opened.page.locator("h1").inner_text() == made_up.EVIL[0]
    titles = opened.page.locator(".xtitle").all_text_contents()
    assert any(title.startswith(made_up.EVIL[0][:24]) for title in titles)
    assert any(title.startswith(made_up.EVIL[1][:24]) for title in titles)
    opened.tab("Landscape")
    ticks = opened.page.locator(".xtick:visible").all_text_contents()
    assert made_up.EVIL[1][:19] in [tick[:19] for tick in ticks]


def test_contrast_is_enough_to_read(show):
    opened = show("two")
    for title in TABS:
        opened.tab(title)
        for scheme in ("light", "dark"):
            opened.page.emulate_media(color_scheme=scheme)
            found = opened.page.evaluate(CONTRASTS)
            assert len(found) > 20
            assert [each for each in found if each[2] < 4.5] == []


def test_the_page_can_be_read_without_seeing_it(show):
    opened = show("two")
    levels = opened.page.locator("h1, h2, h3, h4").evaluate_all("es => es.map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    labels = "es => es.map(e => e.getAttribute('aria-label') || '')"
    images = opened.page.locator("[role=img]").evaluate_all(labels)
    assert len(images) == 17
    assert all(len(text) > 30 for text in images)
    for button in opened.page.locator("button:visible:not(.chart *)").all():
        assert button.inner_text().strip()
    for table in opened.page.locator("table").all():
        assert table.locator("caption").count() == 1
        assert table.locator("th:not([scope])").count() == 0
    assert opened.page.locator("html").get_attribute("lang") == "en"
    assert opened.page.title() == "Extrusion"
    for panel in opened.page.locator("[role=tabpanel]").all():
        tab = opened.page.locator(f"#{panel.get_attribute('aria-labelledby')}")
        assert tab.get_attribute("aria-controls") == panel.get_attribute("id")


def test_without_scripts_the_tables_are_there(show):
    opened = show("two", java_script_enabled=False)
    assert opened.page.get_by_text("The plots need JavaScript").is_visible()
    assert opened.page.locator("table:visible").count() == opened.page.locator("table").count()
    assert opened.page.locator("h2:visible").all_inner_texts() == TABS
    assert opened.page.locator(".plot:visible, [role=tablist]:visible").count() == 0


def test_an_old_browser_is_told_why_there_are_no_plots(browser, files):
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    opened = context.new_page()
    opened.goto(files["two"].as_uri())
    notice = opened.locator("#without-plots")
    notice.wait_for(state="visible")
    assert "too old" in notice.inner_text()
    assert opened.locator("table:visible").count() > 1
    assert opened.locator(".plot:visible").count() == 0
    context.close()


@pytest.mark.parametrize(
    ("age", "said"),
    [(-3600, ""), (60, ""), (110, "110 seconds"), (7500, "2 hours"), (10 * 86400, "10 days")],
)
def test_the_page_of_a_run_that_was_killed_says_how_old_it_is(browser, tmp_path, age, said):
    written = datetime(2026, 5, 4, tzinfo=UTC)
    begun = replace(made_up.two_parameters(), running=Running(3, 9, written, 30))
    path = report_page.write(begun, tmp_path / "running.html")
    context = browser.new_context()
    opened = context.new_page()
    opened.clock.set_fixed_time(written + timedelta(seconds=age))
    opened.goto(path.as_uri())
    notice = opened.locator("#running").inner_text()
    assert notice.startswith("Was running: 3 of 9" if said else "Running: 3 of 9")
    assert (f"Not renewed for {said}: " if said else "loads itself anew.") in notice
    assert ("Not renewed" in notice) == bool(said)
    context.close()


def test_the_page_of_a_running_study_loads_itself_anew_and_keeps_its_place(browser, tmp_path):
    running = Running(3, 9, datetime(2026, 5, 4, tzinfo=UTC), 4)
    begun = replace(made_up.two_parameters(), running=running)
    path = report_page.write(begun, tmp_path / "running.html")
    context = browser.new_context(viewport={"width": 1000, "height": 600})
    opened = context.new_page()
    opened.goto(path.as_uri())
    assert "3 of 9 trials" in opened.locator("#running").inner_text()
    opened.get_by_role("tab", name="Landscape").click()
    opened.evaluate("window.scrollTo(0, 250)")
    report_page.write(made_up.two_parameters(), path)
    opened.wait_for_selector("html[data-plots=drawn]:not(:has(#running))", timeout=20_000)
    selected = opened.locator("[role=tab][aria-selected=true]").inner_text()
    assert selected == "Landscape"
    assert opened.evaluate("window.scrollY") == 250
    opened.evaluate("window.marked = true")
    opened.wait_for_timeout(4500)  # a finished study is not loaded again
    assert opened.evaluate("window.marked")
    opened.reload()
    opened.wait_for_selector("html[data-plots=drawn]")
    assert opened.locator("[role=tab][aria-selected=true]").inner_text() == TABS[0]
    context.close()
