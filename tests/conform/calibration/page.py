"""The page of the calibration, from its record."""

import json
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from attnlab_theory.conform.chance import ALPHA
from attnlab_theory.conform.kinds import KINDS
from tests.conform.calibration import PAGE, RECORD, ways

Rows = list[dict[str, Any]]

NO_NUMBER = 1e300
"""How far an output counts as moved that is an error, no number, or of another shape."""

HEAD = """# Does `attnlab conform` find what is wrong, and nothing else?

`python -m tests.conform.calibration` writes this page from [its record](../{record}). Three kinds of wrong code
are judged as black boxes. *Planted* bugs were written for this purpose, in `tests/conform/wrong.py`. The bugs
of the *museum* happened to somebody. *Mutants* are copies of our code with one change, as [the page on
mutants](mutants.md) defines them. All changes of these files of `attnlab_theory/attention` are tried:
{files}

The same code is also judged by ONNX's test cases, the *vectors*, within ONNX's own tolerance. Vectors in half
precision are left out, because ONNX's tolerance fails right code there.
"""

WRONG = """
## Wrong code

A bug or a mutant counts if it changes an output that some kind promises, by more than rounding. ([The page on
conform](conform.md) lists the kinds.) A change that is only a convention does not count. The bugs and mutants
that do not count stand in the last two tables of this page, each with the reason. The rows "of attention" have
functions of queries, keys and values. The rows "others" have the other kinds, of which ONNX's vectors of
attention cannot be asked.

{table}

{uncalled} of the mutants that are found are not called wrong, because no way is found to call them. The command
says so, and its exit code is 2. With {broken} of them, calls raise an error, or give NaN or another shape.
"""

RIGHT = """
## Right code of the softmax family

Each piece of code got {calls} in each number format, with inputs drawn from {seeds} seeds. None may be
*accused*, that is called wrong. A call is *not judged* if rounding alone may move the answer as far as the
values reach. Names after `numpy:` are functions of `tests/conform/right.py`. `one for all` is the function of
`tests/conform/wrong.py` without a bug, and `ours` means our own operators. `torch: plain` is attention written
out in torch, and `torch: its own` is torch's `scaled_dot_product_attention`.

{table}
"""

SUITES = """
## Right code of other kinds

Here every identity of a kind is tried, each time with other draws of all its numbers. The identities of
sinusoids and linear biases draw no numbers, and are tried once. An identity is *not judged* if rounding may
hide every error, or if there is nothing to compare with. The last five columns have the largest error per
tolerance. The first four of them are for the identity that has the name of that type, and the column *others*
is for all other identities. A dash says that there was no error, or that none was measured. *Told* says that
the code computes float64 inputs in float32. The row `float64` tells this, and the code does not fail for it.
Names are functions and classes of the tests, and `ours` is our own code. `beside BUG` is the right code that
stands beside that bug of the museum.

{chances}

{table}
"""

LISTS = """
## Planted bugs

*Found by* is the first identity that fails. *By ONNX's vectors* is the first vector that fails.

{planted}

## Bugs of the museum

{right}

{museum}

## Mutants that do not count, or are not found

*Changes* is the number of mutants of the function to which the reason applies. *No output moved* means: in none
of the calls that were made of this file.

{rest}
"""


def write(root: Path) -> None:
    """Write the page."""
    (root / PAGE).write_text(text(json.loads((root / RECORD).read_text("utf-8"))), "utf-8")


def text(record: dict[str, Rows]) -> str:
    """The page as Markdown."""
    planted, museum, mutants, right = (record.get(name, []) for name in ("planted", "museum", "mutants", "right"))
    counted = [each for each in mutants if not each["why"]]
    uncalled = [each for each in counted if "a trial call" in each["by"]]
    rows = [
        _rate("planted", planted),
        _rate("museum, of attention", [each for each in museum if not each["why"] and _of_attention(each)]),
        _rate(
            "museum, others", [each for each in museum if not each["why"] and not _of_attention(each)], asked=False
        ),
        _rate("mutants, of attention", [each for each in counted if stem(each) in ways.ASKED]),
        _rate("mutants, others", [each for each in counted if stem(each) not in ways.ASKED], asked=False),
    ]
    files = [f"`{name}`" for name in dict.fromkeys(map(stem, mutants))]
    asked = textwrap.fill(f"{', '.join(files[:-1])} and {files[-1]}.", 110) if files else "none."
    found = HEAD.format(record=RECORD, files=asked)
    found += WRONG.format(
        table=_table(("wrong code", "asked", "found by conform", "found by ONNX's vectors"), rows),
        uncalled=len(uncalled),
        broken=sum(each["moved"] >= NO_NUMBER for each in uncalled),
    )
    calls = sorted({each["calls"] for each in right})
    of = f"{calls[0]:,} to {calls[-1]:,} calls" if calls else "no calls"
    found += RIGHT.format(calls=of, seeds=max((each["seeds"] for each in right), default=0), table=_right(right))
    suites = record.get("suites", [])
    if suites:
        found += SUITES.format(chances=_chances(suites), table=_suites(suites))
    return found + LISTS.format(
        planted=_table(
            ("bug", "kind", "found by", "by ONNX's vectors"),
            [(each["bug"], each["kind"], each["by"] or "nothing", _code(each["onnx"])) for each in planted],
        ),
        museum=_table(
            ("bug", "kind", "found by", "by ONNX's vectors"),
            [
                (each["bug"], each["kind"] or "-", each["by"] or each["why"] or "nothing", _theirs(each))
                for each in museum
            ],
        ),
        right=_beside(museum),
        rest=_rest([each for each in mutants if not each["by"]]),
    )


def _of_attention(bug: dict[str, Any]) -> bool:
    """Whether a vector of ONNX can be asked of a bug's kind: that is of attention."""
    return KINDS[bug["kind"]].suite.startswith("kinds.softmax")


def stem(mutant: dict[str, Any]) -> str:
    """The name of the changed file without its ending."""
    return mutant["file"].rpartition("/")[2].removesuffix(".py")


def _rate(name: str, rows: Rows, *, asked: bool = True) -> tuple[str, ...]:
    """A row of the first table; `asked` says whether ONNX's vectors were."""
    ours, theirs = (sum(bool(each[who]) for each in rows) for who in ("by", "onnx"))
    return name, str(len(rows)), str(ours), str(theirs) if asked else "-"


def _beside(rows: Rows) -> str:
    """What became of right code in the place of a bug."""
    asked = [each["right"] for each in rows if each.get("beside")]
    accused = sum(map(bool, asked))
    return (
        f"{len(asked)} bugs have right code beside them, which was called in the same way. Accused: {accused}.\n"
        "A bug that no identity finds has the reason in the column *found by*. If the bug is a convention, the\n"
        "reason names the line of conform's output that tells of it, and quotes this line. A dash in the last\n"
        "column says that ONNX's vectors of attention cannot be asked of that kind."
    )


def _right(rows: Rows) -> str:
    return _table(
        ("code", "type", "calls", "not judged", "accused", "largest error per tolerance"),
        [
            (each["code"], each["type"], *(f"{each[n]:,}" for n in ("calls", "not_judged", "alarms")), _two(each))
            for each in rows
        ],
    )


def _chances(rows: Rows) -> str:
    """How many alarms chance alone would give."""
    laws = sum(each["chances"] for each in rows)
    return (
        f"Identities tried: {sum(each['asked'] for each in rows):,}; "
        f"accused: {sum(each['alarms'] for each in rows)}. "
        f"{laws:,} of these identities are laws of random numbers, each with an error rate of at most {ALPHA:g}.\n"
        f"So at most {laws * ALPHA:.1g} false alarms are expected of these laws."
    )


def _suites(rows: Rows) -> str:
    types = ("float64", "float32", "float16", "bfloat16", "others")
    lines = []
    for each in rows:
        errors = [f"{each['largest'][name]:.2g}" if each["largest"].get(name) else "-" for name in types]
        if each["told"]:
            errors[0] = "told"
        counts = [f"{each[name]:,}" for name in ("draws", "asked", "not_judged", "alarms")]
        lines.append((each["kind"], each["code"], *counts, *errors))
    return _table(("kind", "code", "draws", "identities", "not judged", "accused", *types), lines)


def _two(each: dict[str, Any]) -> str:
    return f"{each['largest']:.2g}" if each["calls"] > each["not_judged"] else "-"


def _rest(rows: Rows) -> str:
    counts = Counter((each["file"].rpartition("/")[2], each["function"], each["why"]) for each in rows)
    alone = "**moves outputs, and is not found**"
    return _table(
        ("file", "function", "changes", "why"),
        [(f"`{file}`", f"`{name}`", str(count), why or alone) for (file, name, why), count in counts.items()],
    )


def _theirs(bug: dict[str, Any]) -> str:
    return _code(bug["onnx"]) if bug["kind"] and _of_attention(bug) else "-"


def _code(name: str) -> str:
    return f"`{name}`" if "_" in name else name or "nothing"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
