"""Fresh bad calls, each one line: `python -m tests.cli.fuzz --seed 7 --calls 400`."""

import argparse
import os
import sys
from pathlib import Path

import pytest

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--calls", type=int, default=400)
asked = parser.parse_args()
os.environ["ATTNLAB_FRESH"] = f"{asked.seed} {asked.calls}"
sys.exit(pytest.main(["-p", "no:cacheprovider", "-o", "timeout=0", str(Path(__file__).with_name("fresh.py"))]))
