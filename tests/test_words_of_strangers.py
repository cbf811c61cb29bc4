"""What strangers write into names, statements and files is shown, and never obeyed."""

import dataclasses
import html.parser
import json
import os
import pty
import re
import sys
import xml.etree.ElementTree

import pytest
from matplotlib.figure import Figure
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attnlab_theory import exits
from attnlab_theory.cli import main
from attnlab_theory.conform import report
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.suite import Row
from attnlab_theory.files import Form
from attnlab_theory.grader.classroom import gradebook
from attnlab_theory.report import record, style, webpage
from attnlab_theory.report.table import show
from tests.book.strangers import html_of, pages_of
from tests.report.test_record import FINDING

COMMANDING = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m\x08\x7f\u202eback"
WRITTEN = r"\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m\x08\x7f\u202eback"


def book_of(folder, **changes):
    """The pages that tell of a finding, as one text of HTML."""
    finding = dataclasses.replace(FINDING, **changes)
    words = changes.get("statement", "?")
    (folder / "mine.json").write_text(record.to_text([record.as_json(finding)]))
    about = {
        "question": words,
        "budget": "quick",
        "seed": 0,
        "commit": words,
        "command": words,
        "versions": {words: words},
    }
    (folder / "mine.run.json").write_text(json.dumps(about))
    pages, problems = pages_of(folder)
    assert not problems
    return "".join(map(html_of, pages.values()))


ATTACKS = [
    "<script>alert(1)</script>",
    r"$\text{<script>alert(1)</script>}$",
    r"$\text{<img src=x onerror=alert(1)>}$",
    r"$\text{&lt;script>alert(1)&lt;/script>}$",
    r"$\text{&amp;lt;script>}$",
    r"$\mbox{</math><script>alert(1)</script>}$",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\style{position:fixed}{x}$",
    r"$\class{SUPPORTED}{x}$",
    r"$\color{red' onclick='alert(1)}{x}$",
    "\" onload='alert(1)",
]


MATHML = {"math", "mrow", "mtext", "mstyle", "mi", "mo"}


class Elements(html.parser.HTMLParser):
    """The elements of a page, as a browser would find them."""

    def __init__(self):
        super().__init__()
        self.every = []

    def handle_starttag(self, tag, attrs):
        self.every.append((tag, dict(attrs)))


def elements_of(page):
    found = Elements()
    found.feed(page)
    return found.every


@pytest.mark.parametrize("words", ATTACKS)
def test_nothing_in_a_finding_becomes_a_part_of_the_page(tmp_path, words):
    before = elements_of(book_of(tmp_path))
    plain, links = {name for name, _ in before}, {told.get("href", "").partition("#")[0] for _, told in before}
    page = book_of(tmp_path, statement=words, source=words, bound=words, claim=words, setting={words: words})
    for name, attributes in elements_of(page):
        assert name in MATHML or name in plain
        assert not any(each.startswith("on") for each in attributes)
        link = attributes.get("href", "").partition("#")[0]
        assert link in links or re.fullmatch(r"(claims/)?own\.[\w.-]+", link)
        assert name not in MATHML or not {"href", "style", "class"} & attributes.keys()
    assert page.count("<math ") == page.count("</math>") == 2 * int("$" in words)


@pytest.mark.parametrize("words", ["`````\n<script>alert(1)</script>", "# x\n\n---\n", "[x](javascript:alert(1))"])
def test_nothing_in_a_finding_is_read_as_markdown(tmp_path, words):
    page = book_of(tmp_path, statement=words, source=words, bound=words, claim=words, setting={words: words})
    assert not {"script", "hr"} & {name for name, _ in elements_of(page)}
    assert not any(told.get("href", "").startswith("javascript") for _, told in elements_of(page))


def test_a_formula_of_the_lab_is_shown_as_before(tmp_path):
    page = book_of(tmp_path, statement=r"The weight is $\leq \frac{1}{n}$ — $a < b$.")
    assert "<mo>≤</mo><mfrac><mrow><mn>1</mn></mrow><mrow><mi>n</mi></mrow></mfrac>" in page
    assert "<mi>a</mi><mo>&lt;</mo><mi>b</mi>" in page


@pytest.mark.parametrize("broken", [r"\frac{", r"\left(", r"x^{", r"\begin{matrix}", r"\frac{<b>"])
def test_a_broken_formula_is_shown_as_it_was_written(tmp_path, broken):
    page = book_of(tmp_path, statement=f"It is ${broken}$, they say.")
    assert f"It is ${broken.replace('<b>', '&lt;b&gt;')}$, they say." in page


def drawn(title):
    def draw():
        figure = Figure()
        figure.subplots().set(title=title, xlabel=r"$\alpha$ is good")
        return figure

    return draw


@pytest.mark.parametrize("title", [r"$\frac{$", "a $ b $ c_{ $x^$", r"costs \$5 and $\foo$", COMMANDING])
def test_a_figure_shows_what_is_no_formula(tmp_path, title):
    style.write(drawn(title), tmp_path / "x.svg")
    assert (tmp_path / "x.svg").stat().st_size > 1000


def test_a_good_formula_in_a_figure_stays_one(tmp_path):
    style.write(drawn(r"$\alpha^2$"), tmp_path / "formula.svg")
    style.write(drawn(r"\$\alpha^2\$"), tmp_path / "source.svg")
    assert (tmp_path / "formula.svg").read_bytes() != (tmp_path / "source.svg").read_bytes()


UNKNOWN = [
    ["run", f"no{COMMANDING}"],
    [COMMANDING],
    ["heads", f"{COMMANDING}/x"],
    ["construct", "subset", "--keys", f"{COMMANDING}.npy", "--select", "0"],
    ["estimators", "--queries", f"{COMMANDING}.npy", "--keys", "x.npy"],
    ["grade", f"{COMMANDING}", "--rubric", "uw"],
]


@pytest.mark.parametrize("words", UNKNOWN, ids=lambda words: words[0][:9].strip("\x1b"))
def test_a_refusal_writes_control_characters_out(capsys, words):
    code = main(words)
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert WRITTEN in err or WRITTEN.replace("\\", "\\\\") in err
    assert not exits.UNSEEN.search(err)


def test_what_is_shown_writes_them_out_in_lines_and_cells(capsys):
    table = Table(COMMANDING, box=None, pad_edge=False)
    table.add_row(COMMANDING)
    table.add_row("[bold]plain[/]")
    show(table)
    show(COMMANDING)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [WRITTEN, WRITTEN, "plain", WRITTEN]


def on_a_terminal(text):
    ours, theirs = pty.openpty()
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as stream:
            exits._unread(stream).write(text)
        return os.read(ours, 10_000).decode()
    finally:
        os.close(ours)


def test_a_terminal_gets_colours_and_bars_and_obeys_nothing_else():
    assert on_a_terminal(COMMANDING) == WRITTEN.replace(r"\x1b[31m", "\x1b[31m")
    bar = "\r\x1b[2K\x1b[1A\x1b[?25l\x1b[1;32mdone\x1b[0m\x1b[?25h\tα — 中"
    assert on_a_terminal(bar) == bar


def test_a_mistake_is_told_without_colours_on_a_terminal_too(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["run", "--nonsense", "1"]) == 2
    err = capsys.readouterr().err
    assert err.endswith("Unrecognized options: --nonsense, 1; For full helptext, run attnlab run --help\n")
    assert is_shown(err)


@pytest.mark.slow("names of files, and cells of a table of grades, stay inside")
def test_a_class_says_nothing_to_the_terminal(tmp_path, monkeypatch, capsys):
    """Judges two submissions, whose names and messages are a terminal's orders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / f"a{OBEYED}.py").write_text(f"def q1_2_1(keys): raise ValueError({OBEYED!r})\n")
    (tmp_path / "class" / f"b{OBEYED}.py").write_text(
        f"def q1_2_1(keys):\n    print({OBEYED!r})\n    return {OBEYED!r}\n"
    )
    (tmp_path / "roster.csv").write_text(f'id,name\n"a{OBEYED}","Ann{OBEYED}"\n')
    (tmp_path / "uw.toml").write_text('homework = "uw"\n[points]\n"1.2.1" = 1\n')
    grade = ["grade", "class", "--rubric", "uw.toml", "--roster", "roster.csv", "--processes", "1"]
    assert main([*grade, "--csv", "grades.csv", "--html", "pages"]) == 0
    out, err = capsys.readouterr()
    assert is_shown(out + err)
    assert out.count(r"\x1b[8m\x1b[1A\x0d") >= 2
    for written in (tmp_path / "grades.csv", *(tmp_path / "pages").glob("*.html")):
        assert is_shown(written.read_text()), written


def test_half_a_character_is_written_out():
    # A byte of a name that is no character comes as such a half.
    assert exits.visible("\udcff\ud800") == r"\xff\ud800"
    assert exits.visible("two\nlines\tand é") == "two\nlines\tand é"


OBEYED = "\x1b[8m\x1b[1A\r\x9b2J\u202e\u200b"
"""Hides what follows, goes a line up and to its beginning, clears the screen, turns the writing around."""


def is_shown(text: str) -> bool:
    return not exits.UNSEEN.search(text)


@pytest.fixture
def named(tmp_path, monkeypatch):
    """A folder whose file has a name that a terminal obeys, and a function that answers for check and leaks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{OBEYED}.py").write_text("def f(x): return x\n")
    return f"{OBEYED}.py::f"


@pytest.mark.parametrize("words", [["check", "--question", "uw/1.2.1"], ["leaks"], ["conform"]], ids=lambda x: x[0])
def test_no_command_lets_the_name_of_a_file_speak_to_the_terminal(named, words, capsys):
    """Starts a process under fences."""
    main([words[0], named, *words[1:]])
    out, err = capsys.readouterr()
    assert is_shown(out + err)
    # What it finds in this function does not name it.
    assert words == ["leaks"] or r"\x1b[8m\x1b[1A\x0d\x9b2J\u202e\u200b" in out


@pytest.mark.parametrize("made", [Text, str, lambda text: Group(Text(text)), lambda text: Padding(text, 1)])
def test_whatever_is_shown_on_the_terminal_is_seen(made, capsys):
    show(made(f"a{OBEYED}b"))
    table = Table()
    table.add_column(made(OBEYED) if made in (Text, str) else "")
    table.add_row(made(OBEYED))
    show(table) if made in (Text, str) else None
    assert is_shown(capsys.readouterr().out)


def test_rows_of_a_target_stay_in_their_line_and_their_element():
    row = Row(name=f"x{OBEYED}", verdict=Verdict.FAILS, line=f"gave {OBEYED}\nplain holds <&>", tried=1, ratio=2.0)
    line = report.line_of(row)
    assert is_shown(line)
    assert "\n" not in line
    read = xml.etree.ElementTree.fromstring(report.as_junit([row], f"{OBEYED}.py::f", "softmax").encode())
    assert read.find("testcase/failure").get("message").endswith("plain holds <&>")
    assert is_shown(xml.etree.ElementTree.tostring(read, encoding="unicode"))


@pytest.mark.parametrize("text", [f"a{OBEYED}", "a;=1+1", "a; -1", "=1", "a|@x", " +1", ";\t=1", "a\n=1", "a,=1"])
def test_a_cell_holds_no_formula_wherever_a_sheet_splits_its_line(text):
    cell = gradebook.safe(text)
    assert is_shown(cell)
    assert "\n" not in cell
    for split in (";", "|", "\t"):
        assert not any(part.lstrip()[:1] in tuple(gradebook.FORMULA) for part in cell.split(split) if part.strip())


def test_a_page_shows_what_a_name_would_hide():
    page = webpage.document(f"<b>{OBEYED}", "", Form.GRADES)
    assert is_shown(page)
    assert r"&lt;b&gt;\x1b[8m" in page
