"""Freed memory is kept, unless the environment says how memory is to be taken."""

import os
import subprocess
import sys

import pytest

from attnlab_theory.cli import main

FAULTS = """
import resource
import numpy as np
from attnlab_theory.cli.allocation import keep_freed_memory
keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
np.ones(2**23)
before = faults()
for _ in range(3):
    np.ones(2**23)
print(faults() - before)
"""
PAGES = 3 * 2**23 * 8 // 2**21
"""At the very least as many, however large a page is."""


def faults(**variables: str) -> int:
    others = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_") and k != "GLIBC_TUNABLES"}
    child = [sys.executable, "-c", FAULTS]
    found = subprocess.run(child, env=others | variables, capture_output=True, text=True, check=True)
    return int(found.stdout)


@pytest.mark.slow("that a command with large models asks for it stays inside")
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc only")
def test_large_arrays_come_from_memory_that_is_kept():
    assert faults() < PAGES


@pytest.mark.slow("one of four members stays inside", but=1)
@pytest.mark.parametrize(("command", "kept"), [("captions", 1), ("reviews", 1), ("knowledge", 0), ("list", 0)])
def test_only_commands_with_large_models_keep_it(command, kept, capsys, monkeypatch):
    called = []
    monkeypatch.setattr("attnlab_theory.cli.allocation.keep_freed_memory", lambda: called.append(command))
    assert main([command, "--no-such-option"]) == 2
    assert len(called) == kept


@pytest.mark.slow("nothing inside asks this: malloc needs a process of its own")
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc only")
def test_environment_comes_first():
    assert faults(MALLOC_MMAP_THRESHOLD_="65536") > PAGES
