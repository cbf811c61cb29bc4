"""No figure shows a number that is not in its JSON, titles included.

A number that was measured or predicted moves with its finding. So each figure is drawn three times: from the
committed findings, and twice from findings whose numbers are others. A number that stays must be a value of a
setting, or a count of findings. Formulas keep their exponents and factors. What is left has a reason in `ARGUED`.
"""

import functools
import importlib.util
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from attnlab_theory.claims import Findings
from attnlab_theory.report import record, style

ROOT = Path(__file__).parents[1]
EXPERIMENTS = sorted(path.stem for path in (ROOT / "experiments").glob("*.py"))

DECLARED = "a margin, declared before any run"

ARGUED: Mapping[str, Mapping[str, str]] = {
    "bluntness": {"63": "the end of a range of lengths, of which no sentence is longer"},
    "budgets": {"10%": DECLARED},
    "equivalence": {"0.02": DECLARED},
    "heads": {"0.005": "where the scale of the axis begins to be logarithmic"},
    "hopfield": {"0.138": "published, and a number of theory: CLASSICAL"},
    "infinite_variance": {"10%": "what the claim calls an error: its TOLERANCE, by which the draws are counted"},
    "premises": {"10%": DECLARED, "0.1": DECLARED},
    "ranks": {"10%": DECLARED},
    "survival": {"10%": DECLARED},
}
"""Numbers of no finding, by figure, and why they are no finding's."""

pytestmark = pytest.mark.usefixtures("unchecked_shapes")
"""Drawing takes whole numbers where numbers are wanted."""

WORDS = ("three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Numbers in words, from 3. One and two are words of every sentence."""

TOKEN = re.compile(
    r"10\^\{(?P<power>-?\d+)\}|\\frac\{(?P<over>\d+)\}\{(?P<under>\d+)\}|(?P<fraction>\d+/\d+)|"
    rf"(?P<number>\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?)(?P<percent>\s?%)?|\b(?P<word>{'|'.join(WORDS)})\b",
    re.IGNORECASE,
)
TOLD = re.compile(r"(?:=|<|>|\\leq|\\geq|\\approx|\\pm)\s*$")
"""What stands in a formula before a number that is no part of it: n = 16 tells a value, 4d does not."""

RANGE = re.compile(r"\d to\s$")
"""What stands before the end of a range of whole numbers."""

Place = tuple[Any, ...]
"""Where a text stands in a figure."""


def texts_of(figure: Figure) -> dict[Place, str]:
    """All texts of a figure but the numbers of its axes, by where they stand."""
    axes = {tick_label for ax in figure.axes for tick_label in numbers_of_axes(ax)}
    found: dict[Place, str] = {}
    for parent in [figure, *figure.axes]:
        own = [each for each in parent.findobj(Text) if each not in axes]
        if parent is figure:
            inside = {each for ax in figure.axes for each in ax.findobj(Text)}
            own = [each for each in own if each not in inside]
        name = "figure" if parent is figure else figure.axes.index(parent)
        found |= {(name, place): each.get_text() for place, each in enumerate(own) if each.get_text()}
    return found


def numbers_of_axes(ax: Any) -> Iterator[Text]:
    """The labels of ticks that say where they stand, and nothing else."""
    for axis in (ax.xaxis, ax.yaxis):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            for label in (tick.label1, tick.label2):
                if says(label.get_text(), tick.get_loc()):
                    yield label


def says(label: str, place: float) -> bool:
    """Whether the label of a tick is the number at which it stands, or a place in a list of such numbers."""
    try:
        return math.isclose(float(label.replace(",", "")), place, rel_tol=1e-6, abs_tol=1e-12)
    except ValueError:
        return False


def value_of(token: re.Match[str]) -> float:
    """The number that is written there."""
    if token["power"]:
        return 10.0 ** int(token["power"])
    if token["under"]:
        return int(token["over"]) / int(token["under"])
    if token["fraction"]:
        return float(Fraction(token["fraction"]))
    if token["word"]:
        return 3.0 + WORDS.index(token["word"].lower())
    return float(token["number"].replace(",", "")) / (100 if token["percent"] else 1)


def is_of_formula(text: str, token: re.Match[str]) -> bool:
    """Whether a number is an exponent, a factor or an index of a formula, and not what a formula is equal to."""
    before, after = text[: token.start()], text[token.end() :]
    in_formula = before.replace(r"\$", "").count("$") % 2 == 1
    if not in_formula or "." in token[0] or token["percent"]:
        return False
    ends = re.match(r"\s*(?:\$|,|\\)", after) is not None
    return not (ends and TOLD.search(before))


def moved(value: Any, rng: random.Random, *, measured: bool = False) -> Any:
    """A value of a JSON file with other numbers in it. Settings, names and the order stay.

    Args:
        value: what the file holds.
        rng: where the factors come from. Numbers become smaller, for a share stays below one.
        measured: whether a number that is met was measured or predicted.
    """
    if isinstance(value, list):
        return [moved(each, rng, measured=measured) for each in value]
    if isinstance(value, dict) and "setting" in value and "draws" in value:
        return _moved_finding(value, rng)
    if isinstance(value, dict):
        # A matrix of `leaks` stands below the name of its mixer.
        inside = {key: measured or key in MEASURED or is_matrix(each) for key, each in value.items()}
        return {key: moved(each, rng, measured=inside[key]) for key, each in value.items()}
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # The share of some in the sum of many moves only if their factors are far apart.
    return value * rng.uniform(0.4, 0.85) ** 4 if measured and is_number else value


MEASURED = {"loss", "losses", "accuracy", "training", "training accuracy", "validation accuracy", "weights"}
"""The fields of curves and maps that hold numbers which were measured."""

FOUND = {"confidence", "entropy", "predicted"}
"""The fields of settings that nobody has set: an estimate tells of them beside its number."""


def is_matrix(value: Any) -> bool:
    """Whether a value of a JSON file is a list of lists of numbers."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _moved_finding(row: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """A finding or an estimate whose numbers are others, all by one factor, and whose verdict may be another."""
    factor, other = rng.uniform(0.4, 0.85), rng.random() < 0.5
    times = functools.partial(_times, factor=factor)
    new = {
        key: times(each) if key in ("predicted", "measured", "interval", "value", "values") else each
        for key, each in row.items()
    }
    new |= {"draws": row["draws"] * 2 + 1 if row["draws"] > 1 else 1, "error_rate": row["error_rate"] / 2}
    new["setting"] = {name: times(each) if name in FOUND else each for name, each in row["setting"].items()}
    if row.get("rival"):
        new["rival"] = {**row["rival"], "predicted": times(row["rival"]["predicted"])}
    if "verdict" in row and other:
        new["verdict"] = "REFUTED" if row["verdict"] == "SUPPORTED" else "SUPPORTED"
    return new


def _times(value: Any, *, factor: float) -> Any:
    if isinstance(value, list):
        return [_times(each, factor=factor) for each in value]
    return None if value is None else value * factor


def told_by(rows: Any) -> set[float | str]:
    """The values of settings, among them numbers in names; and how many findings of one claim there are."""
    told: set[float | str] = {0.0, 1.0}
    claims: dict[str, list[dict[str, Any]]] = {}
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and "setting" in row:
            setting = {name: each for name, each in row["setting"].items() if name not in FOUND}
            told |= set(_numbers(setting))
            claims.setdefault(row.get("claim") or row["quantity"], []).append(setting)
        elif isinstance(row, dict):
            # Epochs, steps, seeds and names. A number with decimals may have been measured.
            told |= set(_numbers([each for each in row.values() if is_counted(each)]))
    for settings in claims.values():
        told |= {float(len(settings))}
        for name in settings[0]:
            # The values of a field, and the points at which there are several of them.
            told.add(float(len({str(each.get(name)) for each in settings})))
            told.add(float(len({str({**each, name: None}) for each in settings})))
            # A part of those at one value of the field.
            told |= {f"1/{number}" for number in Counter(str(each.get(name)) for each in settings).values()}
    return told


def is_counted(value: Any) -> bool:
    """Whether a field of a curve holds names or whole numbers."""
    return all(isinstance(each, int | str) for each in (value if isinstance(value, list) else [value]))


def _numbers(value: Any) -> Iterator[float]:
    """All numbers inside a value of a JSON file."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)
    elif isinstance(value, str):
        yield from (value_of(token) for token in TOKEN.finditer(value))
    elif isinstance(value, int | float):
        yield abs(float(value))


def is_told(token: re.Match[str], told: set[float | str]) -> bool:
    """Whether a number is one of these, as it is rounded there."""
    if re.match(r"\s*times (?:as|more|less)", token.string[token.end() :]):
        return False  # A ratio was measured, or predicted.
    if RANGE.search(token.string[: token.start()]) and value_of(token) + 1 in told:
        return True  # It ends where the next one begins.
    value, (_, _, decimals) = value_of(token), (token["number"] or "").partition(".")
    slack = 0.5 * 10.0 ** -len(decimals) if decimals and not token["percent"] else 0
    numbers = (each for each in told if not isinstance(each, str))
    return token["fraction"] in told or any(abs(each - value) <= max(slack, 1e-9 * value) for each in numbers)


def typed(original: Figure, others: Sequence[Figure], told: set[float | str]) -> dict[str, str]:
    """The numbers that a figure shows and no finding holds, each with its text.

    Args:
        original: drawn from the committed findings.
        others: drawn from findings whose numbers are others.
        told: the values of settings, and counts of findings.
    """
    found: dict[str, str] = {}
    elsewhere = [texts_of(other) for other in others]
    for place, text in texts_of(original).items():
        for token in TOKEN.finditer(text):
            # A text that is gone depends on the findings; a number of it that stays does not.
            stays = all(token[0] in _written(other, place) for other in elsewhere)
            if stays and not is_of_formula(text, token) and not is_told(token, told):
                found[token[0]] = text
    return found


def _written(texts: Mapping[Place, str], place: Place) -> set[str]:
    """The numbers at a place of a figure; if nothing stands there, those of the whole panel."""
    there = [texts[place]] if place in texts else [text for at, text in texts.items() if at[0] == place[0]]
    return {token[0] for text in there for token in TOKEN.finditer(text)}


def drawn(draw: Callable[[], Figure]) -> Figure:
    """The figure in the style of the house."""
    with matplotlib.rc_context(style.SETTINGS):
        return draw()


@functools.cache
def words() -> ModuleType:
    """The script that draws committed figures again."""
    spec = importlib.util.spec_from_file_location("words", ROOT / "experiments" / "labs" / "words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_experiment(name: str) -> dict[str, str]:
    """The numbers that are typed into the figure of an experiment."""
    rows = json.loads((ROOT / "figures" / f"{name}.json").read_text("utf-8"))
    draw = words()._experiment(ROOT / "experiments" / f"{name}.py").draw_figure
    # Two: one other number may be rounded like the committed one by chance.
    versions = [rows, *(moved(rows, random.Random(seed)) for seed in range(2))]
    first, *others = [drawn(functools.partial(draw, Findings(map(record.from_json, each)))) for each in versions]
    return typed(first, others, told_by(rows))


def unargued(figure: str, found: Mapping[str, str]) -> dict[str, str]:
    """The numbers that are typed into a figure without a reason."""
    return {number: text for number, text in found.items() if number not in ARGUED.get(figure, {})}


@pytest.mark.slow("three experiments stay inside", but=("best_single_query", "hopfield", "two_heads_hedge"))
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_figure_of_an_experiment_shows_no_number_that_is_not_in_its_json(name):
    """Draws the figure three times, each of which takes a quarter of a second to a second."""
    found = of_experiment(name)
    assert unargued(name, found) == {}
    assert set(ARGUED.get(name, {})) <= set(found)


def runs() -> list[str]:
    """The folders of labs that hold figures and the numbers of them."""
    labs = [path.name for path in (ROOT / "attnlab_theory" / "labs").iterdir()]
    pictures = [path for name in (*labs, "birthplaces") for path in (ROOT / "figures" / name).rglob("*.png")]
    folders = {path.parent for path in pictures}
    return sorted(str(each.relative_to(ROOT / "figures")) for each in folders if any(each.glob("*estimates.json")))


def figures_in(folder: Path, run: str) -> dict[str, Callable[[], Figure]]:
    """How the figures of a run are drawn from the JSON files in its folder."""
    if run.startswith("captions"):
        from attnlab_theory.labs.captions.measure import figures_in as found
    elif run.startswith("knowledge"):
        from attnlab_theory.labs.knowledge.measure import figures_in as found
    else:
        every = words().drawn(folder)[folder / run]
        return {name: draw for name, draw in every.items() if draw is not None}
    known = found(folder / run).items()
    return {name: draw for name, draw in known if draw is not None and (folder / run / f"{name}.png").exists()}


def of_run(run: str, tmp_path: Path) -> dict[str, dict[str, str]]:
    """The numbers that are typed into the figures of a run, by figure."""
    told: set[float | str] = set()
    for number in range(2):
        folder = tmp_path / str(number) / run
        folder.mkdir(parents=True)
        for path in (ROOT / "figures" / run).glob("*.png"):
            (folder / path.name).touch()
        for path in sorted((ROOT / "figures" / run).glob("*.json")):
            rows = json.loads(path.read_text("utf-8"))
            told |= told_by(rows)
            (folder / path.name).write_text(json.dumps(moved(rows, random.Random(number))), "utf-8")
    first, *others = [figures_in(each, run) for each in (ROOT / "figures", *(tmp_path / str(n) for n in range(2)))]
    return {
        name: typed(drawn(draw), [drawn(other[name]) for other in others], told) for name, draw in first.items()
    }


@pytest.mark.slow("one run of a lab stays inside", but=("mixers",))
@pytest.mark.parametrize("run", runs())
def test_a_figure_of_a_lab_shows_no_number_that_is_not_in_its_json(tmp_path, run):
    """Draws each figure of the run three times: twelve of them, with a number for every head, take 20 s."""
    found = of_run(run, tmp_path)
    assert {figure: left for figure, numbers in found.items() if (left := unargued(figure, numbers))} == {}


def coins(title: Callable[[float], str], share: float) -> Figure:
    """A figure with a title, of a coin that shows heads with this share."""
    figure, (ax,) = style.panels(title(share))
    ax.set(xlabel=r"tosses $n = 64$ of a coin with $p^2 = \frac{1}{4}$, error $4d/n^2$")
    return figure


@pytest.mark.parametrize(
    ("title", "numbers"),
    [
        (lambda share: f"Heads in {share:.0%} of 64 tosses", set()),
        (lambda share: "Heads in 48% of 64 tosses", {"48%"}),
        (lambda share: "Heads in 48 % of 64 tosses", {"48 %"}),
        (lambda share: r"Heads in $0.48$ of the tosses", {"0.48"}),
        (lambda share: r"Heads with $p = 0.48$", {"0.48"}),
        (lambda share: f"{'More' if share > 0.4 else 'Less'} than 40% are heads", {"40%"}),
        (lambda share: "Heads nine times as often", {"nine"}),
        (lambda share: "Heads four times as often", {"four"}),
    ],
)
def test_a_number_is_typed_in_if_it_stays_and_nobody_has_set_it(title, numbers):
    first, other = (drawn(functools.partial(coins, title, share)) for share in (0.48, 0.31))
    assert set(typed(first, [other], {0.0, 0.25, 1.0, 4.0, 64.0})) == numbers
