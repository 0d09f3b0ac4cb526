"""A wheel, tried in a new environment of each Python that the package is for.

    python tests/interpreters.py dist/meseta-0.2.0.dev0-py3-none-any.whl [3.11 3.13]
    python tests/interpreters.py --find 3.10    # where that one is

Interpreters are looked for on the PATH, among those of pyenv, and by uv. Those that are not there
are not tried, and the last lines say so. Environments are made in .venv-package; one stays only
if something went wrong in it.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
# What an interpreter says of itself, if it can make environments.
PROBE = "import ensurepip, ssl, sqlite3, venv, platform; print(platform.python_version())"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, nargs="?")
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"of {', '.join(VERSIONS)}")
    parser.add_argument("--find", metavar="VERSION", help="print the path of an interpreter")
    chosen = parser.parse_args()
    if chosen.find:
        path = found(chosen.find)
        print(path or sys.exit(f"no Python {chosen.find} was found; name one by its path"))
        return
    if chosen.wheel is None:
        parser.error("name a wheel, or --find VERSION")
    versions = chosen.versions or VERSIONS
    if unknown := set(versions) - set(VERSIONS):
        parser.error(f"meseta is for Python {', '.join(VERSIONS)}, not {', '.join(unknown)}")
    said = {version: tried(version, chosen.wheel.resolve()) for version in versions}
    print("\n".join(f"Python {version}: {verdict}" for version, verdict in said.items()))
    if any(verdict.startswith("failed") for verdict in said.values()):
        sys.exit("the wheel does not work with every Python that is here")
    if not any(verdict.startswith("fine") for verdict in said.values()):
        sys.exit("the wheel was tried with no Python: none of these is here")


def tried(version: str, wheel: Path) -> str:
    """What came of it: "fine", "failed" or "not found", with what matters about it."""
    python = found(version)
    if python is None:
        return "not found, not tried"
    folder = ROOT / ".venv-package" / version
    shutil.rmtree(folder, ignore_errors=True)
    new = str(folder / "bin" / "python")
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for step in (
        [python, "-m", "venv", str(folder)],
        [new, *install, "-c", str(ROOT / "constraints.txt"), str(wheel)],
        [new, "-I", str(ROOT / "tests" / "smoke.py"), "--without-extras"],
    ):
        if subprocess.run(step, cwd=wheel.parent).returncode != 0:
            return f"failed ({answered(python)}) at {' '.join(step)}"
    shutil.rmtree(folder)
    return f"fine ({answered(python)})"


def found(version: str) -> str | None:
    """An interpreter of that version that answers; a shim of pyenv may be there and not answer."""
    for path in candidates(version):
        full = answered(path)
        if full is not None and full.rpartition(".")[0] == version:
            return path
    return None


def candidates(version: str) -> Iterator[str]:
    name = f"python{version}"
    for folder in os.get_exec_path():
        if path := shutil.which(name, path=folder):
            yield path
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    yield from map(str, sorted(pyenv.glob(f"{version}.*/bin/{name}"), reverse=True))
    if uv := shutil.which("uv"):
        command = [uv, "python", "find", "--no-python-downloads", version]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            yield done.stdout.strip()


def answered(path: str) -> str | None:
    """The full version, such as 3.12.1; None where there is none, or one that is incomplete."""
    try:
        done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


if __name__ == "__main__":
    main()
