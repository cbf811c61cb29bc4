# The two commands a newcomer needs: make lab, make test. The rest is for those who stay.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Every file that comes from an index has a hash in a lock; what builds the package itself is one of them.
LOCKED := $(INSTALL) --no-deps --no-build-isolation --require-hashes
# Bytecode takes half of an installation's work, and pip writes it on one core. A file that has none is only slower.
BYTECODE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
ITSELF := $(INSTALL) --no-deps --no-build-isolation -e .

# One worker for each core. A third one traces and compiles again what the others have, and gains nothing.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# Rooms whose tests run in float64, too.
WIDE := tests/attention tests/construct
# Attacks of submissions, targets, files and names.
HOSTILE := tests/sandbox tests/grader/test_hostile.py tests/grader/test_hostile_class.py \
	tests/grader/test_killed_graders.py tests/grader/test_journal.py tests/conform/test_testimony.py \
	tests/cli/test_overwriting.py tests/cli/fuzz/test_damaged_files.py tests/test_words_of_strangers.py
LEAVING := ATTNLAB_DURATIONS=build/durations

# The runs of the tests have both cores for themselves.
.NOTPARALLEL:
.PHONY: lab test slow test-all torch hostile page slowest explore mutants check bench figures locks clean

lab: $(VENV)/.lab
	$(BIN)/attnlab run
	@echo "Figures: lab/*.svg, lab/*.png   Findings: lab/*.json   The book of these and of the committed runs of labs:"
	$(BIN)/attnlab report lab figures --out lab/book

# Some hundred processes load the package, two at a time: they share its bytecode, and each keeps to one core.
test slow torch hostile: export PYTHONDONTWRITEBYTECODE =
test slow torch hostile: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.test
	$(LEAVING)/inner.json $(PYTEST)

# What `make test` leaves out (tests/circles.py), and tests of operators in float64.
slow: $(VENV)/.test
	$(LEAVING)/outer.json $(PYTEST) -m "slow and not torch"
	ATTNLAB_X64=1 $(LEAVING)/outer-x64.json $(PYTEST) -m "not torch" $(WIDE)

# The tests that need torch or onnx, which `make test` names and skips where they are not installed.
torch: export OMP_NUM_THREADS = 1
torch: $(VENV)/.torch
	$(BIN)/python -c "import torch; print('torch', torch.__version__)"
	$(PYTEST) -m torch $$(grep -rl 'mark\.torch' tests --include='test_*.py')
	$(PYTEST) -m "slow or not slow" tests/attention/test_onnx_vectors.py tests/conform/vectors

# Both circles of them, which `make test` and `make slow` run too.
hostile: $(VENV)/.test
	$(PYTEST) -m "slow or not slow" $(HOSTILE)

# Everything that CI runs.
test-all: test slow check torch

# Where the time of the tests goes, from what the last `make test` and `make slow` left.
page: $(VENV)/.test
	mkdir -p build
	$(BIN)/python -m tests.slowest >build/slowest.md
	mv build/slowest.md tests/slowest.md

slowest: test slow page

# Slow by nature, so no part of `make test-all`: both circles.
explore: $(VENV)/.test
	ATTNLAB_EXPLORE=1 $(PYTEST) -m "slow or not slow"

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
	$(BIN)/attnlab museum --json > figures/museum/museum.json
	$(BIN)/attnlab answers --json > figures/answers/answers.json

clean:
	rm -rf $(VENV) lab build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "attnlab needs Python 3.11 or later; say which with: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.build: $(BIN)/python locks/build.txt
	$(LOCKED) -r locks/build.txt
	@touch $@

$(VENV)/.lab: $(VENV)/.build pyproject.toml locks/lab.txt
	$(LOCKED) -r locks/lab.txt
	$(ITSELF)
	$(BYTECODE)
	@touch $@

$(VENV)/.test: $(VENV)/.build pyproject.toml locks/lab.txt locks/test.txt
	$(LOCKED) -r locks/lab.txt -r locks/test.txt
	$(ITSELF)
	$(BYTECODE)
	@touch $@

# Builds of torch differ from index to index, so it has a version and no hash.
$(VENV)/.torch: $(VENV)/.test locks/torch.txt
	$(LOCKED) -r locks/torch.txt
	$(INSTALL) -c constraints.txt torch
	$(BYTECODE)
	@touch $@

$(VENV)/.peers: $(VENV)/.build pyproject.toml locks/lab.txt locks/peers.txt
	$(LOCKED) -r locks/lab.txt -r locks/peers.txt
	$(INSTALL) -c constraints.txt torch
	$(ITSELF)
	$(BYTECODE)
	@touch $@

# After another version in constraints.txt. It needs uv, and asks the index that uv asks.
locks:
	$(BIN)/python locks/renew.py
