# make demo: optimize something robustly and look at its report.   make test: everything that must hold.
PYTHON ?= python3
BIN := .venv/bin
# One thread per process: the tensors are small, and threads would only fight over two cores.
export OMP_NUM_THREADS ?= 1
# Tests start hundreds of processes: each would compile the package anew where a machine forbids to keep that.
export PYTHONDONTWRITEBYTECODE =

# Once more with every annotated shape and type checked at run time, which triples the time: tests that
# go through all layers, and are quick.
SHAPES_CHECKED := --jaxtyping-packages=meseta,beartype.beartype tests/optimizer/test_suggest.py tests/gp/test_fit.py tests/gp/test_robust_posterior.py tests/noise/test_rules.py tests/space/test_space.py tests/measures tests/gp/test_limited.py

.PHONY: demo docs test external golden test-cpus test-cpus-short test-optuna4 bench bench-speed arena-setup package clean

demo: .venv/installed
	rm -rf demo
	cp -r examples/study demo
	$(BIN)/meseta run demo/gravity.toml
	$(BIN)/meseta report demo/gravity.toml -o demo/report.html

# The documentation as a site that loads nothing from the network: open site/index.html. Its search works from
# the disk, too.
docs: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
# Three processes for two cores: some tests wait for servers, browsers and workers.
	$(BIN)/pytest -q -n 3 --dist worksteal
	$(BIN)/pytest -q -n 2 $(SHAPES_CHECKED)

# All cases that others published, of which `make test` takes a few: failure probabilities, certified statistics,
# textbooks. What is missed today is an expected failure, with its figure.
external: .venv/installed
	MESETA_EXAMPLES=20 $(BIN)/pytest -q tests/external

# What moved since REVISION: answers to the same cases, side by side, see tests/golden.py. WORDS are its options:
# make golden REVISION=main WORDS="--quick --workers 2".
golden: .venv/installed
	$(if $(REVISION),,$(error name a revision: make golden REVISION=main))
	$(BIN)/python tests/golden.py $(REVISION) $(WORDS)

# The numerical tests with the code that libraries have for other processors: see tests/processors.py.
test-cpus: .venv/installed
	$(BIN)/python tests/processors.py

test-cpus-short: .venv/installed
	$(BIN)/python tests/processors.py --short

# The Optuna integration with the last release of Optuna 4 in place of the pinned one.
test-optuna4: .venv-optuna4/installed
	.venv-optuna4/bin/pytest -q tests/integrations/test_optuna.py tests/integrations/test_optuna_contract.py tests/integrations/test_dashboard.py

bench: .venv/installed
	$(BIN)/meseta bench run quick --workers 2

bench-speed: .venv/installed
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/meseta bench run timing --runs 5 --output bench-speed

# Environments of entrants that need other packages than ours: Golem is compiled, and knows Python up to 3.10.
# GOLEM_PYTHON=path names an interpreter; otherwise it is looked for.
arena-setup: benchmarks/arena/.venv-golem/installed

benchmarks/arena/.venv-golem/installed: Makefile
	python=$${GOLEM_PYTHON:-$$($(PYTHON) tests/interpreters.py --find 3.10)} && "$$python" -m venv benchmarks/arena/.venv-golem
	benchmarks/arena/.venv-golem/bin/python -m pip install --quiet --disable-pip-version-check 'numpy<2' 'pandas<2.3' optuna==5.0.0 matter-golem==1.0
	touch $@

# A wheel and an sdist in dist/, and the wheel tried in environments that have nothing else, with each Python
# from 3.11 to 3.13 that is here; make package VERSIONS=3.12 tries one.
package: .venv/installed
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python tests/interpreters.py dist/*.whl $(VERSIONS)

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "meseta needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
# Compiled by all cores, which pip does not do, but for tests of others. That is for speed alone: packages
# have files for a newer Python than this one, which nobody imports here.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])') || true
	touch $@

.venv-optuna4/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-optuna4
	grep -v '^optuna==' constraints.txt > .venv-optuna4/constraints.txt
	.venv-optuna4/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-optuna4/constraints.txt -e '.[dev]' optuna==4.9.0
	touch $@

clean:
	rm -rf .venv .venv-optuna4 .venv-package dist demo site bench-results bench-speed arena-results benchmarks/arena/.venv-golem
