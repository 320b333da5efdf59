# make run: the app on http://127.0.0.1:7860 · make test: everything CI runs · make test-scale: Milvus and Ray · make fuzz: random input
# make coverage: which lines the unit tests run · make bench: the measured tables · make audit: weaknesses and licences of the packages
PYTHON ?= python3
BIN := .venv/bin
PINNED := -c constraints.txt
CHROMIUM := $(or $(shell command -v chromium || command -v chromium-browser || command -v google-chrome),none)

.PHONY: run test coverage test-scale fuzz bench screenshots shipped audit fix chromium

run: .venv/run
	$(BIN)/python app.py

test: .venv/dev chromium
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

# Which lines the unit tests run; a third slower than without.
coverage: .venv/dev
	$(BIN)/python -m pytest -n 2 --ignore=tests/browser --cov=sbert_app --cov-report=
	@echo "Coverage of sbert_app without the browser tests, per cent:" && $(BIN)/coverage report --format=total
	@echo "Coverage of jobs and below, per cent (at least 95):" && \
		$(BIN)/coverage report --format=total --fail-under=95 --omit='sbert_app/ui/*,sbert_app/cli/*'

# Collections in Milvus and embedding over Ray, with their packages in the same virtual environment.
test-scale: .venv/scale
	$(BIN)/python -m pytest tests/scale

# Ten thousand random inputs and more for the readers of files, every handler of the page and every endpoint.
fuzz: .venv/dev
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -m fuzz

bench: .venv/dev
	$(BIN)/python -m tests.benchmarks

# The README's pictures, taken of the real app.
screenshots: .venv/dev chromium
	$(BIN)/python -m tests.screenshots

# The embeddings of the sentences that come with the app; due when those change, as a test tells.
shipped: .venv/dev
	$(BIN)/python -m tests.shipped

# Known weaknesses of the pinned packages, where their database can be reached (it says where not), and their licences (docs/licences.md).
audit: .venv/dev
	$(BIN)/python -m tests.licences
	$(PYTHON) -m venv .venv/audit
	@if .venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1; \
	then $(BIN)/python -m tests.audit .venv/audit/bin/pip-audit; \
	else echo "pip-audit cannot be installed from here: nothing was audited."; fi

fix: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/run: requirements.txt constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINNED) -r requirements.txt
	touch $@

.venv/dev: requirements-dev.txt .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINNED) -r requirements-dev.txt
	touch $@

.venv/scale: requirements-scale.txt .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINNED) -r requirements-scale.txt
	touch $@

# The browser tests need a Chromium. Root on Debian gets one; others are told, and those tests are skipped.
chromium:
ifeq ($(CHROMIUM),none)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	else echo "No Chromium found: the browser tests will be skipped. Install 'chromium' to run them."; fi
endif
