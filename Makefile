# Needs Python 3.11 or later with venv, and make. Everything else goes into .venv.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 3
ARGS ?=
ROUNDS ?= 3

BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
CONTRACT := $(VENV)-contract
TRAIN := $(VENV)-train
CLIENTS := $(VENV)-clients
DATA := ../shared/data/gsm8k_model_solutions.jsonl
GSM8K_FILE ?= $(wildcard $(DATA))
export GSM8K_FILE

.DEFAULT_GOAL := help
.PHONY: help setup env dev demo test example-gsm8k example-grpo example-dpo example-clients bench bench-export bench-live bench-short bench-live-core bench-pairs bench-trust bench-pages bench-plans bench-plans-short bench-history completion-path screenshots faults faults-short contract contract-short lint format types imports commits check openapi clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# uv installs in seconds what takes pip a minute; a machine that cannot have it uses pip.
define install
	@if [ -x $(BIN)/uv ] && $(BIN)/uv pip install --quiet --python $(BIN)/python $(1); then :; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check $(1); fi
endef

# Styles and scripts. Its package is for x86-64 Linux only, which CI uses.
define biome
	@if [ -x $(BIN)/biome ]; then $(BIN)/biome $(1); \
	else echo "biome is not installed on this platform: styles and scripts are not checked"; test -z "$$CI"; fi
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

# pip and not uv: it takes a CPU wheel of torch where its settings name one.
$(TRAIN)/.ready: requirements-train.txt sdk/python/pyproject.toml
	@echo "installing requirements-train.txt"
	@$(PYTHON) -m venv $(TRAIN)
	@$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-train.txt -e sdk/python
	@touch $@

CLIENTS_PIP := $(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check
$(CLIENTS)/.ready: $(wildcard requirements-clients*.txt) sdk/python/pyproject.toml $(RUNTIME)
	@echo "installing requirements-clients.txt"
	@$(PYTHON) -m venv $(CLIENTS)
	@$(CLIENTS_PIP) -r requirements-clients.txt -e sdk/python
	@$(CLIENTS_PIP) --no-deps -r requirements-clients-bare.txt
	@$(CLIENTS_PIP) --no-deps --upgrade --target $(CLIENTS)/verifiers-classic -r requirements-clients-classic.txt
	@touch $@

setup: $(RUNTIME) ## make .venv with what the server needs
env: $(RUNTIME) ## write .env with new secrets, for a server on PostgreSQL and Redis
	@PYTHONPATH=. $(BIN)/python tools/new_env.py

dev: $(DEV) ## the same, with what tests, lint and types need

demo: $(RUNTIME) ## score the sample completions and leave the server running (PORT=8000; DEMO_ONCE=1 ends by itself)
	@exec $(BIN)/python -m autotune.site.demo $(ARGS)

test: $(DEV) ## the whole suite, on SQLite and then on PostgreSQL + Redis where they are found (ARGS for pytest)
	@BIN=$(BIN) JOBS=$(JOBS) tools/test $(ARGS)

example-gsm8k: $(RUNTIME) ## score 5,276 real answers and compare with the file (GSM8K_FILE)
	@exec $(BIN)/python -m examples.gsm8k.run $(ARGS)

example-grpo: $(RUNTIME) $(TRAIN)/.ready ## GRPO with TRL on the CPU; every reward from a live server (ARGS: --steps N, --plot FILE)
	@exec $(BIN)/python -m examples.trl_grpo.run --python $(TRAIN)/bin/python $(ARGS)

example-dpo: $(RUNTIME) $(TRAIN)/.ready ## pairs exported from the GSM8K scores, and DPO with TRL on them (GSM8K_FILE)
	@exec $(BIN)/python -m examples.trl_dpo.run --python $(TRAIN)/bin/python $(ARGS)

example-clients: $(CLIENTS)/.ready ## the reward calls of OpenRLHF, veRL, ms-swift, verifiers, slime, NeMo Gym, against a live server (ARGS: --only NAME)
	@exec $(BIN)/python -m examples.clients.run --python $(CLIENTS)/bin/python $(ARGS)

bench: $(DEV) ## completions per second, latency and CPU on PostgreSQL + Redis (ROUNDS=3)
	@exec $(BIN)/python bench/run.py --rounds $(ROUNDS) $(ARGS)

bench-export: $(DEV) ## memory of the web process while it exports, then a million rows beside psql and pandas (ARGS for the latter)
	@$(BIN)/python bench/export_memory.py
	@exec $(BIN)/python bench/export_speed.py $(ARGS)

bench-pairs: $(DEV) ## preference pairs of a million scores of 100,000 prompts (ARGS: --keep, --read STRATEGY)
	@exec $(BIN)/python bench/pairs.py $(ARGS)

bench-short: $(DEV) ## the same in small: every score once and right, no figures worth keeping
	@exec $(BIN)/python bench/run.py --short $(ARGS)

bench-live-core: $(DEV) ## what an item of live rewards costs beside a plain submission
	@exec $(BIN)/python bench/live_core.py $(ARGS)

bench-live: $(DEV) ## 2,000 calls of trainers that wait at once, at live and at web only (ARGS: --short, --calls N)
	@exec $(BIN)/python bench/live.py $(ARGS)

bench-history: $(DEV) ## figures and lists with 1,500,000 scores, and the cost of counting per save (ARGS: --scores N, --keep, --only saving)
	@exec $(BIN)/python bench/history.py $(ARGS)

bench-pages: $(DEV) ## server time and queries of every page with 100,000 scores (ARGS: --sqlite, --only PATH)
	@exec $(BIN)/python bench/pages.py $(ARGS)

bench-plans: $(DEV) ## query plans of scoring in three states of the statistics; none may grow with the history (ARGS: --short, --drains, --only PATH)
	@exec $(BIN)/python bench/plans.py $(ARGS)

bench-plans-short: $(DEV) ## the same with smaller tables, in about two minutes
	@exec $(BIN)/python bench/plans.py --short $(ARGS)

completion-path: $(DEV) ## the files that one completion enters, from its submission to its row of an export
	@exec $(BIN)/python bench/completion_path.py $(ARGS)

screenshots: $(DEV) ## pictures of every page, 1440 and 390 px, light and dark, in var/screenshots (ARGS: --only PATH, --whole)
	@exec $(BIN)/python tools/screenshots.py $(ARGS)

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

lint: $(DEV) ## ruff; the format of templates, styles and scripts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/djlint templates --check --quiet || { echo "templates are not formatted: make format"; exit 1; }
	$(call biome,format)

# djlint exits 1 if it changed a file; what it wrote may need another pass.
format: $(DEV) ## ruff, djlint and biome, applied
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@for pass in 1 2 3 4; do $(BIN)/djlint templates --reformat --quiet >/dev/null && break; done
	$(call biome,format --write)

types: $(DEV) ## mypy
	@env -u DATABASE_URL -u REDIS_URL $(BIN)/mypy

imports: $(DEV) ## which module may import which, how full folders are, names and words
	@$(BIN)/lint-imports
	@$(BIN)/python tools/house.py
	@$(BIN)/python tools/names.py
	@$(BIN)/python tools/words.py

commits: ## subjects, bodies and sizes of the commits of this branch
	@$(PYTHON) tools/commits.py

openapi: $(DEV) ## write docs/openapi.json
	@env -u DATABASE_URL -u REDIS_URL $(BIN)/python manage.py spectacular --format openapi-json --validate --fail-on-warn --file docs/openapi.json

check: lint types imports commits test ## all of the above that can fail

clean: ## remove .venv and caches; var/ (your data) stays
	rm -rf $(VENV) $(CONTRACT) $(TRAIN) $(CLIENTS) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
