# make audit   set up and audit the embedded example
# make test    set up; check source and documentation, and run the tests that take at most a moment each
# make test-slow     run the other tests that a change must pass
# make test-nightly  run the tests with more repetitions than a change waits for
# make durations     measure which tests are slow, into tests/durations.json
# make same-answers BASE=<commit>  compare the answers of this tree with those of another commit
# make bench   measure speed as ratios into benchmarks/results.md
# make docs    build the documentation into site/

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Another interpreter, as in make test PYTHON=python3.13, gets an environment of its own.
VENV := $(if $(filter file,$(origin PYTHON)),.venv,.venv-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
EXAMPLE := examples/noisy-count/plan.toml
# Modules are compiled when they are first imported, and kept: most of what is installed never is imported.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
unexport PYTHONDONTWRITEBYTECODE
# Where a library is not made for the interpreter, tests go without its extra; a CI needs them all.
EXTRAS := distributed docs fast federated mechanisms ml service
EXTRA_BY_EXTRA = for extra in $(EXTRAS); do $(PIP) -e ".[$$extra]" || echo "tests go without [$$extra]"; done
CORES := $(shell getconf _NPROCESSORS_ONLN)
# Each process of tests uses one thread: with more, those of linear algebra would wait for each other's cores.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --dist worksteal
DAY := -n $(CORES) -m "not slow"
# Of the slow tests some wait for a service, a cluster or a browser, so one process more than cores runs them.
SLOW := -n $$(($(CORES) + 1)) -m slow --durations=20

.PHONY: audit test lint tests test-slow test-nightly durations same-answers docs bench clean

audit: $(VENV)/.core
	@status=0; $(BIN)/leakgauge run $(EXAMPLE) || status=$$?; \
	case $$status in 0|1|3) echo "Open runs/noisy-count/report.html in a browser." ;; *) exit $$status ;; esac

# The checks of source and documentation run beside the tests.
test: $(VENV)/.dev
	$(MAKE) --no-print-directory -j3 lint docs tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tests: $(VENV)/.dev
	$(PYTEST) $(DAY)

test-slow: $(VENV)/.dev
	$(PYTEST) $(SLOW)

test-nightly: $(VENV)/.dev
	$(PYTEST) -n $(CORES) -m nightly

durations: $(VENV)/.dev
	$(PYTEST) -n $(CORES) --write-durations

same-answers: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m same_answers $(BASE)

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) site build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[dev]" || { test -z "$$CI" && $(PIP) -e ".[tools]" && $(EXTRA_BY_EXTRA); }
	@touch $@ $(VENV)/.core
