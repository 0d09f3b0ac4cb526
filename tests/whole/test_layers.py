"""Imports point one way: a layer that imports a higher one fails here; tests share the rooms."""

import ast
from pathlib import Path

import meseta

PACKAGE = Path(meseta.__file__).parent
TESTS = Path(__file__).parents[1]
# Lowest first; modules of one rank do not import each other.
RANKS = [
    {"boundary", "whole_file"},
    {"measures", "nes_plain", "noise"},
    {"space"},
    {"kernels", "problems"},
    {"gp", "inference"},
    {"acquisition"},
    {"optimizer"},
    {"report"},
    {"integrations", "run"},
    {"bench", "study"},
    {"arena"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(RANKS) for name in names}


def imports_of(path):
    """The full names of the modules that a file imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            if node.module == "meseta":
                yield from (f"meseta.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported(path):
    """Names of the top-level modules of meseta that a file imports."""
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "meseta" and len(parts) > 1:
            yield parts[1]


def module_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_module_has_a_rank():
    modules = {module_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert modules <= set(RANK), f"give {modules - set(RANK)} a place in the order of the layers"


def test_no_layer_imports_a_higher_one_or_a_neighbour():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {target}"
        for path in PACKAGE.rglob("*.py")
        if module_of(path) != "__init__"
        for target in imported(path)
        if target != module_of(path) and RANK[target] >= RANK[module_of(path)]
    ]
    assert not wrong


def test_only_public_names_of_dependencies_are_imported():
    private = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = [*node.module.split("."), *(alias.name for alias in node.names)]
                private += [f"{path}: {p}" for p in parts if p.startswith("_") and p[1] != "_"]
    assert not private


def test_every_folder_of_tests_is_a_room_of_the_package():
    def folders(parent):
        return {path.parent.relative_to(parent).parts[0] for path in parent.glob("*/*.py")}

    assert folders(TESTS) - folders(PACKAGE) == {"external", "support", "whole"}


def test_no_test_module_imports_another():
    """What several of them need is in tests/support."""
    modules = [*TESTS.rglob("test_*.py")]
    names = {path.stem for path in modules}
    wrong = [
        f"{path.relative_to(TESTS)} imports {name}"
        for path in modules
        for name in names & {target.split(".")[0] for target in imports_of(path)}
    ]
    assert not wrong
