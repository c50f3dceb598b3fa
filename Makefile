# Everything a newcomer needs: each target sets up what it uses, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-slow faults check format build docs-figures clean

help:
	@echo "make demo          set up and run the main job: baseline against cyclical batch sizes"
	@echo "make test          set up and run the tests"
	@echo "make check         lint, types and formatting"
	@echo "make test-slow     the tests that take minutes"
	@echo "make faults        kills, full disks, damaged and malicious files, long runs"
	@echo "make build         sdist and wheel"
	@echo "make docs-figures  tables and pictures of README and docs, from results/"
	@echo "make format        rewrite the code in the house style"
	@echo "make clean         remove the virtual environment and everything built"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)

# The core alone is enough for the demo; tests want the frameworks too.
$(VENV)/core.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[plot]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/core.stamp
	$(PIP) -e '.[dev]'
	@touch $@

demo: $(VENV)/core.stamp
	$(BIN)/rebatch demo --out demo

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-slow: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q -m slow

faults: $(VENV)/dev.stamp
	HYPOTHESIS_PROFILE=faults OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -s tests/faults -m 'not slow'

check: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/dev.stamp
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

build: $(VENV)/dev.stamp
	$(BIN)/python -m build --quiet

docs-figures: $(VENV)/core.stamp
	$(BIN)/python tools/make_docs.py

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis demo
