"""Where forms of one recurrence have to agree, too: with strong decays and with none, in float32 and in float64."""

import numpy as np

from attnlab_theory.conform.finding import NOT_FINITE, Trouble, Verdict
from attnlab_theory.conform.linear.passes import COMPILED, Passes
from attnlab_theory.conform.suite import NOTHING, Said, Wrong, failed

DECAYS = ("strong", "none")


def decays(passes: Passes) -> Said:
    """Forms agree where all is forgotten at once, and where nothing is."""
    if not {"log decay", "decay"} & set(passes.form.axes):
        return NOTHING
    tried = 0
    for decay in DECAYS:
        for n in (17, 65, 130) if passes.lengths is not COMPILED else (65,):
            whole = passes.whole(n, decay=decay)
            tried += 1
            name = {"strong": "a decay by more than e^5 a step", "none": "no decay"}[decay]
            if whole.answer.trouble or not np.isfinite(whole.answer.output).all():
                wrong = whole.answer.trouble or Wrong("the output is no number", NOT_FINITE)
                return failed(wrong, f"{name}, {n} tokens: ", tried)
            if wrong := _forms_agree(passes, n, decay=decay):
                return failed(wrong, f"{name}, ", tried)
    return Said(Verdict.HOLDS, "more than e^5 a step, and none", tried)


def narrow(passes: Passes) -> Said:
    """In float32 all of it holds, too."""
    if passes.type == "float32":
        return NOTHING
    for tried, n in enumerate((17, 65), 1):
        if wrong := _forms_agree(passes, n, kind="float32"):
            return failed(wrong, tried=tried)
    return Said(Verdict.HOLDS, "17 and 65 tokens", 2)


def double(passes: Passes) -> Said:
    """Whether float64 is computed in float64, as far as that was seen before."""
    if passes.type == "float32":
        return NOTHING
    if passes.inside == "float32":
        return Said(Verdict.CONVENTION, "computed in float32: the same as for inputs in float32")
    for tried, n in enumerate((17, 65), 1):
        if wrong := _forms_agree(passes, n):
            return failed(wrong, tried=tried)
    line = passes.precision.line()
    return Said(Verdict.CONVENTION, line, 2) if line else Said(Verdict.HOLDS, "17 and 65 tokens", 2)


def _forms_agree(passes: Passes, n: int, **others: str) -> Trouble | Wrong | None:
    """What is wrong with the forms of one sequence."""
    whole = passes.whole(n, **others)
    if whole.answer.trouble:
        return whole.answer.trouble.of(f"{n} tokens")
    if "state" in passes.form.names and (wrong := passes.compared(whole, (n // 2, n - n // 2))):
        return wrong
    if "chunk" in passes.form.names:
        for size in (n, 1, 16):
            answer = passes.form.ask(whole.given, whole.case, chunk=size)
            if not answer.trouble and (wrong := passes.off(whole, answer.output)):
                return wrong._replace(line=f"in chunks of {size}, {wrong}")
    if passes.other is not None:
        answer = passes.other.ask(whole.given, whole.case)
        return answer.trouble or passes.off(whole, answer.output)
    return None
