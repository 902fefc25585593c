# The commands of the project: `make run` to see it work, `make test` and `make check` before a commit.
# Needs make and Python 3.11 or newer; everything else goes into .venv.

.DEFAULT_GOAL := help
# A step that fails leaves no file behind that the next try would take for its result.
.DELETE_ON_ERROR:
.PHONY: help run test check spec bench fuzz clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-input
INSTALLED := $(VENV)/.installed
DEVELOPED := $(VENV)/.developed
WEIGHTS := $(VENV)/.weights
SOURCES := pyproject.toml constraints.txt
# what Cog writes parts of
MADE := engine/stream_events.py $(shell grep -l --include=SPEC.md -r -F '[[[cog' SPEC.md sql functions engine) $(wildcard sql/*/98[0-9]_*_record.sql)

# The first Python on the path that is new enough; `make PYTHON=... run` names another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

DB := .engine/demo.db
QUESTION := Which port does the label printer listen on?

# what is said where pip could not install; its own lines stand above
NOT_INSTALLED = { echo 'Not installed, see above: this needs the network, or a mirror (PIP_INDEX_URL, PIP_FIND_LINKS).' >&2; exit 1; }

define STEP
@printf '\n==> %s\n'
endef

help:
	@printf '%s\n' \
		'make run    install into $(VENV) and answer a question about tests/examples/office with a local model' \
		'make test   all tests' \
		'make check  format, lint, types, SQL lint, tables of the contract, guards of the record' \
		'make spec   write the tables of the contract and the guards of the record anew' \
		'make bench  measurements' \
		'make fuzz   half a million damaged answers for the parser, planted commands, 200,000 edits' \
		'make clean  remove $(VENV), caches and the demo database'

run: $(WEIGHTS)
	@mkdir -p -m 700 $(dir $(DB))
	$(STEP) 'Asking: $(QUESTION)'
	@$(BIN)/engine run --root tests/examples/office --db $(DB) '$(QUESTION)'
	@echo && printf '%s\n' 'Look at that run:' \
		'  $(BIN)/engine show --db $(DB)      what it did and what it cost' \
		'  $(BIN)/engine log --db $(DB)       turn by turn' \
		'  $(BIN)/engine packet --db $(DB)    what the model was sent'

# One process more than the two cores that this is meant for: while one waits, for a time-out say, the others go on.
test: $(DEVELOPED)
	$(BIN)/python -m pytest -n 3 --dist worksteal

check: $(DEVELOPED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@rm -rf .types/engine && mkdir -p .types/engine
	@ln -s $(CURDIR)/engine/* .types/engine/ && ln -s $(CURDIR)/functions $(CURDIR)/sql $(CURDIR)/templates .types/engine/
	MYPYPATH=.types $(BIN)/mypy --cache-dir .types/.cache
	cd .types && ../$(BIN)/lint-imports --no-logo --cache-dir .imports ../pyproject.toml
	$(BIN)/python tests/lint_sql.py
	$(BIN)/python tests/lint_words.py
	$(BIN)/cog -I . --check --check-fail-msg='run: make spec' $(MADE)

spec: $(DEVELOPED)
	$(BIN)/cog -I . -r $(MADE)

# One table; `python -m tests.bench --help` names the parts and the ways to look closer.
bench: $(DEVELOPED)
	@$(BIN)/python -m tests.bench

# About four minutes on two cores. `python -m tests.fuzz --help` tells of other seeds and how to see a finding again.
fuzz: $(DEVELOPED)
	$(BIN)/python -m tests.fuzz --count 500000
	$(BIN)/python -m tests.fuzz.edits --count 200000

clean:
	rm -rf $(VENV) $(DB) $(DB)-wal $(DB)-shm .types .bench .fuzz build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'No Python 3.11 or newer on the path: install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)'; exit 1; }
	$(STEP) 'Creating $(VENV) with $(PYTHON)'
	@$(PYTHON) -m venv $(VENV)

# The stamps are files, so that a second run starts at once and a changed pyproject.toml installs again.
$(INSTALLED): $(SOURCES) | $(BIN)/python
	$(STEP) 'Installing engine and the model libraries (a download of about 50 MB, once)'
	@$(PIP) -c constraints.txt -e '.[models,local,chat]' || $(NOT_INSTALLED)
	@touch $@

$(DEVELOPED): $(SOURCES) | $(BIN)/python
	$(STEP) 'Installing engine and what its tests need (once)'
	@$(PIP) -c constraints.txt -e '.[models,local,chat,symbols,tokenizers,web,pdf,meaning,mcp,acp,rpc,otel,export,inspector,dev]' || $(NOT_INSTALLED)
	@touch $(INSTALLED) $@

$(WEIGHTS): $(INSTALLED)
	$(STEP) 'Fetching the local model (about 94 MB, once)'
	@$(BIN)/engine models install local
	@touch $@
