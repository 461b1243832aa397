# The two commands of the README are `make demo` and `make test`; each sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export SPARSEBOOST_DATA ?= $(wildcard ../shared/data)

.PHONY: demo test test-all lint clean bench

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/sparseboost demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: lint
	$(BIN)/python -m pytest -n 2

# make bench TASK=T3 SIZE=small THREADS=2 LIMIT=30; all tasks at full size by default
bench: $(STAMP)
	$(BIN)/python -m benchmarks $(TASK) $(if $(SIZE),--size $(SIZE)) $(if $(THREADS),--threads $(THREADS)) $(if $(LIMIT),--limit $(LIMIT))

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
