# Bare `make` prints this file's targets. Every target sets up what it needs first.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# An active conda environment is used as it is (never its "base"), otherwise .venv.
ENV := $(if $(filter-out base,$(or $(CONDA_DEFAULT_ENV),$(CONDA_PREFIX))),$(or $(CONDA_PREFIX),.venv),.venv)
PY := $(ENV)/bin/python
STUDY ?=
FORCE ?=
ARGS ?=

# Models that are not on this machine fail at once instead of being retried for minutes;
# HF_HUB_OFFLINE=0 allows a download.
export HF_HUB_OFFLINE ?= 1
# A server compiled by `make native`; without it local models run inside the process.
export MINILAKE_LLAMA_SERVER ?= $(firstword $(wildcard data/build/llama/llama-server-no-repack data/build/llama/llama-server))
export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))

studies := $(notdir $(patsubst %/study.toml,%,$(wildcard data/studies/*/study.toml)))
ifneq (,$(and $(filter run pilot freeze verify,$(MAKECMDGOALS)),$(if $(STUDY),,missing)))
$(error say which study: STUDY=name, one of: $(studies))
endif

.PHONY: help setup inspect browser lock test lint smoke reproduce site archive run native pilot freeze verify bench lab clean

help: ## this list
	@echo "usage: make TARGET [STUDY=name] [FORCE=1] [ARGS='...']"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r name text; \
	do printf '  %-12s%s\n' "$$name" "$$text"; done
	@echo "studies: $(studies)"

setup: ## install the pinned packages into the active conda environment or .venv (once)
	@scripts/setup.sh $(ENV)

reproduce: setup ## every table and figure from the recorded calls; FORCE=1 recomputes all but vectors; asks no model
	@$(PY) -m lib.book $(if $(FORCE),--force) $(STUDY)

site: reproduce ## a static site of notebooks, figures, tables and ledgers in data/build/site; opens from disk
	$(PY) -m lib site $(ARGS)

archive: setup ## everything that is committed as one file that verifies itself, for a deposit
	$(PY) -m lib archive $(ARGS)

browser: ## Chromium for the tests of site and explorer (as root, with apt)
	@scripts/browser.sh

inspect: setup ## Inspect AI in an environment of its own, for export-inspect and the bench (251 MB)
	@scripts/inspect.sh $(PY)

test: inspect ## the tests, with coverage of lib (ARGS="-k ledger" picks some); first fetches a lake, a 0.5B model and Inspect AI
	@$(PY) -m lib lake pytest-small
	@$(PY) -m lib.models.gguf qwen2.5-coder-0.5b-instruct-q4
	$(PY) -m pytest --cov $(if $(ARGS),--cov-fail-under=0) $(ARGS)

lint: setup ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m mypy

smoke: setup ## ask the real 0.5B model a handful of questions, end to end
	$(PY) -m lib smoke $(ARGS)

run: setup ## ask the models of a study (resumes; a paid model costs money): make run STUDY=name
	$(PY) -m lib run $(STUDY) $(ARGS)

native: setup ## compile llama.cpp for this processor: local models read several times as fast
	@scripts/native-llama.sh $(PY)

pilot: setup ## ask the pilot questions, before the freeze: make pilot STUDY=name
	$(PY) -m lib pilot $(STUDY) $(ARGS)

freeze: setup ## freeze a study's material and code before its first call: make freeze STUDY=name
	$(PY) -m lib freeze $(STUDY) $(ARGS)

verify: setup ## check that what was frozen still holds: make verify STUDY=name
	$(PY) -m lib verify $(STUDY) $(ARGS)

bench: inspect ## time the statistics against plain scipy, and the runner against a bare SDK loop and Inspect AI
	$(PY) -m bench.bench_stats
	$(PY) -m bench.bench_runner $(ARGS)

lab: setup ## open the notebooks in JupyterLab
	$(PY) -m jupyterlab notebooks $(ARGS)

lock: ## work out requirements.lock again from requirements.in (needs uv)
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --custom-compile-command "make lock" \
		--override <(echo "torch ; python_version < '3'") requirements.in -o requirements.lock
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --custom-compile-command "make lock" \
		requirements-inspect.in -o requirements-inspect.lock

clean: ## remove what can be rebuilt (data/build, caches); keeps the environment
	rm -rf data/build .pytest_cache .hypothesis .mypy_cache .ruff_cache .coverage htmlcov
	find lib tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
