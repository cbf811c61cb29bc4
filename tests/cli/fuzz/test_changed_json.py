"""JSON of earlier runs with one thing in it changed: judged, or refused in one line with nothing half written.

The same changes in every run. `ATTNLAB_EXPLORE=1` draws new ones, and more.
"""

import contextlib
import dataclasses
import io
import json
import random
import struct
from pathlib import Path

import pytest

from attnlab_theory import exits
from attnlab_theory.cli import main
from attnlab_theory.grader.classroom import hand_ins, journal, markers, marks, rubric
from attnlab_theory.labs.engine import record
from attnlab_theory.language.checkpoint import KEY, save_model
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Learned
from attnlab_theory.language.text.words import Words
from attnlab_theory.seeds import key_for
from tests.book.strangers import html_of, pages_of
from tests.circles import EXPLORING
from tests.cli.fuzz.changes import changed
from tests.cli.fuzz.test_calls import TEXT
from tests.language.models import config

FIGURES = Path(__file__).parents[3] / "figures"

LABS = ("captions", "knowledge", "mixers", "recurrent", "reviews")

LONGEST = 400_000
"""Bytes of a file that is changed: what is larger takes seconds to read."""

MORE = 10 if EXPLORING else 1


def drawn(name: str) -> random.Random:
    return random.Random() if EXPLORING else random.Random(name)


def wrong(words: list[str], folder: Path, *, may_write: bool = True) -> str:
    """What is wrong with how a call ended; nothing, if it ended as it should."""
    before = contents(folder)
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"[:300]
    if exits.UNSEEN.search(out.getvalue() + err.getvalue().replace("\r", "")):
        return f"a terminal would obey {out.getvalue()!r} {err.getvalue()!r}"[:300]
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code == 2:
        *_, said = err.getvalue().splitlines() or [""]
        if not said.startswith("attnlab: ") or out.getvalue():
            return f"no line: {err.getvalue()[-200:]!r}"
    if (code == 2 or not may_write) and contents(folder) != before:
        return "half written"
    return ""


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow("five such changes, each refused with its file, stay inside")
@pytest.mark.parametrize("lab", LABS)
def test_a_run_whose_numbers_are_changed_is_judged_or_refused(tmp_path, monkeypatch, lab):
    """Judges the committed run of a lab again after every change."""
    # Figures take the most time, and their numbers are the same.
    monkeypatch.setattr(record, "draw", lambda *_: None)
    texts = {
        path.name: path.read_bytes()
        for path in (FIGURES / lab).iterdir()
        if path.is_file() and path.suffix not in (".svg", ".png")
    }
    names = sorted(name for name, text in texts.items() if name.endswith(".json") and len(text) < LONGEST)
    rng, found = drawn(lab), []
    for name in names * MORE:
        for each, text in texts.items():
            (tmp_path / each).write_bytes(text)
        value = changed(json.loads(texts[name]), rng)
        (tmp_path / name).write_text(json.dumps(value))
        if said := wrong([lab, "judge", str(tmp_path)], tmp_path):
            found.append(f"{name}: {said}")
    # What another lab wrote under the same name, and what is no table.
    of_another = FIGURES / LABS[LABS.index(lab) - 1] / "estimates.json"
    for other in (of_another, FIGURES / "copying.json"):
        for each, text in texts.items():
            (tmp_path / each).write_bytes(text)
        (tmp_path / "estimates.json").write_bytes(other.read_bytes())
        if said := wrong([lab, "judge", str(tmp_path)], tmp_path):
            found.append(f"{other}: {said}")
    assert not found, "\n".join(found)


def without_values(rows):
    del next(row for row in rows if "values" in row)["values"]


def half_a_character(rows):
    rows[0]["quantity"] = "\ud800"


def no_table(told):
    told["test"] = "x"


def a_list(told):
    told["test"]["reviews"] = [told["test"]["reviews"]]


def more_than_all(told):
    told["test"]["accuracy"] = 1.5


@pytest.mark.parametrize(
    ("lab", "name", "change"),
    [
        ("recurrent", "estimates.json", without_values),
        ("recurrent", "estimates.json", half_a_character),
        *(("reviews", "test.0.json", change) for change in (no_table, a_list, more_than_all)),
    ],
)
def test_what_such_changes_have_found_is_refused_with_the_name_of_the_file(
    tmp_path, monkeypatch, capsys, lab, name, change
):
    monkeypatch.setattr(record, "draw", lambda *_: None)
    for path in (FIGURES / lab).glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    value = json.loads((tmp_path / name).read_text())
    change(value)
    (tmp_path / name).write_text(json.dumps(value))
    before = contents(tmp_path)
    assert main([lab, "judge", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"{tmp_path / name} is damaged" in err
    assert contents(tmp_path) == before


@pytest.mark.slow("what a terminal obeys in a finding of the book stays inside")
def test_findings_and_records_that_are_changed_are_told_of_or_named(tmp_path):
    """Writes the pages of the book again after every change."""
    texts = {f"copying{end}": (FIGURES / f"copying{end}").read_text() for end in (".json", ".run.json")}
    rng = drawn("book")
    for name in list(texts) * (25 * MORE):
        for each, text in texts.items():
            (tmp_path / each).write_text(text)
        (tmp_path / name).write_text(json.dumps(changed(json.loads(texts[name]), rng)))
        pages, problems = pages_of(tmp_path)
        assert all(str(tmp_path / name) in each for each in problems)
        assert bool(problems) != any(page.startswith("claims/") for page in pages)
        assert "<script>" not in "".join(map(html_of, pages.values()))
        assert not exits.UNSEEN.search("".join(pages.values()))


def test_what_a_terminal_obeys_is_written_out_in_the_book(tmp_path):
    for end in (".json", ".run.json"):
        (tmp_path / f"copying{end}").write_text((FIGURES / f"copying{end}").read_text())
    rows = json.loads((tmp_path / "copying.json").read_text())
    rows[0]["claim"] = "\x1b[2J\x9b"
    (tmp_path / "copying.json").write_text(json.dumps(rows))
    every = "".join(pages_of(tmp_path)[0].values())
    assert not exits.UNSEEN.search(every)
    assert "\\x1b[2J\\x9b" in every


@pytest.mark.slow("a journal with such changes, and damaged headers, stay inside")
def test_a_checkpoint_whose_header_is_changed_is_read_or_refused(tmp_path):
    """Scores a text again after every change of the header."""
    (tmp_path / "text.txt").write_text(TEXT)
    words = Words(tuple(dict.fromkeys(TEXT.split())))
    model = GPT(dataclasses.replace(config(Softmax(), Learned()), vocabulary=len(words)), key=key_for(0))
    save_model(tmp_path / "model", model, words, {"losses": [1.0, 2.0], "origin": {"seed": 0}})
    whole = (tmp_path / "model").read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header, arrays = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    rng, found = drawn("checkpoint"), []
    for _ in range(20 * MORE):
        other = header | {"__metadata__": {KEY: json.dumps(changed(json.loads(header["__metadata__"][KEY]), rng))}}
        told = json.dumps(other if rng.random() < 0.7 else changed(header, rng)).encode()
        (tmp_path / "model").write_bytes(struct.pack("<Q", len(told)) + told + arrays)
        if said := wrong(["mixers", "score", f"{tmp_path}/model", "--text", f"{tmp_path}/text.txt"], tmp_path):
            found.append(f"{said}: {told[:1000]!r}")
    assert not found, "\n".join(found)


def test_a_journal_that_is_changed_is_gone_on_with_or_refused(tmp_path, monkeypatch):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "mine.py").write_text("")
    (tmp_path / "uw.toml").write_text('homework = "uw"\n[points]\n"1.2.1" = 1\n')
    terms = marks.Terms(rubric=rubric.rubric_of(f"{tmp_path}/uw.toml"), time_limit=20.0)
    (handed_in,) = hand_ins.hand_ins(folder)
    path = tmp_path / "class-uw.jsonl"
    with journal.Journal(path, terms).open() as known:
        known.add(handed_in.content, {"1.2.1": marks.by_hand("not judged", "so")})
    monkeypatch.setattr(markers, "marked", lambda work, *_: iter([(each, "nobody judges here") for each in work]))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    command = ["grade", str(folder), "--rubric", f"{tmp_path}/uw.toml"]
    rng, found = drawn("journal"), []
    for _ in range(60 * MORE):
        at = rng.randrange(2)
        new = [changed(line, rng) if number == at else line for number, line in enumerate(lines)]
        path.write_text("".join(json.dumps(line) + "\n" for line in new))
        extra = ["--html", f"{tmp_path}/pages"] if rng.random() < 0.5 else []
        if said := wrong([*command, *extra], folder, may_write=False):
            found.append(f"{said}: {new[at]}")
    assert not found, "\n".join(found)
