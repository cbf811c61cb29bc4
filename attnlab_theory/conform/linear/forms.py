"""How a recurrence is called: its state, its chunks, and the arrays that it takes beside q, k, v."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.asking import (
    ADAPTER,
    Answer,
    Asker,
    named,
    parameters_of,
    refuse_unknown,
    shapes,
)  # fmt: skip
from attnlab_theory.conform.attention.layouts import has_batch, laid_out
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calls import Kept

ROLES: Mapping[str, tuple[str, ...]] = {
    "state": (
        "state", "initial_state", "recurrent_state", "hidden", "hidden_state", "h0", "s0", "memory", "carry",
        "past_state", "cache",
    ),
    "returns": ("output_final_state", "return_state", "return_final_state"),
    "chunk": ("chunk", "chunk_size", "block", "block_size", "chunk_len", "chunk_length"),
    "log decay": ("g", "gk", "log_decay", "log_g", "log_gate", "log_a", "log_alpha", "log_f", "log_gamma"),
    "decay": ("decay", "alpha", "gamma", "gate", "forget", "f", "lam", "a"),
    "beta": ("beta", "betas"),
}  # fmt: skip
"""What parameters are for, by their names."""

EXTRA = ("log decay", "decay", "beta")
"""Those that are numbers for each token."""

AXES = ("bht", "bhtd", "h", "")
"""The axes that such numbers may have; none is one number for all."""

OF_ANY = ("bhtd", "bthd", "btd", "td")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One sequence."""

    length: int
    batch: int = 2
    heads: int = 2
    width: int = 4
    value_width: int = 3
    kind: str = "float64"
    decay: str = "mild"
    """mild, strong or none."""
    strided: bool = False
    seed: int = 0


DRAWN: Mapping[str, Mapping[str, str]] = {
    "log decay": {"mild": "-{r}", "strong": "-5 - {r}", "none": "0 * {r}"},
    "decay": {"mild": "1 - 0.5 * {r}", "strong": "0.01 * {r}", "none": "1 + 0 * {r}"},
    "beta": dict.fromkeys(("mild", "strong", "none"), "0.1 + 0.8 * {r}"),
}
"""How numbers for each token are drawn, from uniform ones."""


def lines(case: Case, axes: Mapping[str, str]) -> list[str]:
    """The lines of numpy that draw q, k, v and the numbers of some roles.

    Keys have length one: with longer ones a delta rule grows without end, and nothing could be compared.

    Args:
        case: the sequence.
        axes: of the numbers, by role: [b h t d] in any case but `h`, for each head, and ``, one for all.
    """
    sizes = (case.batch, case.heads, case.length)
    found = [
        f"draws = [np.random.default_rng({10 * case.seed} + i) for i in range({3 + len(DRAWN)})]",
        f"q, k = (r.standard_normal({(*sizes, case.width)}) for r in draws[:2])",
        f"k, v = k / np.linalg.norm(k, axis=-1, keepdims=True), "
        f"draws[2].standard_normal({(*sizes, case.value_width)})",
    ]
    for place, (role, words) in enumerate(DRAWN.items(), 3):
        if role in axes:
            shape = {"h": (case.heads,), "": ()}.get(axes[role], (*sizes, case.width))
            drawn = words[case.decay].format(r=f"draws[{place}].random({shape})")
            found.append(f"{role.replace(' ', '_')} = {drawn}")
    return found


def arrays(case: Case) -> dict[str, np.ndarray]:
    """q, k, v [b h t d] and the numbers of every role, for each token and channel."""
    return _drawn(case, dict.fromkeys(DRAWN, "bhtd"))


def _drawn(case: Case, axes: Mapping[str, str]) -> dict[str, np.ndarray]:
    names: dict[str, Any] = {}
    exec("\n".join(lines(case, axes)), {"np": np}, names)
    return {name: np.asarray(names[name.replace(" ", "_")]) for name in (*"qkv", *axes)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Form:
    """One function that computes the recurrence, and how it is called."""

    asker: Asker
    names: Mapping[str, str]
    """Its parameters, by role."""
    axes: Mapping[str, str]
    """The axes of the numbers for each token, by role."""
    needs_state: bool = False
    needs_chunk: bool = False

    def ask(
        self,
        given: Mapping[str, np.ndarray],
        case: Case,
        *,
        state: Kept | None = None,
        keep: bool = False,
        chunk: int | None = None,
    ) -> Answer:
        """Make one call.

        Args:
            given: as `arrays` draws them, or a part of the tokens.
            case: the type, and whether arrays are strided.
            state: from an earlier call.
            keep: whether the state is to be kept for a later call.
            chunk: the size of chunks.
        """
        kind = np.dtype(case.kind)
        extra: dict[str, np.ndarray | Kept] = {}
        plain: dict[str, Any] = {}
        for role, axes in self.axes.items():
            if axes == "h":
                extra[self.names[role]] = _drawn(case, {role: axes})[role].astype(kind)
            elif axes:
                extra[self.names[role]] = self._laid_out(given[role], axes).astype(kind)
            else:
                plain[self.names[role]] = float(_drawn(case, {role: axes})[role])
        if state is not None:
            extra[self.names["state"]] = state
        elif self.needs_state:
            plain[self.names["state"]] = None
        if keep and "returns" in self.names:
            plain[self.names["returns"]] = True
        if chunk is None and self.needs_chunk:
            chunk = given["q"].shape[2]
        if chunk is not None:
            plain[self.names["chunk"]] = chunk
        return self.asker.ask(
            *(given[name].astype(kind) for name in "qkv"), named=extra, plain=plain, kind=case.kind,
            strided=case.strided, keep=(1,) if keep else (),
        )  # fmt: skip

    def fitted(self, case: Case) -> Case:
        """A case with the axes that the target has."""
        layout = self.asker.layout
        heads = case.heads if "h" in layout else 1
        return dataclasses.replace(case, batch=case.batch if has_batch(layout) else 1, heads=heads)

    def _laid_out(self, x: np.ndarray, axes: str) -> np.ndarray:
        return laid_out(x, self.asker.layout) if axes == "bhtd" else laid_out(x[..., :1], self.asker.layout)[..., 0]

    def lines(self) -> list[tuple[str, str]]:
        """How it is called, in words."""
        found = [("framework", self.asker.framework), ("layout", " ".join(self.asker.layout))]
        found += [(f"{role}", f"{self.names[role]} [{' '.join(axes)}]") for role, axes in self.axes.items()]
        return found + [(role, self.names[role]) for role in ("state", "chunk") if role in self.names]


def part(given: Mapping[str, np.ndarray], begin: int, end: int) -> dict[str, np.ndarray]:
    """Some of the tokens."""
    return {name: x[:, :, begin:end] for name, x in given.items()}


def form_of(caller: Caller, declared: Mapping[str, Any]) -> Form:
    """How a target is called: the first way in which tokens follow each other, and nothing else is mixed.

    Args:
        caller: of the target.
        declared: its layout and framework, where they are known.

    Raises:
        ValueError: if it can be called in no way.
    """
    rest, required = parameters_of(caller, 3)
    names = named(rest, ROLES)
    refuse_unknown(caller, required, names)
    frameworks = (declared["framework"],) if "framework" in declared else (*caller.about()["uses"], "numpy")
    layouts = (declared["layout"],) if "layout" in declared else OF_ANY
    roles = [role for role in EXTRA if role in names]
    said: list[str] = []
    first: Form | None = None
    for framework, layout in itertools.product(frameworks, layouts):
        for axes in itertools.product(AXES, repeat=len(roles)):
            if "h" not in layout and "h" in axes:
                continue
            form = Form(
                asker=Asker(caller, framework, layout),
                names=names,
                axes=dict(zip(roles, axes, strict=True)),
                needs_state=names.get("state") in required,
                needs_chunk=names.get("chunk") in required,
            )
            for heads in (3, 1):
                case = form.fitted(Case(length=5, heads=heads, kind="float32"))
                answer = form.ask(given := arrays(case), case)
                if answer.trouble:
                    said.append(f"{shapes([given[x] for x in 'qkv'], layout)}: {answer.trouble}")
                elif _follows(form, given, case, answer.output):
                    return form
                else:
                    first = first or form
    if first is not None:
        return first
    raise ValueError(
        f"{caller.name} answered no trial call. {'; '.join(dict.fromkeys(said[:2]))}. "
        f"Say --layout or --framework, or {ADAPTER}"
    )


def _follows(form: Form, given: Mapping[str, np.ndarray], case: Case, output: np.ndarray) -> bool:
    """Whether the first token moves later ones, and the first batch element or head moves no other."""
    for axis, mixes in ((2, True), (0, False), (1, False)):
        if output.shape[axis] < 2:
            continue
        other = {name: x.copy() for name, x in given.items()}
        other["v"][(slice(None),) * axis + (0,)] += 10
        answer = form.ask(other, case)
        moved = np.delete(np.abs(answer.output - output) > 1e-3, 0, axis) if not answer.trouble else np.ones(1)
        if bool(moved.any()) != mixes:
            return False
    return True
