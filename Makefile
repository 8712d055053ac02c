# Two commands do everything on a fresh machine with Python 3.11+: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# Real data for tests and benchmarks, if it is at hand; without it those tests say that they are skipped.
export FAIRVIEW_DATA ?= $(wildcard ../shared/datasets)

# One thread for each test process: there are as many of them as cores.
test test-all: export OMP_NUM_THREADS = 1

.PHONY: install browser java demo docs test lint test-all bench audit kills lock wheel wheel-check release clean

install: $(STAMP)  ## make .venv and install the package with all that tests need

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "fairview needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "installing into $(VENV) (a few minutes, once) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

browser:  ## Chromium for the tests of the report; without it they say that they are skipped
	@command -v chromium >/dev/null 2>&1 || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null 2>&1 \
	  && apt-get update -qq >/dev/null && apt-get install -y -qq chromium >/dev/null; } \
	  || echo "no chromium here, and no way to install it: the browser tests will be skipped"

java:  ## Java for the tests of Spark; without it they say that they are skipped
	@command -v java >/dev/null 2>&1 || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null 2>&1 \
	  && apt-get update -qq >/dev/null && apt-get install -y -qq default-jre-headless >/dev/null; } \
	  || echo "no java here, and no way to install it: the tests of Spark will be skipped"

demo: install  ## the main job on the bundled data
	@$(BIN)/fairview demo

docs: install  ## the documentation site, into site/; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

lint: install  ## formatting, lint, types, and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint browser java  ## linters, types and tests, in minutes
	$(BIN)/pytest -m "not slow" --numprocesses auto --dist loadgroup

test-all: lint browser java audit  ## also the long suites
	$(BIN)/pytest --numprocesses auto --dist loadgroup

audit: install  ## known weaknesses of the pinned packages; says so if it was skipped for lack of a network
	@$(BIN)/python -m release.audit

kills: install  ## kill -9 over train, compare, tune and saves, and full disks; exit code 3 if anything differs
	$(BIN)/python -m benchmarks.kills
	$(BIN)/python -m benchmarks.full_disk

bench: install  ## ratios against the obvious alternatives, side by side; exit code 3 if one falls short
	$(BIN)/python -m benchmarks

wheel:  ## dist/*.whl, and in dist/wheelhouse everything that it needs, for machines without a network
	rm -rf dist
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --constraint constraints.txt \
	  --wheel-dir dist/wheelhouse '.[report]'
	cp dist/wheelhouse/fairview-*.whl dist
	$(PYTHON) -m release.sbom dist/wheelhouse dist/fairview.cdx.json

lock:  ## release/release.lock: versions and hashes for this platform; only `make release` reads it
	$(PYTHON) -m release.lock

release:  ## like wheel, but every package must have the hash in release/release.lock
	$(PYTHON) -m release.lock --check
	rm -rf dist
	$(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
	  --dest dist/wheelhouse --requirement release/release.lock
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist/wheelhouse .
	cp dist/wheelhouse/fairview-*.whl dist
	$(PYTHON) -m release.sbom dist/wheelhouse dist/fairview.cdx.json

wheel-check: wheel  ## what the Dockerfile does, in a fresh environment without a network
	$(PYTHON) -m venv dist/venv
	dist/venv/bin/python -m pip install --quiet --disable-pip-version-check \
	  --no-index --find-links dist/wheelhouse 'fairview[report]'
	cd dist && venv/bin/fairview demo --out demo && test -s demo/report.html

clean:
	rm -rf dist site $(VENV) .venv-audit .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
