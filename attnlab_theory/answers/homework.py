"""A homework as it is written: one TOML file. The answer sheet, the points and somebody's own questions share it.

A mistake in a file gets one line, with the line of the file, the key, its value and the remedy. Nothing here runs
code, and nothing here imports jax.
"""

import ast
import dataclasses
import difflib
import functools
import hashlib
import importlib.resources
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab_theory import inputs

HOMEWORKS = ("cs224n", "practical4", "uw", "ann-hw3", "blog")
"""The homeworks of the lab, in the order of the sheet. Each has a TOML file of its name."""

MOST_POINTS = 10_000
LARGEST = 64
MOST_CASES = 1000
MOST_BYTES = 2**24

TOP: Mapping[str, type] = {"homework": str, "code": str, "points": dict, "question": list}
SHEET: Mapping[str, type] = {"answer": str, "evidence": list, "findings": list, "lab": str, "submitted": dict}
"""What the answer sheet says of a question."""
JUDGED: Mapping[str, type] = {
    **{"signature": str, "draw": str, "reference": str, "holds": list, "tolerance": float},
    **{"given": dict, "returns": dict, "largest": int, "cases": int, "seconds": float},
}
"""How code judges a question that has no contract of the lab."""
KEYS: Mapping[str, type] = {
    **{"id": str, "question": str, "points": float, "contract": str, "hints": dict},
    **SHEET,
    **JUDGED,
}
KINDS = {
    **{str: "a text", list: 'a list of texts, such as ["one"]', dict: "a table of texts, none of them empty"},
    **{float: f"a number from 0 to {MOST_POINTS:,}", int: "a whole number"},
}
SAID = ["claimed", "measured", "right"]
"""What the sheet says of a submitted answer that is wrong, in this order."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """One question, as its table says it."""

    id: str
    question: str
    points: float | None = None
    """None if code does not judge it."""
    contract: str = ""
    """The question of the lab whose contract judges it. Empty if the file says how."""
    hints: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What to say, by the reason of a verdict, the name in `holds`, or the name of a typical wrong answer."""
    answer: str = ""
    evidence: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    lab: str = "knowledge"
    submitted: Mapping[str, str] | None = None
    signature: str = ""
    draw: str = ""
    reference: str = ""
    holds: tuple[str, ...] = ()
    tolerance: float = 1e-6
    given: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The meaning of parameters, by their names."""
    returns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The meaning of each returned array, by a name for it."""
    largest: int = 8
    """The largest size that `draw` is asked for."""
    cases: int = 40
    """How many cases are drawn, beside one for each size."""
    seconds: float = 10
    """How long one call of a function in the Python file may take."""

    @property
    def function(self) -> ast.FunctionDef:
        """The function that the signature names, as Python's grammar reads it. It has one only if it is judged."""
        (found,) = ast.parse(f"def {' '.join(self.signature.split())}: ...").body
        assert isinstance(found, ast.FunctionDef)
        return found


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Homework:
    """A homework and its file. It can be sent to another process or machine."""

    name: str
    questions: tuple[Question, ...]
    points: Mapping[str, float]
    """Points by the part of a question's id after its homework."""
    path: str = ""
    """The file, as it was named. Empty for a homework of the lab."""
    text: str = ""
    code_path: str = ""
    """The Python file beside it. Empty if no question needs one."""
    code: str = ""
    modules: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The texts of what the Python file imports from its own folder, by their paths."""

    @property
    def read(self) -> list[Path]:
        """The files that it was read from."""
        return [Path(each) for each in (self.path, self.code_path, *self.modules) if each]

    @property
    def state(self) -> str:
        """A hash of all that may change a mark, and not of the points. Empty for questions of the lab alone."""
        judged = [
            dataclasses.replace(each, points=None) for each in self.questions if each.signature or each.contract
        ]
        texts = [self.code, *self.modules.values()]
        return hashlib.sha256(f"{judged}{texts}".encode()).hexdigest()[:16] if judged else ""

    def refused(self, question: Question | None, key: str, value: Any, remedy: str) -> ValueError:
        """The error about a key of a question, with its line."""
        at = None if question is None else self.questions.index(question)
        return _refused(self.path, self.text, at, question.id if question else "", key, value, remedy)


@functools.cache
def of_lab(name: str) -> Homework:
    """A homework of the lab.

    Args:
        name: one of `HOMEWORKS`.
    """
    place = importlib.resources.files("attnlab_theory.answers").joinpath(f"{name}.toml")
    text = place.read_text("utf-8")
    table = {"homework": name, **tomllib.loads(text)}
    return _homework(f"{name}.toml", text, table, Path(), own=False)


def of_file(path: str) -> Homework:
    """Somebody's own homework, or points of their own for one of the lab.

    Args:
        path: of a TOML file.

    Raises:
        ValueError: in one line, if the file cannot be read or says something that has no meaning.
    """
    try:
        text = inputs.content(Path(path), most=MOST_BYTES).decode("utf-8-sig")
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a TOML file: {error}; save it in UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    return _homework(path, text, table, Path(path), own=True)


def _homework(path: str, text: str, table: Mapping[str, Any], place: Path, *, own: bool) -> Homework:
    def refuse(key: str, value: Any, remedy: str, at: int | None = None, name: str = "") -> ValueError:
        return _refused(path, text, at, name, key, value, remedy)

    for key, value in table.items():
        if key not in TOP:
            raise refuse(key, value, f"a homework has {_nearest(key, TOP)}")
    name, tables = table.get("homework"), table.get("question", [])
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w-]*", name):
        raise refuse("homework", name, 'write homework = "NAME" first, of letters, digits, - and _')
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise refuse("question", tables, "write each question below a line [[question]]")
    questions: list[Question] = []
    for at, each in enumerate(tables):
        told = str(each.get("id", at + 1))

        def refuse_here(key: str, value: Any, remedy: str, at: int = at, told: str = told) -> ValueError:
            return refuse(key, value, remedy, at, told)

        question = _question(each, refuse_here, in_lab=name in HOMEWORKS)
        if question.id in {other.id for other in questions}:
            raise refuse_here("id", question.id, "two questions have this id; give one of them another")
        questions.append(question)
    points = {each.id: each.points for each in questions if each.points is not None}
    given = table.get("points", {})
    if not isinstance(given, dict):
        raise refuse("points", given, 'write lines like "2b" = 2 below [points]')
    for part, worth in given.items():
        if name not in HOMEWORKS:
            raise refuse(part, worth, f"in a homework of your own, write points = {worth!r} below its [[question]]")
        if not _is_number(worth, 0, MOST_POINTS):
            raise refuse(part, worth, f"{part} is worth a number from 0 to {MOST_POINTS}, not {worth!r}")
        points[part] = worth
    if own and name in HOMEWORKS:
        known = of_lab(name).points
        if other := [part for part in points if part not in known]:
            has = (
                f"{', '.join(known)} to be graded, and no {other[0]!r}" if known else "nothing that code can judge"
            )
            raise refuse(other[0], points[other[0]], f"{name} has {has}")
    if own and not questions and not points:
        raise refuse("question", None, 'write a [[question]], or below [points] lines like "2b" = 2')
    code_path, code = "", ""
    if any(each.signature for each in questions):
        beside = table.get("code", f"{place.stem}.py")
        if not isinstance(beside, str) or not beside.endswith(".py"):
            raise refuse("code", beside, 'name the Python file with the functions: code = "mine.py"')
        code_path = str(place.parent / beside)
        try:
            code = inputs.content(Path(code_path), most=MOST_BYTES).decode("utf-8-sig")
        except (ValueError, UnicodeDecodeError) as error:
            raise refuse("code", beside, f"{error}; it holds the functions that the questions name") from None
    return Homework(
        name=name,
        questions=tuple(questions),
        points=points,
        path=path if own else "",
        text=text,
        code_path=code_path,
        code=code,
        modules=_imported(place.parent, code),
    )


def _imported(folder: Path, code: str) -> dict[str, str]:
    """The modules of a folder that a text imports, and those that they import, by their paths.

    Of a package, all its files. What is no Python is told of where it is loaded.
    """
    found: dict[str, str] = {}
    left = [code]
    while left:
        try:
            nodes = [*ast.walk(ast.parse(left.pop()))]
        except (SyntaxError, ValueError, RecursionError):
            continue
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        for name in sorted({name.partition(".")[0] for name in names}):
            for path in sorted({folder / f"{name}.py", *(folder / name).rglob("*.py")} - {*map(Path, found)}):
                if path.is_file():
                    text = inputs.content(path, most=MOST_BYTES).decode("utf-8-sig", "replace")
                    found[str(path)] = text
                    left.append(text)
    return found


def _question(table: Mapping[str, Any], refuse: Any, *, in_lab: bool) -> Question:
    """The question of a table. `refuse` makes the error from a key, its value and the remedy."""
    for key, value in table.items():
        if key not in KEYS:
            raise refuse(key, value, f"a question has {_nearest(key, KEYS)}")
        if not _is_kind(value, KEYS[key]):
            if isinstance(value, dict):
                value = next(({name: text} for name, text in value.items() if not _is_text(text)), value)
            raise refuse(key, value, f"it is {KINDS[KEYS[key]]}")
    for key in ("id", "question"):
        if not table.get(key, "").strip():
            raise refuse(key, table.get(key), f'each question has {key} = "..."')
    if not re.fullmatch(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", table["id"]):
        raise refuse("id", table["id"], "use letters and digits, with dots between them: 1a, 2c.1, mask")
    said = table.get("submitted")
    if said is not None and list(said) != SAID:
        raise refuse("submitted", list(said), f"it has {', '.join(SAID)}, in this order")
    if in_lab and ("evidence" not in table or ("answer" in table) == (said is not None)):
        raise refuse("answer", table.get("answer"), "a question of the lab has evidence, and answer or submitted")
    judged = [key for key in JUDGED if key in table]
    if "contract" in table and judged:
        raise refuse(judged[0], table[judged[0]], "the contract says this already; leave one of the two out")
    if in_lab and judged:
        raise refuse(judged[0], table[judged[0]], "a homework of the lab has contracts; choose another homework = ")
    if "contract" in table and table["contract"] not in _graded():
        raise refuse("contract", table["contract"], f"it is one of {', '.join(_graded())}")
    if judged:
        _refuse_half_judged(table, refuse)
    held = table.get("holds", [])
    if again := [name for name in held if held.count(name) > 1]:
        raise refuse("holds", held, f"it names {again[0]} twice; name it once")
    needs_judge = "points" in table or "hints" in table
    if needs_judge and not (judged or in_lab or "contract" in table):
        key = "points" if "points" in table else "hints"
        raise refuse(
            key, table[key], 'code judges it by signature, draw and reference, or by contract = "practical4/2b"'
        )
    if (judged or "contract" in table) and "points" not in table:
        raise refuse("points", None, "a question that code judges has points, such as points = 2")
    fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
    return Question(**fields)


def _refuse_half_judged(table: Mapping[str, Any], refuse: Any) -> None:
    for key, example in (("signature", "mask(n: int) -> np.ndarray"), ("draw", "draw_mask")):
        if key not in table:
            raise refuse(key, None, f'a question that code judges has {key} = "{example}"')
    if "reference" not in table and "holds" not in table:
        raise refuse(
            "reference", None, 'name what must come out: reference = "mask", or holds = ["rows_sum_to_one"]'
        )
    names = _parameters(table["signature"])
    if not names:
        form = 'write a function of Python without "def", such as mask(n: int) -> np.ndarray, without defaults'
        raise refuse("signature", table["signature"], form)
    for given in table.get("given", {}):
        if given not in names:
            raise refuse("given", given, f"the signature has {', '.join(names)}")
    for key, example in (("tolerance", "1e-6"), ("seconds", "10")):
        if not table.get(key, 1) > 0:
            raise refuse(key, table[key], f"it is greater than 0, such as {example}")
    for key, most in (("largest", LARGEST), ("cases", MOST_CASES)):
        if not 1 <= table.get(key, 1) <= most:
            raise refuse(key, table[key], f"it is a whole number from 1 to {most}")


def _parameters(signature: str) -> list[str]:
    """The names of the parameters; none if it is no signature, or has parameters of another kind."""
    try:
        given = Question(id="", question="", signature=signature).function.args
    except (SyntaxError, ValueError, AssertionError):
        return []
    others = (given.vararg, given.kwarg, given.kwonlyargs, given.posonlyargs, given.defaults)
    return [] if any(others) else [each.arg for each in given.args]


def _graded() -> list[str]:
    """The questions of the lab that code judges."""
    return [f"{name}/{part}" for name in HOMEWORKS for part in of_lab(name).points]


def _is_kind(value: Any, kind: type) -> bool:
    if kind is int:
        return type(value) is int
    if kind is float:
        return _is_number(value, 0, MOST_POINTS)
    texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ("text",)
    return isinstance(value, kind) and all(map(_is_text, texts))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: Any, least: float, most: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and least <= value <= most


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"no such key; is {near[0]} meant?" if near else f"no such key, but {', '.join(known)}"


def _refused(path: str, text: str, at: int | None, name: str, key: str, value: Any, remedy: str) -> ValueError:
    line = _line(text, at, key)
    where = f"{path}, line {line}" if line else path
    which = f"question {name}, " if name else ""
    what = f"{key} is missing" if value is None else f"{key} = {value!r:.60}"
    return ValueError(f"{where}: {which}{what}: {remedy}")


def _line(text: str, at: int | None, key: str) -> int:
    """The line of a key, from 1, in the question with this number or in the whole file; 0 if unknown."""
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(r"\s*\[\[\s*question\s*\]\]", line)]
    if at is not None and at >= len(heads):
        return 0
    first = 0 if at is None else heads[at]
    end = len(lines) if at is None or at + 1 == len(heads) else heads[at + 1]
    spelled = rf"[\"']?{re.escape(key)}[\"']?"
    for number in range(first, end):
        if re.match(rf"\s*(?:{spelled}\s*[=.]|\[+\s*(?:question\.)?{spelled}\s*\])", lines[number]):
            return number + 1
    return 0 if at is None else first + 1
