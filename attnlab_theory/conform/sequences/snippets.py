"""A counterexample of a cache as a few lines of Python."""

from collections.abc import Sequence

from attnlab_theory.conform.codes import framed
from attnlab_theory.conform.sequences.cached_layer import CachedLayerSuite
from attnlab_theory.conform.sequences.forms import BATCHES, LAYOUTS, SIZES
from attnlab_theory.conform.sequences.suite import Shown, named


def shown(suite: CachedLayerSuite, tokens: int, cuts: Sequence[int], seed: int) -> Shown | None:
    """A sequence that is cut, and the whole, in Python."""
    form = suite.form
    x = suite.draw(1 if seed == 3 else 2, tokens, seed)
    names = list(form.inputs) if len(x) == 3 else ["x"]
    flat = (len(x) * x[0].shape[0] * (2 if "h" in suite.layout else 1), tokens, suite.width)
    shape = ((3,) if len(x) == 3 else ()) + x[0].shape
    drawn = f"np.random.default_rng({seed}).standard_normal({flat}).astype('float32')"
    reshaped = f".reshape{shape}" if shape != flat else ""
    axis = LAYOUTS[suite.layout][2]
    piece = "[" + ":, " * axis + "a:b]"
    wrap = framed("{}", suite.framework)
    out = "np.asarray(o.detach())" if suite.framework == "torch" else "np.asarray(o)"
    flags = f", {form.flag}=True" * bool(form.flag and not suite.first_only)
    flags += f", {form.asks}=True" * bool(form.asks)
    start = named(suite.about.get("methods", {}).get(form.start), SIZES)
    sizes = {start: suite.long} if start else {}
    if name := named(suite.about.get("methods", {}).get(form.start), BATCHES):
        sizes[name] = x[0].shape[0]
    new = f"target.{form.start}({', '.join(f'{k}={v}' for k, v in sizes.items())})" if form.start else "None"
    new = ", ".join([new] * max(len(form.names), 1))
    slots = ", ".join("cd"[: len(form.names)] or "c")
    fed = ", ".join(f"{name}={slot}" for name, slot in zip(form.names, "cd", strict=False))
    args = ", ".join(wrap.format(name + piece) for name in names) + (f", {fed}" if fed else "") + flags
    if suite.masks or suite.places or form.flat or suite.first_only:
        return None
    got = f"o, {slots}" if form.returns and form.names else "o"
    if form.names and not form.start and not form.none:
        # The first call hands over no cache, as the suite's own.
        slots, new, got = "c", "()", "o, *c"
        args = ", ".join([*(wrap.format(name + piece) for name in names), f"**dict(zip({form.names}, c)){flags}"])
    step = f"target.{form.method}" if form.method else "target"
    all_at_once = "run()"
    if form.method and suite.calls_whole:
        all_at_once = f"np.asarray(target({', '.join(wrap.format(name) for name in names)}))"
    said = f"range({cuts[0]}, {tokens})" if [*cuts] == [*range(cuts[0], tokens)] else repr((*cuts,))
    return Shown(
        [
            f"{', '.join(names)} = {drawn}{reshaped}{LAYOUTS[suite.layout][1]}",
            "def run(*cuts):",
            f"    out, {slots} = [], {new}",
            f"    for a, b in zip((0, *cuts), (*cuts, {tokens})):",
            f"        {got} = {step}({args})",
            f"        out.append({out})",
            f"    return np.concatenate(out, {axis})",
            f"print(abs(run(*{said}) - {all_at_once}).max(), 'where 0 is right')",
        ]
    )
