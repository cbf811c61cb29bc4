"""The suite of recurrences: whole, in parts with a state, in chunks, and another form are one answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab_theory.conform.asking import ADAPTER
from attnlab_theory.conform.attention.layouts import LAYOUTS
from attnlab_theory.conform.callers import Direct
from attnlab_theory.conform.codes import begun, framed
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.linear.continuations import LAWS
from attnlab_theory.conform.linear.forms import form_of, lines
from attnlab_theory.conform.linear.passes import Passes, Split
from attnlab_theory.conform.suite import Row, Suite, row_of

if TYPE_CHECKING:
    from attnlab_theory.conform.callers import Place


class RecurrentSuite(Suite):
    """A recurrence, and its forms. `against` is another form: a function or its caller."""

    IDENTITIES = tuple(LAWS)
    CONVENTIONS = ("framework", "layout", "against")

    def open(self) -> None:
        """Find out how it is called, and in which type it computes."""
        against = self.declared.get("against")
        known = {name: x for name, x in self.declared.items() if name != "against"}
        form = form_of(self.caller, known)
        other = None
        if against is not None:
            other = form_of(self.recorded(against if hasattr(against, "about") else Direct(against)), known)
        if other is None and not {"state", "chunk"} & set(form.names):
            raise ValueError(
                f"{self.caller.name} has no argument for a state or for chunks: say --against FILE.py::FUNCTION, "
                f"another form of it, or {ADAPTER}"
            )
        self.passes = Passes(form, other)
        inside = "" if self.passes.inside == self.passes.type else ", computed in float32 inside"
        self.profile = [*form.lines(), ("judged in", self.passes.type + inside)]
        self.profile.append(("tolerance", "measured: what inputs that are moved a little do to the whole"))

    def row(self, name: str) -> Row | None:
        """Try one identity."""
        self.passes.split = None
        said = LAWS[name](self.passes)._replace(counterexample=self.passes.split)
        self.note(said.trouble)
        self.calls, self.largest = self.passes.form.asker.calls, self.passes.largest
        if self.passes.other is not None:
            self.calls += self.passes.other.asker.calls
        return row_of(name, said)

    def snippet(self, place: "Place", rows: Sequence[Row]) -> list[str]:
        """A snippet of the shortest sequence whose parts or chunks are not the whole."""
        found = [row.counterexample for row in rows if row.verdict is Verdict.FAILS and row.counterexample]
        if not found:
            return []
        split: Split = min(found, key=lambda each: each.case.length)
        form, n = self.passes.form, split.case.length
        layout, names, framework = form.asker.layout, form.names, form.asker.framework
        function = place.names + "()" * bool(self.caller.about().get("class"))

        def array(code: str) -> str:
            return framed(f"np.ascontiguousarray({code})", framework) if framework != "numpy" else code

        handed = [array(LAYOUTS[layout].format(x=f"{x}[:, :, a:b]")) for x in "qkv"]
        for role, axes in form.axes.items():
            word = role.replace(" ", "_")
            whole = {"h": word, "": f"float({word})", "bhtd": LAYOUTS[layout].format(x=f"{word}[:, :, a:b]")}
            one = f"{LAYOUTS[layout].format(x=f'{word}[:, :, a:b, :1]')}[..., 0]"
            value = whole.get(axes, one)
            handed.append(f"{names[role]}={array(value) if axes else value}")
        fixed = f", {names['returns']}=True" if split.sizes and "returns" in names else ""
        by_chunk = f", {names['chunk']}={split.chunk}" if split.chunk is not None else ""
        first = "[0]" if "state" in names and (fixed or "returns" not in names) else ""
        needed = f", {names['state']}=None" if form.needs_state else ""
        shown = [
            *begun(place, framework),
            *lines(split.case, form.axes),
            f"call = lambda a, b, **more: {function}({', '.join(handed)}{fixed}, **more)",
        ]
        if not split.sizes:
            second = f"call(0, {n}{needed}{by_chunk}){first}"
            return [*shown, f"print(abs({second} - call(0, {n}{needed}){first}).max())  # chunks, whole"]
        axis = layout.index("t")
        return [
            *shown,
            "parts, state, a = [], None, 0",
            f"for size in {[*split.sizes]}:",
            f"    out, state = call(a, a + size, {names['state']}=state{by_chunk})[:2]",
            "    parts, a = [*parts, np.asarray(out)], a + size",
            f"whole = np.asarray(call(0, {n}{needed}){first})",
            f"print(abs(np.concatenate(parts, {axis}) - whole).max())  # parts, whole",
        ]

    def notes(self) -> list[str]:
        """What was seen on the way."""
        return self.passes.form.asker.notes()
