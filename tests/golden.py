"""Two revisions side by side: which answers did a change move, and by how much?

    python tests/golden.py REVISION [--with REVISION] [--quick] [--case NAME] [--workers N]

Checks REVISION out beside the working tree, plays the same cases with both on this machine, in
processes of their own, and prints the figures that differ. Nothing is stored, so that other
processors round as they like. All answers are from the same told history, and not from runs, in
which the last digit grows. Exit code 1: something moved; 2: a revision cannot be played.

The cases are in `support/golden_cases.py`; what they ask of a revision in
`support/golden_names.py`; what counts as equal in `support/golden_compare.py`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "tests" / "support"
sys.path.insert(0, str(SUPPORT))

from golden_cases import CASES  # noqa: E402
from golden_compare import Compared, compared, lines, summary  # noqa: E402

WRONG_USE = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", help="what to compare with: a commit, a branch, a tag")
    parser.add_argument(
        "--with", dest="other", metavar="REVISION", help="instead of the working tree"
    )
    parser.add_argument("--quick", action="store_true", help="a dozen cases")
    parser.add_argument("--case", action="append", metavar="NAME", help="this one; more by more")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="at the same time")
    words = parser.parse_args()
    names = chosen(words.case, words.quick)
    if words.workers < 1:
        parser.error(f"--workers must be 1 or more, got {words.workers}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        old = stack.enter_context(checked_out(words.revision, folder / "old"))
        new = ROOT
        if words.other is not None:
            new = stack.enter_context(checked_out(words.other, folder / "new"))
        other = words.other or "the working tree"
        print(f"{len(names)} cases by {words.revision} and by {other}", file=sys.stderr)
        results = dict(side_by_side(old, new, names, folder, words.workers))
    print("\n".join(summary({name: results[name] for name in names})))
    sys.exit(any(each.moved for each in results.values()))


def chosen(named: Sequence[str] | None, quick: bool) -> list[str]:
    """The names of the cases to play."""
    for name in named or ():
        if name not in CASES:
            stop(f"there is no case {name!r}; there are {', '.join(CASES)}")
    wanted = named or [name for name, case in CASES.items() if case.quick or not quick]
    return list(dict.fromkeys(wanted))


@contextmanager
def checked_out(revision: str, folder: Path) -> Iterator[Path]:
    """A working tree of a revision, as long as it is needed."""
    commit = git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if commit.returncode:
        stop(f"{revision!r} is no revision that git knows here: name a commit, a branch or a tag")
    made = git("worktree", "add", "--detach", str(folder), commit.stdout.strip())
    if made.returncode:
        stop(f"{revision} cannot be checked out: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def stop(says: str) -> NoReturn:
    print(says, file=sys.stderr)
    sys.exit(WRONG_USE)


def side_by_side(
    old: Path, new: Path, names: Sequence[str], folder: Path, workers: int
) -> Iterator[tuple[str, Compared]]:
    """Compare the cases, and print what differs, by worker."""
    with ThreadPoolExecutor(workers) as pool:
        shares = [names[place::workers] for place in range(workers)]
        folders = [folder / f"share {place}" for place in range(workers)]
        for results in pool.map(partial(compared_share, old, new), shares, folders):
            for name, result in results.items():
                print("".join(f"{line}\n" for line in lines(name, result)), end="", flush=True)
                yield name, result


def compared_share(old: Path, new: Path, names: Sequence[str], folder: Path) -> dict[str, Compared]:
    """The cases of one worker: first all by the old revision, whose databases the new one opens."""
    databases = folder / "databases"
    databases.mkdir(parents=True)
    before = figures(old, names, folder / "old", databases, "--make")
    now = figures(new, names, folder / "new", databases)
    return {name: compared(before[name], now[name], CASES[name]) for name in names}


def figures(
    tree: Path, names: Sequence[str], stem: Path, databases: Path, *words: str
) -> dict[str, Any]:
    """All figures by a revision; where a process dies, the case it was at has its exit code."""
    found: dict[str, Any] = {}
    source = tree / "src"
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(source)}
    while left := [name for name in names if name not in found]:
        written = stem.with_suffix(".jsonl")
        command = [sys.executable, SUPPORT / "golden_play.py", source, written, databases]
        done = subprocess.run(
            [*map(str, command), *words, *left], env=environment, capture_output=True, text=True
        )
        if not written.exists():
            stop(f"the revision in {tree} cannot be played: {done.stderr.strip()}")
        found |= dict(map(json.loads, written.read_text(encoding="utf-8").splitlines()))
        written.unlink()
        if done.returncode:
            died = next((name for name in left if name not in found), None)
            found |= {died: {"given": {"exit code": done.returncode}}} if died else {}
    return found


if __name__ == "__main__":
    main()
