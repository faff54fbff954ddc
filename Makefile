# make run    set up, then search for a faster kernel on this machine
# make test   set up, then check the code and run the tests
#
# The environment is .venv, made from $(PYTHON); constraints.txt pins what goes into it. pip reads its usual settings
# (PIP_INDEX_URL, PIP_FIND_LINKS, ...), so a mirror or a CPU-only build of torch can be named there.

PYTHON  ?= python3
PROBLEM ?= bias_silu_clamp
MODEL   ?= replay/
ARGS    ?=

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP   := $(BIN)/python -m pip --disable-pip-version-check

PYTEST := $(BIN)/python -m pytest
# Processes at most in which tests run side by side.
MOST   := 8
# pytest's exit code where no test is left, as ARGS may have it.
NONE := 5

.DEFAULT_GOAL := help
.PHONY: help run test lint pytest install nvcc python compiler clean
.NOTPARALLEL:

help:
	@echo 'make run     search on PROBLEM ($(PROBLEM)) with MODEL ($(MODEL)); further flags in ARGS="--rounds 3"'
	@echo 'make test    lint, then every test; ARGS="-k archive" goes to pytest'
	@echo 'make lint    ruff, its formatter and mypy'
	@echo 'make nvcc    install the compiler of CUDA kernels into the environment, where no toolkit is (100 MB to fetch)'
	@echo 'make clean   remove the environment and what builds and tools left; archives of runs stay'
	@echo 'PYTHON=...   the interpreter to make the environment from (Python 3.11 or later)'

run: compiler $(STAMP)
	$(BIN)/treesearch run $(PROBLEM) --model $(MODEL) $(ARGS)

test: lint pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

# What judges kernels by the machine's clock has it for itself; all else runs side by side, one process more than there
# are cores, up to eight, since many tests wait: for a browser, a server, a deadline. A file stays in one process, and
# those that build kernels, which take longest, come first.
pytest: $(STAMP)
	@command -v g++ >/dev/null || echo 'g++ was not found: tests that build kernels are skipped.'
	@failed=0; cores=$$(nproc); workers=$$((cores < $(MOST) ? cores + 1 : $(MOST))); \
	    $(PYTEST) --numprocesses $$workers --dist loadfile --no-loadscope-reorder -m 'not timed' $(ARGS) || [ $$? -eq $(NONE) ] || failed=1; \
	    $(PYTEST) -m timed $(ARGS) || [ $$? -eq $(NONE) ] || failed=1; \
	    exit $$failed

install: $(STAMP)

nvcc: $(STAMP)
	@$(BIN)/python -c 'import sys; from treesearch.languages import CUDA; sys.exit(CUDA.compiler() is None)' || \
	    $(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[cuda]'

# The stamp comes last, so an install that fails or is interrupted is taken up again by the next call. hatchling goes
# first, at its pinned version, to build treesearch without pip fetching another one for the purpose.
$(STAMP): pyproject.toml constraints.txt
	@$(MAKE) --no-print-directory python
	@rm -f $@
	@$(PIP) --version >/dev/null 2>&1 || { echo 'Creating $(VENV) ...'; $(PYTHON) -m venv --clear $(VENV); }
	@echo 'Installing treesearch and what it needs into $(VENV); the first time takes a few minutes ...'
	$(PIP) install --quiet --constraint constraints.txt hatchling
	$(PIP) install --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@

python:
	@command -v $(PYTHON) >/dev/null || \
	    { echo '$(PYTHON) was not found: install Python 3.11 or later, or name one: make PYTHON=/path/to/python3.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "treesearch needs Python 3.11 or later and $(PYTHON) is older: name another one: make PYTHON=python3.12." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "$(PYTHON) cannot make environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 1; }

compiler:
	@command -v g++ >/dev/null || \
	    { echo 'g++ was not found, and kernels are built with it: install it (Debian, Ubuntu: apt-get install g++).' >&2; exit 1; }

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
	find treesearch tests examples problems -name __pycache__ -prune -exec rm -rf {} +
