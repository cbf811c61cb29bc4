"""Files that are damaged in eight ways, wherever a command reads them: one line each, and nothing half written."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from attnlab_theory.book import runs
from attnlab_theory.cli import main
from attnlab_theory.labs.engine import record
from attnlab_theory.language.checkpoint import save_model
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Learned
from attnlab_theory.language.text.bpe import RobertaBPE
from attnlab_theory.language.text.words import Words
from attnlab_theory.seeds import key_for
from tests.cli.fuzz.test_calls import TEXT
from tests.cli.fuzz.test_changed_json import FIGURES, contents
from tests.language.models import config

DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda whole: whole[: len(whole) // 2],
    "without its end": lambda whole: whole[:-3],
    "zeros": lambda whole: bytes(len(whole)),
    "null": lambda _: b"null",
    "a list": lambda _: b"[7]",
    "another object": lambda _: b'{"a": 1}',
    "no text": lambda whole: b"\xff\xfe" + whole[::-1],
}
REFERENCE = Path(__file__).parents[2] / "language" / "reference" / "gpt2_plain"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a file of each kind, as it should be."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "text.txt").write_text(TEXT)
    words = Words(tuple(dict.fromkeys(TEXT.split())))
    model = GPT(dataclasses.replace(config(Softmax(), Learned()), vocabulary=len(words)), key=key_for(0))
    save_model(folder / "model", model, words, {"losses": [1.0, 2.0], "origin": {"seed": 0}})
    shutil.copytree(REFERENCE, folder / "gpt2")
    (folder / "book").mkdir()
    for name in ("copying.json", "copying.run.json"):
        shutil.copy(FIGURES / name, folder / "book")
    (folder / "run").mkdir()
    for path in (FIGURES / "mixers").glob("*.json"):
        shutil.copy(path, folder / "run")
    (folder / "vocab.json").write_text(json.dumps({token: n for n, token in enumerate(RobertaBPE.marks)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return folder


READ = {
    "model": "mixers score {at}/model --text {at}/text.txt",
    "gpt2/config.json": "heads {at}/gpt2",
    "gpt2/model.safetensors": "heads {at}/gpt2",
    "run/mixers.run.json": "mixers judge {at}/run",
    "run/estimates.json": "mixers judge {at}/run",
}
"""The command that reads a file."""

TAKEN = ("run/mixers.run.json", "another object")
"""Records of older versions have none of today's fields."""


@pytest.mark.slow("a journal with such changes, and estimates that are cut, stay inside")
@pytest.mark.parametrize("name", READ)
def test_a_damaged_file_is_refused_in_one_line(whole, tmp_path, monkeypatch, capsys, name):
    """Calls a command eight times for each file."""
    monkeypatch.setattr(record, "draw", lambda *_: None)
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    file, found = tmp_path / name, []
    for damage, damaged in DAMAGES.items():
        if (name, damage) == TAKEN:
            continue
        file.write_bytes(damaged((whole / name).read_bytes()))
        before = contents(tmp_path)
        code = main(READ[name].format(at=tmp_path).split())
        out, err = capsys.readouterr()
        *_, line = err.splitlines() or [""]
        if (code, out, line.startswith("attnlab: "), "Traceback" in err) != (2, "", True, False):
            found.append(f"{damage}: exit {code}, {out[-200:]!r} {err[-300:]!r}")
        if contents(tmp_path) != before:
            found.append(f"{damage}: left something behind")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("known", [["copying"], []], ids=["of the lab", "somebody's own"])
@pytest.mark.parametrize("name", ["copying.json", "copying.run.json"])
def test_the_book_names_damaged_findings_in_one_line_and_leaves_them_out(whole, tmp_path, name, known):
    shutil.copytree(whole / "book", tmp_path, dirs_exist_ok=True)
    for damage, damaged in DAMAGES.items():
        (tmp_path / name).write_bytes(damaged((whole / "book" / name).read_bytes()))
        found = runs.read([tmp_path], known, [])
        (said,) = found.problems
        assert str(tmp_path / name) in said, damage
        assert ("\n" in said, found.every, found.own) == (False, {}, ()), damage


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_a_damaged_table_of_tokens_is_refused_by_name(whole, tmp_path, name):
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    for damage in ("zeros", "null", "a list", "another object", "no text"):
        (tmp_path / name).write_bytes(DAMAGES[damage]((whole / name).read_bytes()))
        with pytest.raises(ValueError, match=name) as refused:
            RobertaBPE.of_tables(tmp_path / "vocab.json", tmp_path / "merges.txt")
        assert "\n" not in str(refused.value), damage
