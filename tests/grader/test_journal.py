"""Points are read from a journal that this account has written about these files, and from no other."""

import dataclasses
import hashlib
import json
import os

import pytest

from attnlab_theory.cli import main
from attnlab_theory.grader.classroom import journal, markers
from attnlab_theory.grader.classroom.hand_ins import hand_ins
from attnlab_theory.grader.classroom.journal import Journal
from attnlab_theory.grader.classroom.marks import Terms
from attnlab_theory.grader.classroom.rubric import rubric_of

MARK = {"reason": "right", "said": "", "by_hand": False, "fences": [], "judgement": None}


@pytest.fixture
def graded(tmp_path, monkeypatch, capsys):
    """A class with a journal of one right mark, and what `grade` makes of that journal after a change."""
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "right.py").write_text("1")
    (folder / "wrong.py").write_text("2")
    (tmp_path / "uw.toml").write_text('homework = "uw"\n[points]\n"1.2.1" = 4\n')
    path = tmp_path / "class-uw.jsonl"
    terms = Terms(rubric=rubric_of(f"{tmp_path}/uw.toml"), time_limit=20.0)
    right, wrong = (each.content for each in hand_ins(folder))
    with Journal(path, terms).open() as known:
        known.add(right, {"1.2.1": MARK})
    monkeypatch.setattr(markers, "marked", lambda work, *_: iter([(each, "nobody judges here") for each in work]))

    def grade(change=lambda heading, line: [heading, line], *more):
        lines = change(*map(json.loads, path.read_text().splitlines()))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        code = main(["grade", str(folder), "--rubric", f"{tmp_path}/uw.toml", "--json", *more])
        out, err = capsys.readouterr()
        return code, json.loads(out or "null"), err

    grade.path, grade.wrong, grade.folder, grade.terms = path, wrong, folder, terms
    return grade


def resealed(line):
    """A line with a hash of it, as journals had before they were sealed: whoever can write it can write that."""
    line = {name: value for name, value in line.items() if name not in ("seal", "hash")}
    return line | {"hash": hashlib.sha256(json.dumps(line).encode()).hexdigest()[:16]}


FORGED = {
    "content": lambda graded: lambda heading, line: [heading, line | {"content": graded.wrong}],
    "content, with a hash": lambda graded: (
        lambda heading, line: [
            {name: value for name, value in heading.items() if name != "seal"},
            resealed(line | {"content": graded.wrong}),
        ]
    ),
    "a seal without a key": lambda graded: (
        lambda heading, line: [
            heading,
            line,
            line | {"content": graded.wrong, "seal": hashlib.sha256(json.dumps(line).encode()).hexdigest()},
        ]
    ),
    "no seal": lambda graded: (
        lambda heading, line: [
            heading,
            {"content": graded.wrong, "marks": line["marks"], "seal": None},
        ]
    ),
    "the seal of the heading": lambda graded: (
        lambda heading, line: [
            heading,
            line | {"content": graded.wrong, "seal": heading["seal"]},
        ]
    ),
    "a list": lambda graded: lambda heading, line: [heading, [line]],
    "the seed": lambda graded: lambda heading, line: [heading | {"seed": heading["seed"] + 1}, line],
    "the questions": lambda graded: lambda heading, line: [heading | {"set of questions": ["1.2.2"]}, line],
    "the version": lambda graded: lambda heading, line: [heading | {"version of attnlab": "0.0"}, line],
    "a mark": lambda graded: lambda heading, line: [heading, line | {"marks": {"1.2.1": MARK | {"said": "x"}}}],
}


@pytest.mark.parametrize("how", FORGED)
def test_a_journal_that_does_not_fit_is_set_aside_and_gives_no_point(graded, how):
    code, found, err = graded(FORGED[how](graded))
    aside = graded.path.with_name(f"{graded.path.name}.aside-1")
    assert code == 0
    # Nobody judges here, so a person decides: no point, and no zero either.
    assert [each["points"] for each in found["submissions"]] == [None, None]
    assert err.startswith(f"{graded.path} ")
    assert f": it is now {aside}, and all is judged again" in err
    assert aside.read_text().startswith('{"graded": "uw"')


def test_a_journal_of_this_account_is_gone_on_with_at_its_seed(graded):
    _, found, err = graded()
    assert [each["points"] for each in found["submissions"]] == [4, None]
    assert "1 of 2 submissions is known" in err
    assert found["seed"] == json.loads(graded.path.read_text().splitlines()[0])["seed"] > 0
    again = graded(lambda *lines: lines, "--seed", str(found["seed"]))[1]
    assert again == found
    other = graded(lambda *lines: lines, "--seed", "12")
    assert "was begun with another seed" in other[2]
    assert other[1]["seed"] == 12
    # What was set aside is still there, beside the next one.
    assert "was begun with another seed" in graded(lambda *lines: lines[:1], "--seed", "13")[2]
    names = [f"{graded.path.name}.aside-{number}" for number in (1, 2)]
    assert all(graded.path.with_name(name).exists() for name in names)


def test_the_journal_of_another_account_is_set_aside(graded, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "theirs"))
    _, found, err = graded()
    assert "was not written by this account" in err
    assert found["submissions"][0]["points"] is None


def test_runs_draw_seeds_of_their_own(tmp_path, graded):
    def seed(name):
        with Journal(tmp_path / name, dataclasses.replace(graded.terms, seed=0)).open() as known:
            return known.terms.seed

    seeds = {seed("a"), seed("b"), seed("c")}
    assert len(seeds) == 3
    assert all(0 < each < 2**31 for each in seeds)
    assert seed("a") in seeds, "the same journal is the same run"


def test_a_file_that_is_no_journal_stays_where_it_is(graded):
    graded.path.write_text("grades of last year\n")
    code = main(["grade", str(graded.folder), "--rubric", "uw"])
    assert code == 2
    assert graded.path.read_text() == "grades of last year\n"


class TestKey:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        return tmp_path / "attnlab"

    def test_it_is_made_once_and_nobody_else_reads_it(self, home):
        found = journal.key()
        assert len(found) == journal.KEY
        assert journal.key() == found
        assert [(path.name, path.stat().st_mode & 0o777) for path in home.iterdir()] == [("journal.key", 0o600)]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda home: home.chmod(0o777), "must belong to whoever grades"),
            (lambda home: home.parent.chmod(0o1777), "is open to everybody"),
            (lambda home: (home / "journal.key").chmod(0o644), "must belong to whoever grades"),
            (lambda home: (home / "journal.key").write_bytes(b""), "is not a key of attnlab grade"),
            (lambda home: linked(home / "journal.key"), "must belong to whoever grades"),
            (lambda home: linked(home), "must belong to whoever grades"),
            (lambda home: os.chown(home, 12345, 12345), "must belong to whoever grades"),
        ],
        ids=[
            "a folder for all",
            "one above it for all",
            "a key for all",
            "empty",
            "a link",
            "a linked folder",
            "of another",
        ],
    )
    def test_what_others_may_write_is_no_place_for_it(self, home, change, said):
        journal.key()
        try:
            change(home)
        except PermissionError:
            pytest.skip("only root gives files away")
        with pytest.raises(ValueError, match=said):
            journal.key()

    def test_without_a_home_there_is_a_line(self, monkeypatch):
        monkeypatch.delenv("XDG_CONFIG_HOME")
        monkeypatch.setattr(journal.Path, "home", classmethod(lambda cls: (_ for _ in ()).throw(RuntimeError)))
        with pytest.raises(ValueError, match="set the variable HOME"):
            journal.key()


def linked(path):
    """Put a link to it in its place."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")
