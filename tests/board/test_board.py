"""The board of other libraries, with a library of two entry points that takes seconds."""

import ast
import dataclasses
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from attnlab_theory.cli import main
from attnlab_theory.conform import board
from attnlab_theory.conform.finding import Fault
from board import cells, command, environments, page, run, snippets
from board.catalogue import ENTRIES, entries_of, read
from board.entry import HERE, Category, Entry, Failure, entry_of
from board.judging import fingerprint
from board.judging import judged as judged_now
from board.process import Process
from tests.conform.wrong import LOSES

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "figures" / "conformance"

LIBRARY = '''
"""A library of two entry points, one of them wrong where queries are more than keys."""

import os
import time

import numpy as np

LATE = 1


def right(q, k, v, mask=None):
    """Says nothing."""
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)) @ v


def wrong(q, k, v, mask=None):
    return right(q, k, v, mask) + (LATE if q.shape[-2] > k.shape[-2] else 0)


def ends(q, k, v):
    if k.shape[-2] == 17:
        os._exit(3)
    return right(q, k, v)


def hears_nothing(q, k, v):
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


def refuses(q, k, v):
    raise ValueError("of no use")
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The environments: one, whose Python is ours."""
    folder = tmp_path_factory.mktemp("environments")
    python = folder / "own" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (folder / "library.py").write_text(LIBRARY + LOSES.format(right="right"))
    return folder


def entry(folder, function, **more):
    asked = {
        "name": f"own.{function}",
        "called": f"own {function}",
        "library": "numpy",
        "environment": "own",
        "kinds": {"softmax": function},
        "declared": {"layout": "bhtd", "framework": "numpy"},
        "adapter": folder / "library.py",
    }
    return Entry(**asked | more)


def failure(at, category=Category.BUG, **more):
    return Failure(at=(at,), category=category, **more)


LATE = failure("softmax/more queries")
"""What is known of the library's failure."""


@pytest.fixture(scope="module")
def judged(folder, tmp_path_factory):
    """What is written of two entry points, and the lines that were told."""
    out, lines = tmp_path_factory.mktemp("board"), []
    both = entry(folder, "right"), entry(folder, "wrong")
    assert run.board(both, out, folder, processes=2, tell=lines.append) == []
    return both, out, lines


@pytest.mark.slow("the page with the same two verdicts stays inside")
def test_a_right_entry_point_holds_and_a_wrong_one_fails(judged):
    """The fixture judges two entry points whole, each in processes of its own."""
    both, out, lines = judged
    found = {each.entry.name: cells.cells_of(each, [])["softmax"] for each in cells.results(out, both)}
    assert found["own.right"].word == "holds"
    assert found["own.wrong"].word == "fails"
    assert [row.told["name"] for row in found["own.wrong"].rows] == ["more queries"]
    assert found["own.wrong"].rows[0].told["tolerances"] > 1e4
    assert sorted(re.sub(r"^\d of 2: |in \d+ s: ", "", line) for line in lines) == [
        "own.right softmax holds",
        "own.wrong softmax fails",
    ]


@pytest.mark.slow("that committed snippets import nothing of ours stays inside")
def test_a_failure_is_shown_by_lines_that_do_not_know_this_package(judged):
    both, out, _ = judged
    found = cells.results(out, [dataclasses.replace(each, failures=(LATE,)) for each in both])
    ((_, _, row),) = cells.failures(found)
    snippet = row.told["snippet"]
    assert snippet["shows"]
    assert snippet["output"].startswith("AssertionError")
    text = "\n".join(snippet["lines"])
    assert "attnlab" not in text
    assert "hears_nothing" not in text
    assert "LATE = 1" in text
    assert text in page.page(found)


def test_a_snippet_of_right_code_shows_nothing(folder):
    python = folder / "own" / "bin" / "python"
    assert snippets.shown(["assert 1 == 1"], python, {}, ["AssertionError"]) == (False, "")
    assert not snippets.shown(["import nothing_of_that_name"], python, {}, ["AssertionError"])[0]
    assert snippets.shown(["assert 1 == 2"], python, {}, ["AssertionError"])[0]


@pytest.mark.slow("snippets of right code, which show nothing, stay inside")
def test_a_failure_that_nothing_shows_is_refused(judged, tmp_path):
    both, out, _ = judged
    for path in out.glob("*.json"):
        told = json.loads(path.read_text())
        for row in told["kinds"]["softmax"]["identities"]:
            if "snippet" in row:
                row["snippet"]["shows"] = False
        (tmp_path / path.name).write_text(json.dumps(told))
    with pytest.raises(ValueError, match=r"own.wrong as softmax fails 'more queries', and no snippet shows it"):
        page.page(cells.results(tmp_path, both))


def test_a_failure_without_a_category_is_refused_with_those_that_there_are():
    row = {"name": "masks", "verdict": "fails", "line": "", "tolerances": None, "snippet": {"shows": True}}
    told = cells.Result(named("l.one"), {"kinds": {"softmax": {"identities": [row]}}, "paths": {}})
    with pytest.raises(ValueError, match=r"'masks', .* no category for it: bug, biased, undefined, documented"):
        cells.failures([told])


@pytest.mark.parametrize(
    ("categories", "word"),
    [
        ([None, "undefined", "documented"], "fails"),
        (["bug", "undefined", "biased"], "bug"),
        (["documented", "undefined", "biased"], "biased"),
        (["documented", "undefined"], "undefined"),
    ],
)
def test_a_cell_has_the_worst_of_its_categories_and_names_a_row_of_it(categories, word):
    names = ["masks", "blind rows", "pairs"]
    rows = [{"name": name, "verdict": "fails", "tolerances": None} for name in names[: len(categories)]]
    known = [
        failure(f"causal/{row['name']}", Category(each), place="its manual" * (each == "documented"))
        for row, each in zip(rows, categories, strict=True)
        if each
    ]
    cell = cells.verdict_of(named("l.one", failures=(*known,)), "causal", {"identities": rows})
    assert cell.word == word
    assert cell.rows[0].told["name"] == names[categories.index(None if word == "fails" else word)]


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"category": "undefined"}, "softmax/masks: only blind rows and early queries can be undefined"),
        ({"category": "undefined", "at": ["paths/blind rows"]}, "paths/blind rows: only blind rows"),
        ({"category": "undefined", "at": ["causal/*"]}, "only blind rows and early queries"),
        ({"category": "documented"}, "softmax/masks: what is documented has a place"),
        ({"category": "bug", "place": "its manual"}, "what is documented has a place, and nothing else"),
        ({"category": "wrong"}, "l.one: 'wrong' is not a valid Category"),
        ({"category": "bug", "issue": "l/l#1"}, "l.one: .* unexpected keyword argument 'issue'"),
        ({"category": "bug", "issues": {"#1": "open"}}, "'#1' is no issue: write OWNER/REPOSITORY#NUMBER"),
    ],
)
def test_an_entry_with_a_failure_that_says_too_little_or_too_much_is_refused(tmp_path, known, told):
    failures = {"at": ["softmax/masks"]} | known
    lines = [f"{key} = {json.dumps(value)}" for key, value in failures.items() if key != "issues"]
    lines += [f'issues."{thread}" = "{note}"' for thread, note in failures.get("issues", {}).items()]
    head = 'library = "l"\nenvironment = "e"\ndeclared = {}\n[[entries]]\nname = "l.one"\ncalled = "one"\n'
    path = tmp_path / "l.toml"
    path.write_text("\n".join([head, 'kinds.softmax = "f"', "[[entries.failures]]", *lines]) + "\n")
    with pytest.raises(ValueError, match=told):
        [*read(path)]


def test_entries_share_what_their_file_says_and_what_they_say_themselves_comes_first(tmp_path):
    path = tmp_path / "l.toml"
    path.write_text(
        'library = "l"\nenvironment = "e"\ndeclared = {}\n'
        '[[failures]]\nat = ["*/masks"]\ncategory = "bug"\nremark = """\nIn two\nlines."""\n'
        '[[entries]]\nname = "l.one"\ncalled = "one"\nkinds.softmax = "f"\n'
        '[[entries]]\nname = "l.two"\ncalled = "two"\nkinds.softmax = "g"\nenvironment = "own"\n'
        '[[entries.failures]]\nat = ["softmax/*", "*/masks"]\ncategory = "biased"\n'
    )
    one, two = read(path)
    assert (one.environment, two.environment) == ("e", "own")
    assert one.adapter == HERE / "adapters" / "l.py"
    assert one.failure("softmax", "masks").remark == "In two lines."
    assert (one.failure("softmax", "pairs"), two.failure("softmax", "masks").category) == (None, "biased")
    plain = json.loads(json.dumps(dataclasses.asdict(two), default=str))
    assert entry_of(plain) == two


@pytest.mark.slow("a kind compared with another function stays inside")
def test_what_a_library_documents_is_a_convention(judged):
    both, out, _ = judged
    known = failure("softmax/more queries", Category.DOCUMENTED, place="its manual")
    found = cells.results(out, [dataclasses.replace(each, failures=(known,)) for each in both])
    assert [cells.cells_of(result, found)["softmax"].word for result in found] == ["holds", "documented"]
    assert cells.failures(found) == []
    assert "its manual" in page.page(found)


def told_as(one, rows, **profile):
    """A result with some rows as softmax and multi-head."""
    told = {"identities": [{"tolerances": None, "line": "", **row} for row in rows], "profile": profile}
    more = {"version": "1", "library": "l", "python": "3", "numpy": "2", "core_seconds": 1, "paths": {}}
    return cells.Result(one, {"kinds": {kind: told for kind in one.kinds}, **more})


def test_what_one_place_documents_stands_in_one_line_with_what_is_furthest_off(folder):
    kinds = {"softmax": "right", "multi-head": "right"}
    known = Failure(at=("*/masks", "*/padding"), category=Category.DOCUMENTED, place="its manual")
    one = entry(folder, "right", kinds=kinds, failures=(known,))
    rows = [
        {"name": "masks", "verdict": "fails", "line": "2 off", "tolerances": 2.0},
        {"name": "padding", "verdict": "fails", "line": "9 off", "tolerances": 9.0},
    ]
    written = page.page([told_as(one, rows)])
    assert "| own right | softmax, multi-head | masks, padding | 9 off | its manual |" in written


def test_functions_of_attention_and_everything_else_have_a_table_each(folder):
    one = told_as(entry(folder, "right"), [])
    other = told_as(entry(folder, "wrong", kinds={"model": "wrong"}), [])
    written = page.page([other, one])
    for kind, name in (("softmax", "right"), ("model", "wrong")):
        head = f"| entry point | version | {kind} | paths |\n| --- | --- | --- | --- |"
        assert f"{head}\n| own {name} | 1 | holds |" in written
    assert [part["columns"] for part in cells.summary([one])["parts"]] == [["softmax", "paths"]]


def test_conventions_are_told_without_the_numbers_of_each_kind(folder):
    rows = [
        {"name": "float64", "verdict": "convention", "line": "...", "brief": "computed in float32"},
        {
            "name": "hidden keys",
            "verdict": "convention",
            "line": "float32: all; float16: finite: a score shows",
            "brief": "float16: a score shows",
        },
        {"name": "hidden NaN", "verdict": "convention", "line": "no number reaches the output"},
        {"name": "empty batch", "verdict": "convention", "line": "refused: ValueError: no", "brief": "refused"},
    ]
    result = told_as(entry(folder, "right"), rows, **{page.ALIGNMENT: "end: last"})
    told = ["end: last", "", "", "float16: a score shows", "no number reaches the output"]
    told += ["computed in float32", "", "", "", "refused"]
    assert f"| own right | {' | '.join(told)} |" in page.page([result])


@pytest.mark.slow("that results are of the committed adapter stays inside")
def test_what_is_written_is_not_judged_again_until_the_adapter_changes(judged, folder, tmp_path):
    both, out, _ = judged
    lines = []
    run.board(both, out, folder, processes=2, tell=lines.append)
    assert all("is judged already" in line for line in lines)
    before = fingerprint(both[0])
    other = tmp_path / "library.py"
    other.write_text(LIBRARY + "\n# another\n")
    assert fingerprint(dataclasses.replace(both[0], adapter=other)) != before


@pytest.mark.slow("what the board refuses in one line stays inside")
def test_a_library_that_is_not_installed_is_told(folder, tmp_path):
    lines = []
    missing = entry(folder, "right", library="no-such-library"), entry(folder, "wrong", environment="nowhere")
    assert len(run.board(missing, tmp_path, folder, processes=1, tell=lines.append)) == 2
    assert all("is not installed in" in line for line in lines)
    assert [*tmp_path.glob("*")] == []


@pytest.mark.slow("targets that conform cannot call stay inside")
def test_who_answers_no_trial_call_fails_by_name(folder, tmp_path):
    one = entry(folder, "refuses")
    run.board([one], tmp_path, folder, processes=1, tell=lambda line: None)
    (result,) = cells.results(tmp_path, [one])
    ((row, _),) = cells.cells_of(result, [])["softmax"].rows
    assert row["name"] == "called"
    assert "ValueError: of no use" in row["line"]
    assert "--layout" not in row["line"]


@pytest.mark.slow("a rotation whose call ends its process stays inside")
def test_who_ends_the_process_is_started_again_and_who_hangs_is_ended(folder, monkeypatch):
    """Starts four processes: the first, and another after each of three deaths."""
    import numpy as np

    from board import process as module

    monkeypatch.setattr(module, "GRACE", 0.2)
    plan = {"framework": "numpy", "kind": "float32", "strided": False, "names": [], "plain": {}}
    arrays = [np.zeros((1, 1, 17, 2), "float32")] * 3
    with Process(folder / "own" / "bin" / "python", folder / "library.py") as process:
        assert process.call("ends", plan, arrays, 5.0).report["trouble"] == "ended the process (3)"
        assert process.call("right", plan, arrays, 5.0).report["trouble"] == ""
        os.kill(process._child.pid, signal.SIGKILL)
        killed = process.call("right", plan, arrays, 5.0).report
        assert (killed["trouble"].fault, killed["killed"]) == (Fault.KILLED, "SIGKILL")
        assert process.call("right", plan, arrays, 5.0).report["trouble"] == ""
        assert process.call("hears_nothing", plan, arrays, 0.2).report == {
            "trouble": "hung",
            "about": {"seconds": 0.4},
        }
        assert process.call("right", plan, arrays, 5.0).arrays[0].shape == (1, 1, 17, 2)
        assert process.deaths == 3


def test_who_loses_the_accelerator_is_started_again(folder):
    """Whatever a process asks of an accelerator after such an error ends with that error, too. Starts two."""
    import numpy as np

    plan = {"framework": "numpy", "kind": "float32", "strided": False, "names": [], "plain": {}}
    with Process(folder / "own" / "bin" / "python", folder / "library.py") as process:
        lost, other = (process.call("loses", plan, [np.zeros((1, 1, n, 2), "float32")] * 3, 5.0) for n in (17, 16))
        assert lost.report["about"]["error"] == "AcceleratorError"
        assert (other.report["trouble"], process.deaths) == ("", 1)


def test_an_entry_point_of_another_device_keeps_its_result(folder, tmp_path, monkeypatch):
    """Without a result it was judged by nobody, and that is a trouble."""
    entry = dataclasses.replace(named("own.elsewhere"), environment="own", library="numpy", device="cuda")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    told: list[str] = []
    (trouble,) = run.board([entry], tmp_path, folder, processes=1, tell=told.append)
    assert trouble == "own.elsewhere: not judged; this machine has no cuda device"
    (tmp_path / "own.elsewhere-1.0.json").write_text("{}")
    assert run.board([entry], tmp_path, folder, processes=1, tell=told.append) == []
    assert told == ["1 of 1: own.elsewhere needs cuda, which this machine does not have"] * 2
    with pytest.raises(ValueError, match="'tpu' is no device: cuda"):
        named("own.elsewhere", device="tpu")


def named(name, kind="softmax", **more):
    """An entry point that nobody calls."""
    asked = {"name": name, "called": name, "library": "l", "environment": "e", "adapter": HERE}
    return Entry(**asked, kinds={kind: "f"}, declared={}, **more)


def blind(line, **more):
    """A result whose blind rows are so."""
    told = {"identities": [{"name": "blind rows", "verdict": "convention", "line": line, "tolerances": None}]}
    plain = {"kinds": {"softmax": told}, "paths": {}, "library": "l", "version": "1"}
    return cells.Result(named(line, **more), plain)


def shown(result, column, found=()):
    """The text of a cell of the page's table."""
    (part,) = cells.summary([result, *found])["parts"]
    line = board.tables({"parts": [part]})[0].splitlines()[2]
    return line.split(" | ")[2 + part["columns"].index(column)].removesuffix(" |").strip()


def test_paths_through_one_object_must_agree():
    zeros, nan = blind("zeros"), blind("NaN", same_as="zeros")
    assert cells.paths_of(zeros, [zeros, nan]).word == "cannot"
    ((row, _),) = cells.paths_of(nan, [zeros, nan]).rows
    assert row["line"].startswith("NaN, and zeros by the path of")
    with pytest.raises(ValueError, match="as paths fails 'blind rows', and no snippet"):
        cells.failures([zeros, nan])


@pytest.mark.parametrize(("verdict", "text"), [("holds", "agree"), ("fails", "FAILS: against, 9 tolerances")])
def test_two_paths_that_get_the_same_calls_stand_in_the_column_of_paths_alone(verdict, text):
    one = named("l.one", "model", failures=(failure("paths/against"),))
    row = {"name": "against", "verdict": verdict, "line": "33 tokens", "tolerances": 9.0}
    row |= {"snippet": {"lines": ["assert False"], "shows": True, "output": "AssertionError"}}
    result = cells.Result(one, {"kinds": {"model": {"identities": [row]}}, "paths": {}, "version": "1"})
    assert cells.cells_of(result, [])["model"].word == "holds"
    assert shown(result, "paths").removesuffix("; no issue known") == text
    assert [kind for _, kind, _ in cells.failures([result])] == ["paths"] * (verdict == "fails")


def test_a_kind_is_compared_with_another_function_of_the_adapter(folder):
    asked = entry(folder, "right", against={"softmax": "wrong"})
    told = judged_now(asked, folder / "own" / "bin" / "python")["kinds"]["softmax"]
    assert told["profile"]["against"] == "wrong"
    (row,) = (row for row in told["identities"] if row["name"] == "against")
    assert (row["verdict"], "there, " in row["line"]) == ("fails", True)


def test_paths_that_differ_as_documented_are_a_convention():
    known = failure("paths/blind rows", Category.DOCUMENTED, place="its manual")
    both = [blind("zeros"), blind("NaN", same_as="zeros", failures=(known,))]
    cell = cells.paths_of(both[1], both)
    assert (cell.word, cell.rows[0].failure.place) == ("documented", "its manual")
    assert shown(both[1], "paths", both) == "as documented"
    assert cells.failures(both) == []


@pytest.mark.parametrize(
    ("kind", "rows", "text"),
    [
        ("causal", ["plain"], "holds, no mask"),
        ("causal", ["plain", "blind rows"], "holds"),
        ("softmax", ["plain"], "holds"),
    ],
)
def test_who_hides_something_and_was_asked_without_a_mask_is_marked(kind, rows, text):
    told = {"identities": [{"name": name, "verdict": "holds", "line": "", "tolerances": None} for name in rows]}
    result = cells.Result(named("l.one", kind), {"kinds": {kind: told}, "paths": {}, "version": "1"})
    assert shown(result, kind) == text


def test_the_page_says_what_is_fair_to_know_of_a_cell(judged):
    both, out, _ = judged
    told = [
        dataclasses.replace(both[0], notes={"softmax": "its bias is ours"}),
        dataclasses.replace(both[1], failures=(failure("softmax/*", remark="It is right for short queries."),)),
    ]
    written = page.page(cells.results(out, told))
    assert "| own right | softmax | its bias is ours |" in written
    assert "| holds* |" in written
    assert re.search(r"\| FAILS: more queries, \d[\d,]+ tolerances; no issue known \|", written)
    assert "\n\nIt is right for short queries.\n\nPublic: no issue known.\n\n```python" in written


def test_the_newest_version_is_shown(judged, tmp_path):
    both, out, _ = judged
    (path,) = out.glob("own.right-*.json")
    for version in ("1.9.1", "1.10.0"):
        told = json.loads(path.read_text()) | {"version": version}
        (tmp_path / f"own.right-{version}.json").write_text(json.dumps(told))
    assert cells.results(tmp_path, both)[0].told["version"] == "1.10.0"


# What is committed.


@pytest.fixture(scope="module")
def committed():
    """The committed results as a page, and as plain values."""
    found = cells.results(COMMITTED, ENTRIES)
    return page.page(found), cells.summary(found)


def test_every_committed_result_has_its_entry_and_every_entry_its_result():
    found = cells.results(COMMITTED, ENTRIES)
    assert [result.entry.name for result in found] == [each.name for each in ENTRIES]
    assert len(found) >= 20


def test_a_committed_result_is_of_the_committed_adapter_and_version(subtests):
    for result in cells.results(COMMITTED, ENTRIES):
        with subtests.test(result.entry.name):
            assert result.told["adapter"] == fingerprint(result.entry)
            assert result.told["version"] == environments.pinned(result.entry.environment)[result.entry.library]
            assert [*result.told["kinds"]] == [*result.entry.kinds]


def test_the_committed_page_is_what_the_results_give(committed):
    assert (COMMITTED / "README.md").read_text("utf-8") == committed[0]


def test_the_json_that_a_wheel_has_is_what_the_results_give(committed):
    assert json.loads((COMMITTED / command.JSON).read_text("utf-8")) == committed[1]


def test_cells_that_fail_are_bugs_or_about_queries_that_see_no_key_and_one_is_biased(committed):
    found = {
        word: {(each["name"], column) for each, column, _ in board.with_word(committed[1], word)}
        for word in ("bug", "biased", "undefined")
    }
    keras = {(f"keras.{backend}", "causal") for backend in ("jax", "numpy", "torch")}
    jax = {("jax.attention", "causal"), ("jax.attention", "sliding-window"), ("flax.nnx", "causal")}
    jax |= {("jax.cuda", "causal"), ("jax.cuda", "sliding-window")}
    finite = {(name, "causal") for name in ("mlx.fast", "x-transformers.plain", "ring-attention.default")}
    assert found["undefined"] == keras | jax | finite
    assert found["biased"] == {("performer.features", "random-features")}
    assert found["bug"] == {
        ("keras.numpy", "grouped-query"),
        ("litgpt.layer", "softcap"),
        ("onnxruntime.contrib", "causal"),
        ("ring-attention.flash", "causal"),
        ("torch.mha-fast", "paths"),
        ("torch.mha-weights", "paths"),
        *(("torch.cuda-cudnn", kind) for kind in ("softmax", "multi-head", "grouped-query")),
        ("flax.nnx-decoding-causal", "decode"),
        ("performer.causal", "mixer"),
        ("x-transformers.decoder-shift-tokens", "model"),
        ("x-transformers.decoder-data-dependent-alibi", "model"),
    }


def test_the_first_screen_of_the_page_says_what_a_maintainer_would_call_a_bug(committed):
    first, _, rest = committed[0].partition("![the board]")
    assert len(first.splitlines()) < 40
    for each, column, cell in board.with_word(committed[1], "bug"):
        assert f"| {each['called']} | {each['version']} | {column} | {cell['identity']} |" in first
    performer = "https://github.com/google-research/google-research/issues/436"
    assert f"({performer}) (closed; an author answers that it should not matter" in first
    assert "FAILS" not in first
    assert rest.count("FAILS") == 13


def test_every_red_cell_links_an_issue_or_says_that_none_is_known(committed):
    every = [cell for line in committed[0].splitlines() for cell in line.split(" | ")]
    red = [cell for cell in every if "FAILS" in cell or cell.startswith("biased;")]
    assert len(red) == 14
    for cell in red:
        assert "; no issue known" in cell or re.search(r"\[(\S+)#(\d+)\]\(https://github.com/\1/issues/\2\)", cell)


def test_the_catalogue_names_what_is_there():
    assert len({each.name for each in ENTRIES}) == len(ENTRIES)
    for each in ENTRIES:
        assert {*each.kinds} <= {*cells.COLUMNS}
        functions = [
            x.name
            for x in ast.parse(each.adapter.read_text("utf-8")).body
            if isinstance(x, ast.FunctionDef | ast.ClassDef)
        ]
        assert {*each.kinds.values()} <= {*functions} or "__getattr__" in functions
        for known in each.failures:
            assert {key.partition("/")[0] for key in known.at} <= {*each.kinds, "*", "paths"}
        assert {*each.notes} <= {*cells.COLUMNS}
        assert each.same_as in ("", *(other.name for other in ENTRIES))
        assert {*each.against} <= {*each.kinds}
    named = {file for each in ENTRIES for file in each.snippets.values()}
    assert named == {path.name for path in (HERE / "snippets").glob("*.py")}


def test_adapters_and_snippets_import_nothing_of_ours(subtests):
    for path in sorted([*HERE.glob("adapters/*.py"), *HERE.glob("snippets/*.py")]):
        with subtests.test(path.name):
            names = []
            for each in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(each, ast.ImportFrom):
                    names.append(each.module or "")
                elif isinstance(each, ast.Import):
                    names += [x.name for x in each.names]
            assert "attnlab_theory" not in [name.partition(".")[0] for name in names]
            assert len(path.read_text("utf-8").splitlines()) < (30 if path.parent.name == "snippets" else 200)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--peers", "nothing"], "the board has no 'nothing'"),
        (["--peers", "--as", "causal"], "leave --as"),
        (["--install"], "belong to attnlab conform --peers"),
    ],
)
def test_bad_input_of_the_board_gets_one_line(capsys, words, said):
    assert main(["conform", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def wheel(monkeypatch):
    """The package as a wheel has it: without the folder `board`, and with its JSON."""
    monkeypatch.setattr(board, "is_checkout", lambda: False)
    monkeypatch.setattr(board, "FILE", COMMITTED / command.JSON)


def test_a_wheel_prints_the_committed_board(wheel, capsys, committed):
    assert main(["conform", "--peers"]) == 0
    parts = capsys.readouterr().out.strip().split("\n\n")
    assert len(parts) > 5
    assert [part for part in parts if part not in committed[0]] == []
    assert main(["conform", "--peers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == board.committed()


@pytest.mark.parametrize(
    "words", [["mlx"], ["--install"], ["--again"], ["--environments", "there"], ["--board", "there"]]
)
def test_whoever_wants_a_wheel_to_judge_is_sent_to_a_checkout_in_one_line(wheel, capsys, words):
    assert main(["conform", "--peers", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--peers {words[0]} needs a checkout" in line


def test_json_is_all_that_is_printed_and_lines_go_elsewhere(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command.figure, "draw", lambda summary, paths: [path.touch() for path in paths])
    name = "mlx.fast-0.32.4.json"
    (tmp_path / name).write_text((COMMITTED / name).read_text("utf-8"))
    words = ["--board", str(tmp_path), "--environments", str(tmp_path / "none"), "--json"]
    assert main(["conform", "mlx", "--peers", *words]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads((tmp_path / command.JSON).read_text("utf-8"))
    assert "mlx.fast is not installed in" in told.err
    assert {path.name for path in tmp_path.iterdir()} == {name, "README.md", "board.json", "board.svg", "board.png"}


def test_a_name_stands_for_a_library_or_an_entry_point():
    assert len(entries_of(None)) == len(ENTRIES)
    assert [each.name for each in entries_of("torch.sdpa")] == ["torch.sdpa"]
    assert {each.library for each in entries_of("flax")} == {"flax"}


@pytest.mark.slow("the page of the same committed results stays inside")
def test_the_figure_explains_every_word_of_its_cells(committed):
    pytest.importorskip("matplotlib")
    from board import figure

    drawn = figure.drawn(committed[1])
    words = {" ".join(text.get_text().split()) for axes in drawn.axes for text in axes.texts}
    assert {"holds", "undefined by the library", "biased"} <= words
    assert len({figure.COLOURS[word] for word in ("bug", "biased", "undefined", "documented", "holds")}) == 5
    assert words - {""} <= set(figure.KEY)
