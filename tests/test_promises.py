"""What docs/security.md promises of the code: no stranger's text is run, and every fence has its attack."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from attnlab_theory.sandbox.fences import FENCES
from tests.grader.hostile import ATTACKS

ROOT = Path(__file__).parents[1]

RUN = {
    "attnlab_theory/sandbox/notebook.py": "a notebook of a submission, inside the fences",
    "attnlab_theory/conform/case.py": "lines of Python that this package has written",
    "attnlab_theory/conform/calling.py": "arrays as lines of Python that this package has written",
    "attnlab_theory/conform/harness.py": "calls of a target, in its own process",
    "attnlab_theory/conform/rows.py": "lines of Python that this package has written",
    "attnlab_theory/conform/vectors/ours.py": "lines of Python that this package has written",
    "attnlab_theory/grader/own_functions.py": "the Python file that an instructor names in a homework",
    "attnlab_theory/judges.py": "from a process that this one has started",
    "attnlab_theory/labs/engine/remote.py": "on a worker, from whoever asks it",
    "attnlab_theory/cluster/worker.py": "on a worker, from whoever asks it",
    "attnlab_theory/cluster/client.py": "answers of workers, whom docs/cluster.md says to trust",
}
"""The files that run text or unpickle, and whose text it is."""

RUNNING = {"eval", "exec", "pickle.load", "pickle.loads", "marshal.loads", "shelve.open", "os.system", "os.popen"}


def calls():
    """Every call of a function by its name: the file, the line, the name and the keywords."""
    for folder in ("attnlab_theory", "experiments", "board"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    keywords = {each.arg: ast.unparse(each.value) for each in node.keywords}
                    yield path.relative_to(ROOT).as_posix(), node.lineno, ast.unparse(node.func), keywords


@pytest.mark.slow("every fence has its attack, and what builds has one version")
def test_no_text_is_run_but_where_a_reason_stands_and_no_array_is_unpickled():
    """Reads every file of the package."""
    found, wrong = set(), []
    for path, line, name, keywords in calls():
        if name in RUNNING:
            found.add(path)
        is_load = re.fullmatch(r"(np|numpy)\.(load|fromfile)", name)
        if is_load and (name.endswith("fromfile") or keywords.get("allow_pickle") != "False"):
            wrong.append(f"{path}:{line}: {name} without allow_pickle=False")
        if re.search(r"\b(torch|joblib|dill|cloudpickle)\.load$|yaml\.(unsafe_)?load$", name):
            wrong.append(f"{path}:{line}: {name} runs code of a file")
        if keywords.get("shell") == "True":
            wrong.append(f"{path}:{line}: a shell reads text")
    assert not wrong, "\n".join(wrong)
    assert found == {*RUN}


def test_every_fence_has_a_row_with_an_attack_that_exists():
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.MULTILINE))
    assert [*rows] == [fence.name for fence in FENCES]
    for name, row in rows.items():
        named = re.findall(r'"([^"]+)"', row)
        assert named, name
        assert {*named} <= {*ATTACKS}, name
    for place in re.findall(r"`(tests/[\w/.]+)`", page):
        assert (ROOT / place).is_file()


def pins(path):
    """The exact versions that a file names, by package."""
    found = re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub("[-_.]+", "-", name).lower(): version for name, version in found}


def test_what_builds_the_package_has_one_version_and_hashes():
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    exact = pins(ROOT / "locks" / "build.txt")
    assert required
    assert {*required} <= {f"{name}=={version}" for name, version in exact.items()}


def test_every_version_has_hashes_but_that_of_torch():
    """torch has other files on each index. A lock names no index, and no package without a sha256."""
    locked = {}
    for path in (ROOT / "locks").glob("*.txt"):
        first, *lines = path.read_text("utf-8").splitlines()
        assert first.startswith("# Written by locks/renew.py")
        hashed = [re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?", line) for line in lines]
        named = [re.fullmatch(r"[\w.-]+==[\w.]+( ; .+)? \\", line) for line in lines]
        assert all(bool(one) != bool(other) for one, other in zip(hashed, named, strict=True)), path
        # A line that goes on is followed by a hash, and one that ends by a package.
        goes_on = [line.endswith("\\") for line in lines]
        assert goes_on == [*map(bool, hashed[1:]), False], path
        locked |= pins(path)
    assert pins(ROOT / "constraints.txt") == locked | {"torch": pins(ROOT / "constraints.txt")["torch"]}
    installs = re.findall(r"^\t\$\((INSTALL|LOCKED|ITSELF)\)(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {rest.strip() for how, rest in installs if how == "INSTALL"} == {"-c constraints.txt torch"}
    assert len(installs) > 5
