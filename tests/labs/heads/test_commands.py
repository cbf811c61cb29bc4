"""attnlab heads: a whole small run, and what bad input gets."""

import json

import jax
import pytest

from attnlab_theory.cli import main
from attnlab_theory.labs.sentences import Sizes, generated
from attnlab_theory.language.checkpoint import save_model
from attnlab_theory.language.models.gpt import GPT, GPTConfig


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    text = generated(0, Sizes(train=1, validation=1, test=1)).text
    net = GPT(GPTConfig(vocabulary=len(text), block=32, layers=2, heads=2, width=16), key=jax.random.key(0))
    net = jax.tree.map(lambda x: x + 0.3 * jax.random.normal(jax.random.key(x.size), x.shape), net)
    path = tmp_path_factory.mktemp("models") / "gpt"
    save_model(path, net, text, {})
    return path


def test_a_small_run_writes_findings_and_figures(checkpoint, tmp_path, capsys):
    out = tmp_path / "heads"
    asked = ["--sentences", "400", "--occurrences", "100", "--predicted", "20", "--out", str(out), "--json"]
    assert main(["heads", str(checkpoint), *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len([f for f in told["findings"] if f["claim"] == "keys-have-a-noisy-length"]) == 4
    assert {"a", "."} <= set(told["types"])
    written = {path.name for path in out.iterdir()}
    for name in ("premises", "habits", "bluntness", "calibration"):
        assert {f"{name}.svg", f"{name}.png"} <= written
    assert {"heads.json", "estimates.json", "types.json", "heads.run.json"} <= written
    assert json.loads((out / "heads.json").read_text()) == told["findings"]


def test_bad_input_gets_one_line_and_exit_code_two(checkpoint, tmp_path, capsys):
    few = tmp_path / "few.txt"
    few.write_text("a man is standing .\n" * 50)
    for arguments, complaint in (
        ([str(tmp_path / "none")], "there is no checkpoint"),
        ([str(checkpoint), str(tmp_path / "none.txt")], "there is no file"),
        ([str(checkpoint), str(few)], "occurs 50 times; take a text 4 times as long"),
        ([str(checkpoint), "--sentences", "0"], "--sentences must be at least 1, not 0"),
        ([str(checkpoint), "--predicted", "-1"], "--predicted must not be negative"),
    ):
        assert main(["heads", *arguments, "--out", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err.strip().splitlines()
        assert complaint in said[-1]
        assert not (tmp_path / "out").exists()
