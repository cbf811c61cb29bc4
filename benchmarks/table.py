"""The results as Markdown: a table with a column for each family of processors, then the races of each family."""

import collections
import re
from collections.abc import Iterable, Mapping

from benchmarks.machine import FAMILIES

HEADER = (
    "| what | size | ours | peer | ours is better by | must · aim | |",
    "|---|---|--:|--:|--:|--:|---|",
)


def number(value: float) -> str:
    """Three significant digits, thousands separated, millions as M."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:.3g} M"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def line(row: Mapping) -> str:
    """One row of the table."""
    low, middle, high = row["ratio"]
    spread = f"**{number(middle)}×**" + (f" ({number(low)}–{number(high)})" if low != high else "")
    target = "" if row["target"] is None else f"{number(row['target'][0])}× · {number(row['target'][1])}×"
    if row.get("or_rate"):
        target += f" or {number(row['or_rate'][0])} · {number(row['or_rate'][1])} {row['unit']}"
    share = "" if row["share"] is None else f" ({row['share']:.0%} of best)"
    cells = (
        row["what"],
        row["size"],
        f"{number(row['ours'])} {row['unit']}{share}",
        f"{number(row['peer'])} {row['unit']} ({row['peer_name']})",
        spread,
        target,
        row["verdict"],
    )
    return "| " + " | ".join(cells) + " |"


def machine_line(machine: Mapping) -> str:
    """What was measured on what."""
    products = ", ".join(f"{name} {rate:.0f}" for name, rate in machine["matrix_products"].items())
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    commit = f" Commit {machine['commit']}." if machine.get("commit") else ""
    return f"{machine['processor']}.{commit} float32 matrix product of side 1,024, in GF/s: {products}. {versions}."


def markdown(results: Mapping[str, Mapping], names: Iterable[str] | None = None) -> str:
    """Tables of the named benchmarks, or of all, each under the machine it was measured on."""
    parts = []
    for name in results if names is None else names:
        entry = results[name]
        quick = " Quick run: few rounds." if entry["quick"] else ""
        lines = [line(row) for row in entry["rows"]]
        parts.append("\n".join([f"### {name}", "", machine_line(entry["machine"]) + quick, "", *HEADER, *lines]))
    return "\n\n".join(parts) + "\n"


def page(results: Mapping[str, Mapping]) -> str:
    """All tables. One that sets families of processors side by side comes first, if there are several families."""
    families = _families(results)
    return families + markdown(results)


def _families(results: Mapping[str, Mapping]) -> str:
    """A line for each race and a column for each family. Benchmarks that ran on one family only are left out."""
    measured: dict[str, dict[str, Mapping]] = {}
    for title, entry in results.items():
        kind = max((kind for kind in FAMILIES if title.endswith(kind)), key=len)
        measured.setdefault(title.removesuffix(kind), {})[kind] = entry
    several = {name: entries for name, entries in measured.items() if len(entries) > 1}
    kinds = [kind for kind in FAMILIES if any(kind in entries for entries in several.values())]
    if not kinds:
        return ""
    heads = "".join(f" {FAMILIES[kind]} |" for kind in kinds)
    lines = [f"| what | size | peer |{heads}", "|---|---|---|" + "--:|" * len(kinds)]
    for name, entries in several.items():
        commits = {kind: entry["machine"].get("commit") or "unknown" for kind, entry in entries.items()}
        lines.append(_across(f"**`{name}`**, commit", "", "", commits, kinds))
        races: dict[tuple[str, ...], dict[str, Mapping]] = {}
        for kind, entry in entries.items():
            for race, row in _races(entry["rows"]):
                races.setdefault(race, {})[kind] = row
        for (what, size, *_), found in races.items():
            peers = " or ".join(dict.fromkeys(row["peer_name"] for row in found.values()))
            ratios = {kind: number(row["ratio"][1]) for kind, row in found.items()}
            lines.append(_across(what, size, peers, ratios, kinds))
    return "\n".join(["### By family of processor", "", *FAMILIES_LINES, "", *lines, ""])


FAMILIES_LINES = (
    "A number is how many times better ours is: above 1, ours is faster or takes less memory.",
    "A line in bold names a benchmark, and its commit on each family. A dash: it did not run there.",
)


def _across(what: str, size: str, peers: str, found: Mapping[str, str], kinds: Iterable[str]) -> str:
    return f"| {what} | {size} | {peers} |" + "".join(f" {found.get(kind, '–')} |" for kind in kinds)


def _races(rows: Iterable[Mapping]) -> Iterable[tuple[tuple[str, ...], Mapping]]:
    """Each row with the name of its race. Devices, peers and a number tell apart only what else is alike."""
    rows = list(rows)
    short = [(row["what"], DEVICES.sub("", row["size"])) for row in rows]
    whole = [(row["what"], row["size"]) for row in rows]
    seen: collections.Counter[tuple[str, ...]] = collections.Counter()
    for row, brief, full in zip(rows, short, whole, strict=True):
        name = brief if short.count(brief) == 1 else full if whole.count(full) == 1 else (*full, row["peer_name"])
        yield (*name, str(seen[name])), row
        seen[name] += 1


DEVICES = re.compile(r",? ?(heads )?over \d+ devices")
"""Which devices share the work: it differs between commits, and the race is the same."""
