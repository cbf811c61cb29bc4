"""The results as Markdown: for RESULTS.md, and the same lines for the README."""

from collections.abc import Iterable, Mapping

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
    return f"{machine['processor']}. float32 matrix product of side 1,024, in GF/s: {products}. {versions}."


def markdown(results: Mapping[str, Mapping], names: Iterable[str] | None = None) -> str:
    """Tables of the named benchmarks, or of all, each under the machine it was measured on."""
    parts = []
    for name in results if names is None else names:
        entry = results[name]
        quick = " Quick run: few rounds." if entry["quick"] else ""
        lines = [line(row) for row in entry["rows"]]
        parts.append("\n".join([f"### {name}", "", machine_line(entry["machine"]) + quick, "", *HEADER, *lines]))
    return "\n\n".join(parts) + "\n"
