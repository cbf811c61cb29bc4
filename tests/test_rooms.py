"""Rooms are joined by the doors of ARCHITECTURE.md and by no others."""

import ast
import graphlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attnlab_theory"

HALLWAY = {
    "axes",
    "compilation",
    "seeds",
    "plurals",
    "refuse",
    "options",
    "files",
    "inputs",
    "interrupts",
    "layout",
    "exits",
    "cores",
    "cluster",
}
CLOSED_TO_HALLWAY = {"theory", "stats"}
BELOW_EXPERIMENT = {
    "attention",
    "counting",
    "sampling",
    "theory",
    "construct",
    "stats",
    "identities",
    "claims",
    "report",
}
DOORS: dict[str, set[str]] = {
    # counting walks anybody's program: it knows of jax's primitives and of no operator.
    **{room: set() for room in ("attention", "sampling", "theory", "stats", "counting", *HALLWAY)},
    "construct": {"attention", "theory"},
    # identities opens language: what is true of operators is tried on the layers that the labs train.
    "identities": {"attention", "construct", "language", "sampling"},
    # claims opens counting to measure what theory/cost predicts.
    "claims": {"attention", "construct", "counting", "sampling", "theory", "stats", "identities"},
    "report": {"claims", "stats", "identities"},
    # The book tells of everything; the command hands it the experiments, and what each lab declares.
    "book": {"answers", "claims", "conform", "experiment", "identities", "museum", "report"},
    # Starts and ends processes, and keeps code in; what that code is, it does not know.
    "sandbox": set(),
    # A worker of a cluster starts a process, as others do.
    "cluster": {"sandbox"},
    "conformance": {"conform"},
    "experiment": {"claims", "stats", "report", "judges"},
    # A process that judges calls what `experiment` would call itself.
    "judges": {"claims", "experiment", "sandbox"},
    # museum breaks what other rooms build, and shows which identities and claims notice.
    "museum": {
        "attention",
        "construct",
        "sampling",
        "theory",
        "stats",
        "identities",
        "claims",
        "report",
    },
    "answers": {"claims", "identities", "report"},
    # grader judges submitted functions with the real operator; where draws do it, against a prediction.
    "grader": {
        "answers",
        "attention",
        "sampling",
        "sandbox",
        "stats",
        "theory",
        "claims",
        "identities",
        "report",
    },
    # conform judges anybody's attention by a reference of its own in numpy; the sandbox's child makes the calls.
    # The laws of random features and dropout want intervals with an error rate.
    "conform": {"sandbox", "stats"},
    # The figure of the board has the style of all figures; it is imported where it is drawn.
    "board": {"conform", "report", "sandbox"},
    # Judges somebody's own queries and keys: the prediction and the operator meet here too, outside any claim.
    "estimators": {"attention", "sampling", "theory", "report"},
    "language": {"attention", "sampling", "stats"},
    # labs opens theory for heads: what it predicts of real weights stands beside them.
    "labs": {"attention", "language", "theory", "sandbox", "stats", "claims", "report"},
    # the phase diagram is drawn for an experiment as for somebody's own queries and keys.
    "experiments": {"experiment", "estimators"} | BELOW_EXPERIMENT,
    # Scripts about what labs read and write: they judge nothing, and nothing else knows about them.
    "experiments/labs": {"labs", "language", "stats", "report"},
}
ANYTHING = {"cli", "__main__", "benchmarks"}


def doors_of_the_table() -> dict[str, set[str]]:
    """The last column of ARCHITECTURE.md's table of rooms, by room."""
    section = (ROOT / "ARCHITECTURE.md").read_text().split("## Rooms")[1].split("\n## ")[0]
    rows = (line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `"))
    doors = {first.strip(" `/").removesuffix(".py"): last.strip() for first, _, last in rows}
    return {room: set() if last == "–" else set(last.split(", ")) for room, last in doors.items()}


def test_the_table_of_architecture_has_the_same_doors():
    anything = {room: {"anything"} for room in ANYTHING - {"__main__"}}
    rooms = {room: doors for room, doors in DOORS.items() if room not in HALLWAY}
    assert doors_of_the_table() == rooms | anything


def test_architecture_names_the_hallway():
    before, _, _ = (ROOT / "ARCHITECTURE.md").read_text().partition(" are the hallway.")
    assert set(re.findall(r"`(\w+)`", before.split("\n\n")[-1])) == HALLWAY


def test_files_that_architecture_names_exist():
    """Words in capitals stand for names."""
    named = re.findall(r"`([\w/]+\.py)`", (ROOT / "ARCHITECTURE.md").read_text())
    roots = ("attnlab_theory", "board", "experiments", "benchmarks", "tests")
    files = [f"/{path.relative_to(ROOT)}" for root in roots for path in (ROOT / root).rglob("*.py")]
    missing = [name for name in named if not any(file.endswith(f"/{name}") for file in files)]
    assert [name for name in missing if not re.search("[A-Z]", name)] == []


def room_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    if relative.parts[0] == "board":
        return "board"
    if relative.parts[0] != "attnlab_theory":
        return "/".join(relative.parts[:-1])
    return relative.parts[1].removesuffix(".py")


def rooms_entered(path: Path) -> set[str]:
    entered = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room they enter"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] == "attnlab_theory" and parts[1:2] != ["__version__"]:
                entered.add(parts[1])
            elif parts[0] in {"board", "experiments", "tests", "benchmarks"}:
                entered.add(parts[0])
    return entered


def modules_of(*roots: str) -> dict[str, Path]:
    """Every module below some folders of the repository, by its full name."""
    found = {}
    for path in (path for root in roots for path in (ROOT / root).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def modules_imported(source: str, modules: Iterable[str]) -> set[str]:
    """Those of `modules` that a file imports, wherever in it.

    Imports under TYPE_CHECKING count too: two files that name each other's types are read together.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}": node.module or "" for alias in node.names}
            found |= {name if name in modules else module for name, module in names.items()}
    return found & set(modules)


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules each of which imports the next, from one back to the same; none if there is no such circle."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return []


@pytest.mark.parametrize("importing", ["import a.c", "def late():\n    from a import c", "from a.c import name"])
def test_a_circle_of_imports_is_seen(importing):
    modules = ("a", "a.b", "a.c")
    graph = {"a.b": modules_imported(importing, modules), "a.c": modules_imported("from a.b import x", modules)}
    assert set(circle_in(graph)) == {"a.b", "a.c"}


def test_no_file_imports_in_a_circle():
    """Parses every file of four packages."""
    modules = modules_of("attnlab_theory", "board", "experiments", "benchmarks")
    graph = {name: modules_imported(path.read_text(), modules) - {name} for name, path in modules.items()}
    assert circle_in(graph) == []


SOURCES = sorted(path for room in (PACKAGE, ROOT / "board", ROOT / "experiments") for path in room.rglob("*.py"))


def test_imports_use_only_open_doors(subtests):
    """Some seconds: every file of the package is parsed."""
    assert len(SOURCES) > 500
    for path in SOURCES:
        with subtests.test(str(path.relative_to(ROOT))):
            room = room_of(path)
            if room in ANYTHING or path == PACKAGE / "__init__.py":
                continue
            allowed = {room} | DOORS[room]
            if room not in CLOSED_TO_HALLWAY:
                allowed |= HALLWAY
            assert rooms_entered(path) <= allowed


def test_theory_and_stats_import_no_hallway():
    for room in CLOSED_TO_HALLWAY:
        for path in (PACKAGE / room).rglob("*.py"):
            assert not rooms_entered(path) & HALLWAY


def test_what_every_process_loads_leaves_scipy_stats_out():
    """Loading it takes an eighth of what loading all experiments takes. One lab needs it."""
    at_the_top = re.compile(r"^(import scipy\.stats|from scipy\.stats|from scipy import .*\bstats)\b", re.MULTILINE)
    found = {path for path in SOURCES if at_the_top.search(path.read_text("utf-8"))}
    assert found == {PACKAGE / "labs" / "reviews" / "faithfulness.py"}


def test_experiments_are_not_named_like_standard_modules():
    import sys

    assert not {p.stem for p in (ROOT / "experiments").glob("*.py")} & set(sys.stdlib_module_names)


def labs_entered(path: Path) -> set[str]:
    """The labs that a file imports from; what stands beside the labs belongs to all of them."""
    imported = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    names = {module.split(".")[2] for module in imported if module.startswith("attnlab_theory.labs.")}
    return names & LABS


LABS = {f.name for f in (PACKAGE / "labs").iterdir() if (f / "__init__.py").exists()} - {"engine"}
"""The engine is no lab: all of them import it, and it imports none of them."""


def test_no_lab_imports_another(subtests):
    for path in (path for path in SOURCES if path.is_relative_to(PACKAGE / "labs")):
        with subtests.test(str(path.relative_to(PACKAGE))):
            parts = path.relative_to(PACKAGE / "labs").parts
            own = {parts[0]} if len(parts) > 1 else set()
            assert labs_entered(path) <= own


TOPICS = {"selecting", "noisy_keys", "routing", "positions", "features", "sparse", "limits", "cost"}
TOPICS |= {"memory", "selection", "shared_keys", "recency", "sinks", "sharpness", "precision"}


def files_by_topic(room: Path) -> dict[str, set[str]]:
    folders = (folder for folder in room.iterdir() if folder.is_dir() and folder.name != "__pycache__")
    return {f.name: {p.stem.removeprefix("test_") for p in f.glob("*.py")} - {"__init__"} for f in folders}


THEORY, CLAIMS = files_by_topic(PACKAGE / "theory"), files_by_topic(PACKAGE / "claims")

WITHOUT_THEORY_OF_THE_SAME_NAME = {
    "selecting/reachable_weights": "selection.py: a set of keys is the case of equal weights",
    "selecting/four_answers": "the answers as queries, no claims",
    "routing/three_tokens": "key_query_value.py: plain attention is its case Q = K = V = I",
    "routing/routing": "key_query_value.py: the least norm of a routing, for the homework's tokens and any others",
    "routing/shared_routing": "key_query_value.py: the share of random heads that route a cycle",
    "positions/word_order": "predicts 0: permuted tokens give permuted outputs",
    "features/coupling": "variance.py: one formula gives the error with and without a coupling",
    "features/maps": "the operators by name, no claims",
    "features/stabilisers": "predicts 0, or a bound that is a constant",
    "cost/counts": "how counts are claimed, no claims of its own",
}
"""Claims files whose prediction lies elsewhere, and where."""


def test_theory_and_claims_have_the_same_topics():
    assert set(THEORY) == set(CLAIMS) == TOPICS


def test_a_claims_file_has_its_theory_under_the_same_name(subtests):
    for topic in sorted(TOPICS):
        with subtests.test(topic=topic):
            alone = {f"{topic}/{name}" for name in CLAIMS[topic] - THEORY[topic]}
            excused = {name for name in WITHOUT_THEORY_OF_THE_SAME_NAME if name.startswith(f"{topic}/")}
            assert alone == excused


def test_tests_of_theory_and_claims_lie_in_the_same_folders():
    for room, files in (("theory", THEORY), ("claims", CLAIMS)):
        for topic, names in files_by_topic(ROOT / "tests" / room).items():
            assert names <= files[topic]


STARTS = {"Popen", "multiprocessing", "ProcessPoolExecutor", "fork", "forkpty", "posix_spawn", "system"}
"""What starts a process that goes on. `subprocess.run` waits for one that ends by itself."""

MAY_START = {
    "attnlab_theory/sandbox/processes.py": "it is the one module that does",
    "attnlab_theory/sandbox/launcher.py": "inside the fences: it imports nothing of this package",
    "attnlab_theory/sandbox/kernel.py": "for the launcher, which loads it by its path",
    "attnlab_theory/sandbox/descendants.py": "for the launcher, which loads it by its path",
}
"""The files that start processes, and why."""


def starts(source: str) -> set[str]:
    """What a file uses that starts processes; types alone do not count."""
    if not any(name in source for name in STARTS):
        return set()
    tree = ast.parse(source)
    typed = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    ignored = {id(inner) for node in typed for inner in ast.walk(node)}
    found: set[str] = set()
    for node in (node for node in ast.walk(tree) if id(node) not in ignored):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.attr} if node.value.id in ("os", "subprocess", "futures") else set()
        elif isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module).partition(".")[0], *(alias.name for alias in node.names)}
    return found & STARTS


def test_one_module_starts_local_processes(subtests):
    """A second or two: every file of the package is read."""
    assert starts("import os\nif TYPE_CHECKING:\n    import multiprocessing\nos.fork()") == {"fork"}
    assert starts("from subprocess import Popen\nfrom multiprocessing import connection") == {
        "Popen",
        "multiprocessing",
    }
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        with subtests.test(name):
            assert bool(starts(path.read_text())) == (name in MAY_START)
