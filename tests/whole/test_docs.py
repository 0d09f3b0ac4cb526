"""README and docs are executed, so that they can't rot; for the examples see test_examples.py."""

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import cli_page
from meseta.acquisition import methods
from pages import DOCS, PAGES, ROOT, blocks, is_run, name_of, one_story, run_page, session

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to be in, and nothing that a page leaves behind outside of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(methods, "METHODS", dict(methods.METHODS))  # for methods of readers
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", [p for p in PAGES if any(map(is_run, blocks(p)))], ids=name_of)
def test_what_the_page_shows_runs(page, folder):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "an evaluation of f failed", RuntimeWarning)
        printed = run_page(page)
    prints = any(is_run(b) and b.kind == "python" and "print(" in b.text for b in blocks(page))
    assert not prints or printed


def test_pages_where_blocks_stand_alone_are_those_at_the_top():
    assert not one_story(ROOT / "README.md")
    assert not one_story(DOCS / "noise.md")
    assert one_story(DOCS / "tutorials" / "lab-by-hand.md")


@every_page
def test_code_is_run_or_says_why_not(page):
    """Other kinds of blocks can't be mistaken for those that are run."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^ *```(\S+)", text, flags=re.MULTILINE)
    assert len(fences) == len(blocks(page)), "a fence that is indented or has no end"
    assert set(fences) <= {"python", "console", "sh", "toml", "csv", "text"}


@every_page
def test_commands_on_the_page_exist(page):
    """Also those that are not run: every word after `meseta`, and every option."""
    known = cli_page.commands()
    for line in commands_on(page):
        words = line.split("#")[0].split()
        if words[1].startswith("--"):
            continue
        name = " ".join(words[: 3 if words[1] in ("arena", "bench") else 2])
        assert name in known, line
        options = {option for each in known[name].params for option in each.opts} | {"--help"}
        used = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= options, line


def commands_on(page):
    for block in blocks(page):
        if block.kind == "console":
            lines = [command for command, _ in session(block.text)]
        elif block.kind == "sh":
            lines = block.text.splitlines()
        else:
            continue
        yield from (line for line in lines if line.startswith("meseta "))


def test_the_page_of_commands_is_what_help_says():
    assert cli_page.PAGE.read_text(encoding="utf-8") == cli_page.text(), (
        "commands or options have changed: run python tests/support/cli_page.py"
    )


@every_page
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for target, anchor in LINK.findall(text):
        path = page.parent / target if target else page
        assert path.exists(), f"{name_of(page)} links to {target}"
        if anchor and path.suffix == ".md":
            assert anchor[1:] in anchors(path), f"{name_of(page)} links to {target}{anchor}"


def anchors(page):
    """Of its headings, as GitHub and the site have them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in titles}


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert page.relative_to(DOCS).as_posix() in navigation


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("material", "mkdocstrings"))),
    reason="the site needs mkdocs-material and mkdocstrings: pip install 'meseta[docs]'",
)
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img|iframe)[^>]+[\"'](?:https?:)?//[^>]+", text)
    for style in tmp_path.rglob("*.css"):
        assert not re.findall(r"url\([\"']?https?:", style.read_text(encoding="utf-8"))
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is not None and importlib.util.find_spec("playwright"):
        _search_from_the_disk(program, tmp_path / "tutorials" / "index.html")


def _search_from_the_disk(program, page):
    """What the search finds is a page that is there, and nothing comes from the network."""
    from playwright.sync_api import sync_playwright

    asked = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        shown = browser.new_page(viewport={"width": 1280, "height": 900})
        shown.on("request", lambda request: asked.append(request.url))
        shown.goto(page.as_uri())
        shown.locator("input.md-search__input").click()
        shown.keyboard.type("tolerance")
        found = shown.locator(".md-search-result__link").first
        found.wait_for()
        found.click()
        shown.wait_for_url(lambda address: not address.startswith(page.as_uri()))
        reached = Path(unquote(urlsplit(shown.url).path))
        browser.close()
    assert reached.is_file()
    assert all(address.startswith("file:") for address in asked)


def test_the_demo_runs_and_draws_its_picture(tmp_path, capsys):
    picture = tmp_path / "folder" / "picture.png"
    runpy.run_path(str(ROOT / "examples" / "needle_and_plateau.py"))["main"](picture)
    assert picture.stat().st_size > 10_000
    assert "robust optimum" in capsys.readouterr().out
