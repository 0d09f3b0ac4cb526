"""Play cases with the revision that PYTHONPATH names, and write their figures, a line of JSON each.

    python golden_play.py SOURCE FIGURES DATABASES [--make] CASE ...

Started by `tests/golden.py`. SOURCE is where the library must come from. DATABASES has the studies
of the earlier revision, which it puts there with --make.
"""

import base64
import csv
import gzip
import html
import json
import math
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import golden_names as names
from golden_cases import CASES, Case

FILE = "study.toml"
# What differs from one run to the next: moments, people, processes, marks of a database.
FLEETING = {"when", "who", "written", "version", "origin", "worker", "begun", "seconds"}
OPENED = ("status", "recommend", "ask")


def main() -> None:
    source, figures, databases, *words = sys.argv[1:]
    make, chosen = "--make" in words, [word for word in words if word != "--make"]
    import meseta

    if not Path(meseta.__file__).is_relative_to(Path(source).resolve()):
        sys.exit(f"the library must come from {source}, got {meseta.__file__}")
    with Path(figures).open("w", encoding="utf-8") as file:
        for name in chosen:
            made = played(CASES[name], Path(databases).resolve(), make)
            file.write(json.dumps([name, made]) + "\n")
            file.flush()


def played(case: Case, databases: Path, make: bool) -> dict[str, Any]:
    """All figures of a case; of one that is refused, the refusal."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        os.chdir(folder)
        try:
            Path(FILE).write_text(case.text, encoding="utf-8")
            made = _figures(case, databases, make)
        except Exception as error:
            made = {"given": {"refused": f"{type(error).__name__}: {error}"}}
        finally:
            os.chdir(before)
    told = {str(each.message) for each in said if issubclass(each.category, UserWarning)}
    made.setdefault("given", {})["warnings"] = sorted(told)
    return made


def _figures(case: Case, databases: Path, make: bool) -> dict[str, Any]:
    path = Path(FILE)
    if case.conditional:
        found = names.in_optuna(case, path)
        return {"designs": {name: _design(*each) for name, each in found.items()}}
    given, designs = {}, {}
    optimizer = names.optimizer_of(case, path)
    for number, params in enumerate(case.given, start=1):
        given[f"promise {number}"] = plain(optimizer.promise(params))
    for name, (answer, worth) in names.answers(optimizer).items():
        designs[name] = _design(answer.params, answer, worth)
    for number in range(case.ask):
        designs[f"ask {number + 1}"] = _design(*names.asked(optimizer))
    made = {"given": given, "designs": designs}
    return made | ({"printed": _printed(case, databases, make)} if case.commands else {})


def _design(params: Mapping[str, Any], about: Any, worth: names.Worth) -> dict[str, Any]:
    figures = plain(about)
    figures.pop("params", None)
    return {"params": plain(params), "worth": worth, "figures": figures}


def plain(value: Any) -> Any:
    """Figures as JSON has them; numbers that are not finite, and all else, as texts."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items() if key not in FLEETING}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if is_dataclass(value):
        return plain({each.name: getattr(value, each.name) for each in fields(value)})
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _printed(case: Case, databases: Path, make: bool) -> dict[str, Any]:
    """What every command says: of a study of this revision, and of one of the earlier revision."""
    _write_history(case)
    printed = {"import": _json("import", FILE, "history.csv", "--json")}
    printed["ask"] = _json("ask", FILE, "-n", "2", "--json")
    if make:
        shutil.copytree(Path.cwd(), databases / case.name)
    for command in ("status", "recommend", "report"):
        printed[command] = _json(command, FILE, "--json")
    for command in ("tolerances", "window"):
        printed[command] = _json(command, FILE, "--json")
    plan = printed["confirm -n"] = _json("confirm", FILE, "-n", "3", "--json")
    printed["tell of runs"] = _told(case, plan if isinstance(plan, str) else plan["runs"])
    printed["confirm"] = _json("confirm", FILE, "--json")
    printed["tell"] = _told(case, printed["ask"][:1])
    printed["status at the end"] = _json("status", FILE, "--json")
    earlier = databases / case.name
    if not earlier.is_dir():
        return printed | {"opened": "the earlier revision made no study"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(shutil.copytree(earlier, Path(folder) / "study"))
        printed["opened"] = {each: _json(each, FILE, "--json") for each in OPENED}
        printed["opened"]["page"] = _page()
    return printed


def _write_history(case: Case) -> None:
    rows = []
    for each in case.history:
        value, std = each["value"], each.get("std")
        outcomes = value if isinstance(value, dict) else {case.objective: value}
        rows.append({**each["params"], **outcomes, **({} if std is None else {"std": std})})
    with Path("history.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _told(case: Case, planned: Any) -> Any:
    """The results of planned trials, told; if there is no plan, what came in its place."""
    if isinstance(planned, str):
        return planned
    answers = []
    for each in planned:
        value = case.value(each["params"])
        words = [f"{k}={v}" for k, v in value.items()] if isinstance(value, dict) else [f"{value}"]
        answers.append(_json("tell", FILE, str(each["trial"]), *words, "--json", "--yes"))
    return answers


def _json(*words: str) -> Any:
    """What a command says in JSON, or how it ends without."""
    code, text = names.command(words)
    return plain(json.loads(text)) if code == 0 else f"exit code {code}"


def _page() -> Any:
    """The text of the page that people see, and the numbers in its plots."""
    code, _ = names.command(["report", FILE, "-o", "page.html"])
    return page_of(Path("page.html").read_text("utf-8")) if code == 0 else f"exit code {code}"


def page_of(page: str) -> dict[str, Any]:
    """The visible text of a page by line, and the data of its scripts."""
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    data = [text for words, text in scripts if "text/plain" in words and "library" not in words]
    bare = re.sub(r"<(script|style|head)\b.*?</\1>", " ", page, flags=re.DOTALL)
    lines = [" ".join(each.split()) for each in re.split(r"<[^>]+>", bare)]
    head = iter(html.unescape(line) for line in lines if line)
    texts = list(_without_stamps(head))
    return {"text": texts, "plots": [plain(json.loads(_unpacked(each))) for each in data]}


def _without_stamps(lines: Iterator[str]) -> Iterator[str]:
    """Without when and by which version it was written."""
    for line in lines:
        if line in ("Written", "Meseta"):
            next(lines, None)
        else:
            yield line


def _unpacked(text: str) -> str:
    return gzip.decompress(base64.b64decode(text)).decode()


if __name__ == "__main__":
    main()
