# Needs Python 3.11 or later with venv, and make. Everything else goes into .venv.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
ARGS ?=
ROUNDS ?= 3

BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
CONTRACT := $(VENV)-contract
DATA := ../shared/data/gsm8k_model_solutions.jsonl
GSM8K_FILE ?= $(wildcard $(DATA))
export GSM8K_FILE

.DEFAULT_GOAL := help
.PHONY: help setup dev demo test example-gsm8k bench bench-export bench-short bench-trust faults faults-short contract contract-short lint format types imports check openapi clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# uv installs in seconds what takes pip a minute; a machine that cannot have it uses pip.
define install
	@if [ -x $(BIN)/uv ] && $(BIN)/uv pip install --quiet --python $(BIN)/python $(1); then :; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check $(1); fi
endef

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv || echo "uv is not to be had; using pip"

$(RUNTIME): requirements.txt sdk/python/pyproject.toml | $(BIN)/python
	@echo "installing requirements.txt"
	$(call install,-r requirements.txt)
	$(call install,--no-deps -e sdk/python)
	@touch $@

$(DEV): requirements-dev.txt $(RUNTIME)
	@echo "installing requirements-dev.txt"
	$(call install,-r requirements-dev.txt)
	@touch $@

$(CONTRACT): requirements-contract.txt $(RUNTIME)
	@echo "installing requirements-contract.txt"
	@$(PYTHON) -m venv $@
	@if [ -x $(BIN)/uv ] && $(BIN)/uv pip install --quiet --python $@/bin/python -r requirements-contract.txt; then :; \
	else $@/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-contract.txt; fi
	@touch $@

setup: $(RUNTIME) ## make .venv with what the server needs
dev: $(DEV) ## the same, with what tests, lint and types need

demo: $(RUNTIME) ## score the sample completions and leave the server running (PORT=8000; DEMO_ONCE=1 ends by itself)
	@exec $(BIN)/python -m autotune.site.demo $(ARGS)

test: $(DEV) ## the whole suite, on SQLite and then on PostgreSQL + Redis where they are found (ARGS for pytest)
	@BIN=$(BIN) JOBS=$(JOBS) tools/test $(ARGS)

example-gsm8k: $(RUNTIME) ## score 5,276 real answers and compare with the file (GSM8K_FILE)
	@exec $(BIN)/python -m examples.gsm8k.run $(ARGS)

bench: $(DEV) ## completions per second, latency and CPU on PostgreSQL + Redis (ROUNDS=3)
	@exec $(BIN)/python bench/run.py --rounds $(ROUNDS) $(ARGS)

bench-export: $(DEV) ## peak memory of the web process for exports of 20,000 and 200,000 rows
	@exec $(BIN)/python bench/export_memory.py $(ARGS)

bench-short: $(DEV) ## the same in small: every score once and right, no figures worth keeping
	@exec $(BIN)/python bench/run.py --short $(ARGS)

bench-trust: $(DEV) ## what audit, idempotency and throttling cost, side by side with the server without them
	@exec $(BIN)/python bench/trust.py $(ARGS)

faults: $(DEV) ## break the whole server again and again, and count what came of it (ARGS: --full, --only NAME, --kills N)
	@exec $(BIN)/python -m bench.faults $(ARGS)

faults-short: $(DEV) ## the same in small, in under three minutes
	@exec $(BIN)/python -m bench.faults --short --together $(ARGS)

contract: $(DEV) $(CONTRACT) ## schemathesis: every operation as every role, against a running server (ARGS: --short, --role NAME, --examples N)
	@$(BIN)/python -m tests.contract.run --schemathesis $(CONTRACT)/bin/schemathesis $(ARGS)

contract-short: $(DEV) $(CONTRACT) ## the same with few examples, in under three minutes
	@$(BIN)/python -m tests.contract.run --schemathesis $(CONTRACT)/bin/schemathesis --short $(ARGS)

lint: $(DEV) ## ruff
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(DEV) ## ruff, applied
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(DEV) ## mypy
	@env -u DATABASE_URL -u REDIS_URL $(BIN)/mypy

imports: $(DEV) ## which module may import which
	@$(BIN)/lint-imports
	@$(BIN)/python tools/house.py

openapi: $(DEV) ## write docs/openapi.json anew
	@env -u DATABASE_URL -u REDIS_URL $(BIN)/python manage.py spectacular --format openapi-json --validate --fail-on-warn --file docs/openapi.json

check: lint types imports test ## all of the above that can fail

clean: ## remove .venv and caches; var/ (your data) stays
	rm -rf $(VENV) $(CONTRACT) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
