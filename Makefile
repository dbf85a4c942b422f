# make audit   set up and audit the embedded example
# make test    set up and run every check that a change must pass
# make test-nightly  run the tests with more repetitions than a change waits for
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
# Tests run in one process more than there are cores: some wait for a service, a cluster or a browser.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Each of them uses one thread: with more, those of linear algebra would wait for each other's cores.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.PHONY: audit test lint tests collect test-nightly docs bench clean

audit: $(VENV)/.core
	@status=0; $(BIN)/leakgauge run $(EXAMPLE) || status=$$?; \
	case $$status in 0|1|3) echo "Open runs/noisy-count/report.html in a browser." ;; *) exit $$status ;; esac

# The checks of source and documentation run side by side; the tests use every core.
test: $(VENV)/.dev
	$(MAKE) --no-print-directory -j2 --output-sync=target lint docs collect
	$(MAKE) --no-print-directory tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tests: $(VENV)/.dev
	$(PYTEST) --durations=20

# Every test process compiles all modules that it imports, unless one did it before: here, beside the checks.
collect: $(VENV)/.dev
	@$(BIN)/python -m pytest --collect-only --quiet >/dev/null || true # the tests say what is wrong

test-nightly: $(VENV)/.dev
	$(PYTEST) -m nightly

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
