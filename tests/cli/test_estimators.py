"""attnlab estimators: one JSON value, a table that fits, and one line for bad input."""

import json

import numpy as np
import pytest

from attnlab_theory.cli import main
from tests.estimators.test_advice import measured_by


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "q.npy", rng.normal(size=(40, 4)).astype(np.float32))
    np.save(tmp_path / "k.npy", rng.normal(size=(6, 4)))
    np.save(tmp_path / "wide.npy", rng.normal(size=(6, 5)))
    np.save(tmp_path / "gap.npy", np.array([[1.0, np.nan, 0.0, 0.0]]))
    np.save(tmp_path / "long.npy", np.array([[1.0, 0.0, 0.0, 0.0], [3000.0, 0.0, 4000.0, 0.0]]))
    np.save(tmp_path / "row.npy", np.ones(4))
    np.save(tmp_path / "heads.npy", rng.normal(size=(2, 3, 5, 4)))
    np.save(tmp_path / "fewer.npy", rng.normal(size=(2, 1, 5, 4)))
    np.save(tmp_path / "five.npy", np.ones((1, 1, 1, 1, 4)))
    (tmp_path / "text.npy").write_text("1 2 3")
    return tmp_path


def run(capsys, folder, *options, queries="q.npy", keys="k.npy"):
    code = main(["estimators", "--queries", str(folder / queries), "--keys", str(folder / keys), *options])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.slow("another seed that samples other rows stays inside")
def test_json_is_one_value_and_the_same_for_the_same_seed(capsys, files):
    """Measures every estimator twice."""
    code, out, err = run(capsys, files, "--json", "--features", "16")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["looked_at"] == {"queries": 32, "keys": 6, "pairs": 192}
    assert found["scale"] == 0.5
    assert {line["estimator"]: line["projections"] for line in found["estimators"]} == {
        "trigonometric": 8,
        "positive": 16,
        "hyperbolic": 8,
        "generalized exponential": 16,
        "dense exponential": 16,
    }
    assert run(capsys, files, "--json", "--features", "16")[1] == out


@pytest.mark.slow("rows that are sampled, and one choice, stay inside")
def test_the_table_says_scale_sample_and_choice(capsys, files):
    """Compiles projections, and measures the errors of every estimator on many draws."""
    code, out, _ = run(capsys, files, "--features", "16")
    assert code == 0
    for said in (
        "scale 0.5",
        "random 32 queries",
        "192 pairs",
        "an error of 0.05 needs",
        "Use exact attention",
        "If it has to be random features, choose ",
    ):
        assert said in out
    table = out.split("\n\n")[1].splitlines()
    assert max(map(len, table)) <= 80
    assert "…" not in out
    assert [line for line in out.splitlines() if line != line.rstrip()] == []


@pytest.mark.slow("the refusals of other heads stay inside")
def test_every_head_is_judged_by_itself(capsys, files):
    """Measures every estimator on six heads, twice."""
    given = {"queries": "heads.npy", "keys": "heads.npy"}
    code, out, _ = run(capsys, files, "--features", "8", "--json", **given)
    assert code == 0
    heads = json.loads(out)["heads"]
    assert [each["head"] for each in heads] == [[b, h] for b in range(2) for h in range(3)]
    x = np.load(files / "heads.npy")[1, 2]
    for name in ("q.npy", "k.npy"):
        np.save(files / name, x)
    alone = json.loads(run(capsys, files, "--features", "8", "--json")[1])
    assert heads[-1] == {"head": [1, 2], **alone}
    np.save(files / "heads.npy", np.load(files / "heads.npy")[0, :2])
    code, out, _ = run(capsys, files, "--features", "8", **given)
    rows = [line.split() for line in out.splitlines() if line[:1].isdigit()]
    assert [row[0] for row in rows] == ["0", "1"]
    assert "Use exact attention in 2 of 2 heads" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"queries": "none.npy"}, "none.npy"),
        ({"queries": "text.npy"}, "text.npy"),
        ({"keys": "gap.npy"}, "nan"),
        ({"keys": "wide.npy"}, "keys has 5"),
        ({"keys": "row.npy"}, "shape (4,)"),
        ({"queries": "heads.npy"}, "both need the same heads"),
        ({"queries": "heads.npy", "keys": "fewer.npy"}, "shape (2, 3, 5, 4) and"),
        ({"queries": "heads.npy", "keys": "heads.npy", "options": ("--out", "map.svg")}, "save x[0, 0]"),
        ({"queries": "five.npy"}, "or several, [h n d] or [b h n d], not shape (1, 1, 1, 1, 4)"),
        ({"keys": "long.npy"}, "row 1 of the keys has norm 5000"),
        ({"options": ("--features", "0")}, "not 0"),
        ({"options": ("--features", "-3")}, "not -3"),
        ({"options": ("--scale", "0")}, "not 0"),
        ({"options": ("--scale", "nan")}, "not nan"),
        ({"options": ("--error", "-1")}, "not -1"),
        ({"options": ("--seed", "-1")}, "-1"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_is_one_line_and_exit_code_2(capsys, files, arguments, said):
    options = arguments.pop("options", ())
    code, out, err = run(capsys, files, *options, **arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.slow("the refusal of a third format stays inside")
def test_a_figure_is_written_whole_in_either_format_and_in_no_other(capsys, files):
    """Measures every estimator and draws the figure for each format."""
    for name in ("map.svg", "map.png"):
        code, out, _ = run(capsys, files, "--features", "16", "--out", str(files / name))
        assert code == 0
        assert "choose " in out
        assert (files / name).stat().st_size > 10_000
    before = sorted(path.name for path in files.iterdir())
    for wrong, said in (("map.pdf", "'map.pdf'"), ("nowhere/map.svg", "nowhere")):
        code, _, err = run(capsys, files, "--features", "16", "--out", str(files / wrong))
        assert code == 2
        assert said in err
        assert err.count("\n") == 1
    assert sorted(path.name for path in files.iterdir()) == before


@pytest.mark.parametrize(("shape", "keys"), [((3, 5, 4), (3, 7, 4)), ((2, 1, 5, 4), (2, 1, 9, 4))])
def test_heads_stand_in_rows_with_one_answer_each(capsys, files, monkeypatch, shape, keys):
    """The advice is made up: of every second head exact attention is cheaper."""
    rng = np.random.default_rng(0)
    np.save(files / "q.npy", rng.normal(size=shape))
    np.save(files / "k.npy", rng.normal(size=keys))
    asked = []

    def advised(problem, *, features, error, **how):
        asked.append(problem.given)
        return measured_by(0.2, error=error, keys=10**6 if len(asked) % 2 else 10, features=features)

    monkeypatch.setattr("attnlab_theory.estimators.advise", advised)
    code, out, _ = run(capsys, files)
    assert (code, asked) == (0, [(5, keys[-2])] * int(np.prod(shape[:-2])))
    rows = [line.split() for line in out.splitlines() if line[:1].isdigit()]
    places = [*np.ndindex(*shape[:-2])]
    assert [tuple(map(int, row[: len(shape) - 2])) for row in rows] == places
    # Of two answers one: features and how they are drawn, or none.
    assert ["none:" in row for row in rows] == [bool(at % 2) for at in range(len(places))]
    assert [("independent" in row) for row in rows] == [not at % 2 for at in range(len(places))]
    assert f"Use exact attention in {len(places) // 2} of {len(places)} heads" in out
    assert f"save x[{', '.join('0' * (len(shape) - 2))}]" in out


def test_a_figure_that_cannot_be_written_is_refused_before_anything_is_measured(capsys, files, monkeypatch):
    monkeypatch.setattr("attnlab_theory.estimators.advise", lambda *problem, **how: pytest.fail("measures"))
    code, out, err = run(capsys, files, "--out", str(files / "map.pdf"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not as 'map.pdf'" in err
