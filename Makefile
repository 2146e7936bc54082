# make demo and make test need nothing but Python >= 3.11 with venv, and make.
VENV := .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := $(VENV)/Scripts
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export MPLBACKEND = Agg
export MYPY_NUM_WORKERS = 2
# Bytecode is kept even where the surroundings forbid it: without it every one of the hundred processes that the tests
# start would compile all libraries anew, for seven seconds.
unexport PYTHONDONTWRITEBYTECODE

# Of all that pip brings, what a start imports: one run of the command compiles it; the rest is compiled when it is used.
BYTECODE = @$(BIN)/python -m compileall -q src && $(BIN)/pliant info two-link > /dev/null

.PHONY: FORCE help demo quick test test-wheel test-full test-learning test-machines test-long mutants lint docs docs-version bench lock locked release clean

help:
	@echo "make demo           install into .venv, swing a slender arm around and show it bend in 3-D"
	@echo "make quick ROOM=control   daily tests of one room"
	@echo "make test           ruff, mypy, pytest (what continuous integration runs)"
	@echo "make test-wheel     the same tests against the wheel that users install"
	@echo "make test-full      also the large random sets, on the wheel, with documentation and coverage"
	@echo "make test-learning  the tests with JAX and PyTorch, in an environment of their own (build/learning)"
	@echo "make test-machines  the core tests on other processors, libraries and Pythons (tests/machines --list)"
	@echo "make mutants        plant bugs, one at a time, and see the tests fail (tests/mutants --list)"
	@echo "make test-long      everything that takes long: test-full, test-machines, mutants, all signals, twenty visitors"
	@echo "make bench          pliant beside its peers, as ratios (installs the bench extra)"
	@echo "make docs           build the documentation site into site/"
	@echo "make docs-version   the same as one version of the published site, committed to the branch gh-pages"
	@echo "make lock           renew the locks of the development environment (release/locks), for every Python on PATH"
	@echo "make locked         install the development environment from its lock, checked by hashes"
	@echo "make release        check, test, build twice, describe and tag (TRIAL=1: no long tests, no tag)"

# One stamp file per extra: a second run installs nothing.
$(VENV)/installed-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e ".[$*]"
	$(BYTECODE)
	@touch $@

$(VENV)/installed: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e .
	$(BYTECODE)
	@touch $@

demo: $(VENV)/installed
	$(BIN)/pliant simulate examples/scenarios/slender.yaml --out out/demo
	$(BIN)/pliant view out/demo/run.nc --html out/demo/arm.html

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Daily tests of one room, in under a minute: make quick ROOM=control
quick: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 tests/$(subst .,/,$(ROOM))

test: lint
	$(BIN)/pytest -n 2 --dist worksteal

# The whole set runs against the wheel, as users have it, not against the source tree.
WHEEL := build/wheel
$(WHEEL)/site: $(VENV)/installed-dev FORCE
	@rm -rf $(WHEEL)
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation -w $(WHEEL) .
	$(BIN)/pip install --quiet --no-deps --target $@ $(WHEEL)/*.whl

test-wheel test-full: export PYTHONPATH = $(CURDIR)/$(WHEEL)/site
test-wheel test-full: export PLIANT_TESTED = $(CURDIR)/$(WHEEL)/site

test-wheel: $(WHEEL)/site
	$(BIN)/pytest -n 2 --dist worksteal

test-full: lint $(WHEEL)/site $(VENV)/installed-docs
	$(BIN)/pytest -n 2 --dist worksteal -m "not random and not long" --cov=pliant --cov-report=term:skip-covered --cov-fail-under=95
	$(BIN)/pytest -n 2 --dist worksteal -m random
	$(BIN)/mkdocs build --strict
	$(BIN)/python tests/machines --seed $${SEED:-today}
	$(BIN)/python tests/mutants --sample 12 --seed $${SEED:-today}
	$(BIN)/python tests/learning --if-room

# JAX and PyTorch, which the development environment does not have.
test-learning: $(VENV)/installed-dev
	$(BIN)/python tests/learning

# Processors, libraries and Pythons other than the one at hand; a variant whose tools do not install says so.
test-machines: $(VENV)/installed-dev
	$(BIN)/python tests/machines

# At least 90 % of the planted bugs have to be noticed.
mutants: $(VENV)/installed-dev
	$(BIN)/python tests/mutants

test-long: test-full test-machines mutants
	$(BIN)/pytest -m long

docs: $(VENV)/installed-docs
	$(BIN)/mkdocs build --strict

# A folder per minor version, `latest` for the newest, in a commit on the local branch gh-pages; what is there stays.
docs-version: export PATH := $(CURDIR)/$(BIN):$(PATH)
docs-version: docs
	mike deploy --update-aliases $$(python -c "import pliant; print(*pliant.__version__.split('.')[:2], sep='.')") latest
	mike set-default latest

bench: $(VENV)/installed-bench
	$(BIN)/pliant bench --out out/bench

lock: $(VENV)/installed-dev
	$(BIN)/python release/lock.py

locked:
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes \
		-r release/locks/py$$($(BIN)/python -c "import sys; print(*sys.version_info[:2], sep='.')").txt
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BYTECODE)
	@touch $(VENV)/installed-dev

release: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r release/requirements.txt
	$(BIN)/python release/release.py $(if $(TRIAL),--trial)

clean:
	rm -rf $(VENV) site out dist build .mypy_cache .ruff_cache .pytest_cache
