"""The suite of rotary positions: pairs of channels that turn by an angle in proportion to the position."""

import dataclasses

from attnlab_theory.conform.positions import rotary_ways as ways
from attnlab_theory.conform.positions.frequencies import Fit, fitted, power
from attnlab_theory.conform.positions.rotary_guessing import tried
from attnlab_theory.conform.positions.rotary_judging import Rotation
from attnlab_theory.conform.positions.rotary_laws import LAWS


class RotarySuite(Rotation):
    """The identities, tried on a target."""

    LAWS = LAWS
    IDENTITIES = tuple(LAWS)

    def open(self) -> None:
        """Guess how it is called."""
        self.begin()
        pairs = self.declared.get("pairs")
        if pairs is not None and pairs not in ways.PAIRS:
            raise ValueError(f"pairs are {' or '.join(ways.PAIRS)}, not {pairs!r:.40}")
        self.way, self.reading, self.trial = tried(self)
        self.why = self.reading.why
        self.probes, self.settled = {}, {}
        self.fit = Fit(1e4, "turning", 1.0, self.reading.frequencies, self.reading.error)
        if self.way.told != "table" and not self.why:
            base = self.declared.get("base")
            self.fit = fitted(*self.reading[3:5], self.way.width, base, ("turning", "whole"))
            if self.fit.base:
                # Whoever does not stretch frequencies has no reason to stretch vectors.
                self.way = dataclasses.replace(self.way, scale=1.0)
        if pairs is not None and not self.why and self.way.pairs != pairs:
            self.why = f"channels turn in pairs that are {self.way.pairs}, not {pairs}"
        self._say()

    def _say(self) -> None:
        way, told = self.way, {"positions": "its positions", "rows": "nothing: row t stands at t"}
        self.profile = [
            ("framework", self.framework),
            ("layout", " ".join(way.layout) + self.mark("layout")),
            ("vectors in one call", "queries and keys" if "k" in self.names else "one array"),
        ]
        said = self.profile
        if way.told == "table":
            half = "a column for each channel" if way.table.full else "a column for each pair"
            said.append(("is told", f"cosines and sines [{' '.join(way.table.axes)}], {half}"))
        else:
            said.append(("is told", told[way.told] + (" [b t]" if way.by_row else "")))
        if self.why:
            return
        part = self.reading.turning
        said.append(("pairs", f"{way.pairs}{self.mark('pairs')}"))
        said.append(("channels that turn", "all" if part == way.width else f"the first {part} of {way.width}"))
        said.append(("direction", "(a, b) to (a cos - b sin, a sin + b cos)" if way.sign > 0 else "the other way"))
        if way.told != "table":
            said.append(("frequencies", self.fit.words() + self.mark("base")))
            if not self.fit.base and (base := power(self.fit)):
                said.append(("", f"powers of about {base:,.6g}: say --base if you know it"))
        if way.shift:
            said.append(("row 0 stands at", f"{way.shift:g}"))
        if way.scale != 1:
            said.append(("vectors are multiplied by", f"{way.scale:.4g}, as YaRN does"))
        if way.width != 8:
            refused = self.probe(8).trouble is not None
            smaller = "no smaller one is taken" if refused else "of a smaller one a single pair turns, or none"
            said.append(("width", f"{way.width}: {smaller}"))
