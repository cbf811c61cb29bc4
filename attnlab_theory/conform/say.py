"""Sentences: what was found of a declared kind, in English."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Convention, Uncallable
from attnlab_theory.conform.finding import ANOTHER_ANSWER, Fault, Finding, Trouble, Verdict
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Kind
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.templates import advice, command

TITLES = {
    "layout": "layout",
    "features": "features",
    "normaliser": "normaliser",
    "scale": "scale of queries",
    "floor": "added to features",
    "added": "added to the normaliser",
    "at least": "the normaliser is at least",
    "causal": "hides the future",
    "mask": "mask",
    "alignment": "more keys than queries",
    "more keys": "more keys than queries",
    "future": "keys after the query",
    "sharing": "head h reads the keys",
    "shift": "added to the scores",
    "own key": "a token weighs itself",
    "left over": "what no key takes",
    "norm": "each head is divided by",
    "fewer keys": "fewer keys than are kept",
    "heads": "heads",
    "width": "width",
    "vocabulary": "vocabulary",
    "looks back": "the token before moves logits by so many tolerances",
    "method": "step",
    "first place": "where tokens stand",
    "places": "where tokens stand",
    "step mask": "hides the future by",
    "first only": "hides the future",
    "hides_future": "what comes after a token",
    "order": "tokens in another order",
    "type": "judged in",
    "inside": "computed in",
    "pairs": "pairs",
    "first": "first of each pair",
    "turning": "channels that turn",
    "own width": "width",
    "direction": "direction",
    "kernel": "kernel",
    "source": "randomness",
    "scale of all": "vectors are multiplied by",
    "row 0": "row 0 stands at",
    "base": "base",
    "counted": "exponents",
    "divided": "positions are divided by",
    "powers": "frequencies are powers of about",
    "frequencies": "frequencies",
}
"""What a convention is called in a profile."""

CHOICES = {
    ("kernel", "softmax"): "exp(scale q.k)",
    ("kernel", "gaussian"): "exp(-scale |q - k|^2 / 2)",
    ("source", "int"): "a whole number",
    ("source", "numpy"): "a numpy Generator",
    ("source", "torch"): "a torch Generator",
    ("source", "jax"): "a key",
    ("direction", 1): "(a, b) to (a cos - b sin, a sin + b cos)",
    ("direction", -1): "the other way",
    ("row 0", 0.0): "0",
    ("base", 0.0): "of its own",
    ("counted", "whole"): "over the whole width",
    ("counted", "all but one"): "the last pair reaches 1 / base",
    ("alignment", "end"): "end: last query stands at the last key",
    ("alignment", "start"): "start: query 0 stands at key 0",
    ("future", "-inf"): "hidden (-inf)",
    ("future", "finite"): "hidden by a finite number",
    ("future", "ramp"): "higher still: a causal mask has to hide them",
    ("future", "symmetric"): "lower with the distance, as past ones",
    ("future", "zero"): "no bias",
    ("future", ""): "no rule that is known",
    ("features", "elu"): "elu: elu(x) + 1, Katharopoulos et al. 2020, eq. (7)",
    ("features", "relu"): "relu: max(x, 0), Choromanski et al. 2021, generalised attention",
    ("features", "exp"): "exp: exp(x), Choromanski et al. 2021, generalised attention",
    ("features", "identity"): "identity: x, Schlag et al. 2021; ONNX's operator",
    ("features", "softmax"): "softmax: softmax over the channels, after Shen et al. 2018",
    ("features", "efficient"): (
        "efficient: softmax over the channels of q, over the tokens of k, Shen et al. 2018"
    ),
    ("normaliser", True): "yes",
    ("normaliser", False): "no",
    ("sharing", "neighbours"): "h // (heads / groups) (neighbours share)",
    ("sharing", "interleaved"): "h % groups (interleaved)",
    ("scale", "content"): "1/sqrt(width), without the turned channels",
    ("shift", "none"): "nothing",
    ("shift", "-log keys"): "-log of the number of keys",
    ("shift", "-log seen"): "-log of the number of keys that a query sees",
    ("own key", "never"): "no",
    ("left over", "lost"): "is lost",
    ("left over", "own value"): "goes to the token's own value",
    ("norm", "none"): "nothing",
    **{("norm", x): f"its root mean square, with {x:g} added to the square" for x in (0.0, 1e-8, 1e-6, 1e-5)},
    ("fewer keys", None): "taken",
    ("scale", "one"): "1",
    ("scale", "rsqrt"): "1/sqrt(width)",
    ("scale", "inverse"): "1/width",
    ("added", 0.0): "nothing that is seen",
    ("more keys", None): "taken",
    ("first only", True): "at the beginning only: with a past it hides the wrong keys",
    ("first place", "one"): "is told, of the first one",
    ("places", "t"): "is told, [t]",
    ("places", "bt"): "is told, [b t]",
    ("hides_future", True): "hidden",
    ("hides_future", False): "is seen: say --causal if it should not be",
    ("order", "same"): "give the same outputs in that order",
    ("order", "matters"): "give others: positions matter",
    ("causal", "never"): "no",
    ("mask", "bool-keep"): "True keeps a key",
    ("mask", "bool-drop"): "True drops a key",
    ("mask", "ones-keep"): "1 keeps a key",
    ("mask", "ones-drop"): "1 drops a key",
}
"""What a value of a convention means."""

REFUSED = {
    "projects": (
        "is a module that projects, by {learns}. Write an adapter that makes it for any width, with identity "
        "projections: {template}"
    ),
    "another kind": ": it must be given {parameter}: judge it --as {judged}, or {adapter}",
    "unknown": ": nobody knows what to give for {parameter}; {adapter}",
    "other inputs": ": it takes {takes}{only}, but is called as f({placed}); {adapter}",
    "lacks role": "has no argument for a {role}, such as {known}; {adapter}",
    "one way": "has no argument for {either}: say --against FILE.py::FUNCTION, another form of it, or {adapter}",
    "vocabularies": "has {one} token ids, and the other {other}: --against compares those of one vocabulary",
    "no cache": "has no parameter for a cache; {adapter}",
    "looks not back": "has no parameter for a cache, and a token does not look back at an earlier call; {adapter}",
    "training": "draws random numbers in training mode: two equal calls differ; hand over module.eval()",
    "no choice": ": --{convention} is {choices}, not {value}",
    "unexplained": (
        ": its {convention} are none of {values}; the nearest, {value}, is off by {residual:.2g} of the output. "
        "Say --{convention} to judge it by one of them"
    ),
    "no value": ": --{convention} {value} is not known here; it is {values}",
    "nothing": "takes no arguments; {adapter}",
    "hidden": "shows no arguments; {adapter}",
}
"""Why a target cannot be judged, and the remedy, after its name."""

SHOWN = "a score of {fill:g} shows a hidden key, {down:g} does not"

FACTS = {
    "sums": "with q = k = 0 rows sum to {least:.3g} to {most:.3g}, and not to one, as with a sigmoid or dropout",
    "sums below one": (
        "with q = k = 0 rows sum to {least:.3g} to {most:.3g}, and not to one, "
        "as with a sink (a key without a value) or a sigmoid"
    ),
    "hides all": "no query sees what comes after it: judge it --as causal",
    "aligned in no way": "{queries} queries stand neither at the first nor at the last of {keys} keys",
    "window beside flag": "{name}=3 beside {flag}=True hides another thing",
    "unlike": "{name}: weights do not follow it",
    "unlike it": "weights do not follow it",
    "unlike what": "{name}: weights do not follow it, where {line}",
    "listed": "{what}",
    "declared": "{what} (declared)",
    "called as": "f({order}), by the names of its parameters",
    "off": "off, by {what}",
    "true by default": "True by default, and False where nothing is hidden",
    "idle": "{what} where nothing is asked",
    "died once": "failed once, and was answered when it was made again",
    "multiples": "multiples of {multiple}; others refused: {why}",
    "same width": "must be as wide as keys",
    "rests": "{usual} by default, and {value} where it is not asked",
    "never rests": "{usual} by default, and no value that was tried switches it off",
    "by": "by {name}",
    "always": "always",
    "alignment": "{what}",
    "layout": "{axes}",
    "hides another thing": "hides something else than the future",
    "aligned apart": "{one}, and the window {other}",
    "hides the future": "hides the future: {what}",
    "interleaved": "h % groups (interleaved)",
    "neighbours": "h // (heads / groups) (neighbours share)",
    "window": "{meaning}",
    "taken": "taken",
    "not taken": "not taken",
    "scale": "{what}",
    "mask": "{meaning}",
    "refused together": "refused together",
    "padding": "{mask} (guessed)",
    "lengths that count": "keys that count (guessed)",
    "not judged": "not judged",
    "another layout": "not judged: documents see themselves alone with --layout {layout}",
    "not judged beside": "not judged beside a hidden future: {line}",
    "segments": "equal numbers see each other",
    **dict.fromkeys(("ends", "query ends"), "documents see themselves alone"),
    "sinks": "the score of one more key of each head, whose value is 0",
    "slopes": "scores fall by it with the distance",
    "second": "weights",
    "weight": "{tokens} tokens: query {query} gives key {key} the weight",
    "lengths": "lengths {lengths}",
    "infinite bias": "minus infinity gives NaN",
    "of type": "{type}: {line}",
    "hidden key": "with scores of {fill:g} in {type} a hidden key gets the weight {weight:.2g}",
    "finite fill": f"finite: {SHOWN}",
    "no fill": "scores down to {down:g} below a hidden one were tried",
    "no numbers": "its scores are no numbers",
    "early refused": "{queries} queries, {keys} keys",
    "from the start": "query 0 sees key 0: other than where there are more keys",
    "early mean": "a query before the first key is the mean of all values: it reads what comes after it",
    "leak": "a leak: query {query} of {tokens} moves by {most:.2g} when keys and values from {cut} on are replaced",
    "futures": "{n} futures replaced",
    "early reads": "a query before the first key reads every key",
    "early unknown": "a query before the first key is {row}, no outcome known",
    "early differs": "a query before the first key is {one} in one call, {other} in another",
    "none early": "every query sees a key",
    "early": "a query before the first key gives {what}",
    "reach": "reaches the output: {reach}",
    "harmless": "harmless",
    "blind": "{what}",
    "blind in": "in {type} {what}",
    "blind under padding": (
        "row {row}, whose own keys are all padding, moves with the values of other keys: "
        "it reads what comes after it"
    ),
    "beside a blind row": "beside a row that sees nothing",
    "blind unknown": "a row that sees nothing is {row}, which is no outcome known",
    "blind differs": "a row that sees nothing is another thing for other scores",
    "blind reads": "a row whose own keys are all masked is {what}: it reads what comes after it",
    "takes long": "{times} calls take more than the seconds of one call: see --call-seconds",
    "other bits": "call {call} of {times} gives other bits than the first",
    "repeated": "the same bits each time",
    "overwritten": "the next call writes into the output of the one before",
    "outputs stay": "after another call",
    "flag refused": "{name}={value}",
    "flag": "{name}={value} at {tokens} tokens gives another answer",
    "flag after": "{name}=False after it was True gives another answer than before it",
    "flag ignored": "{name}=False hides the future, or does something else that it does not say",
    "both orders": "True and False in both orders",
    "after refusal": "after a call that was refused",
    "wider keys refused": "keys of another width are refused",
    "wider keys answered": "keys of another width are answered",
    "after another object": "after a call of a second object of the class",
    "another object": "a second object of the class",
    "two objects": "two objects of the class",
    "of nothing": "{name}: {what}",
    "unknown second": "{shape} is neither weights nor a logarithm of the sum of exponentials",
    "sum": "the logarithm of the sum of exponentials",
    "sum in base 2": "the logarithm of the sum of exponentials, in base 2",
    "sum of hidden": "the logarithm of the sum of exponentials counts hidden keys",
    "wrong sum": "the logarithm of the sum of exponentials is off by {off:.3g}",
    "refused with": "refused with gradients",
    "modes": "under no_grad another answer than with gradients, {ratio:.3g} tolerances apart",
    "blind modes": "a row that sees nothing is {one} under no_grad, and {other} with gradients",
    "one mode": "the same under no_grad, {ratio:.2g} of both tolerances apart",
    "contradicted there": "there: {identity}: {finding}",
    "only one": "only {where}",
    "apart": (
        "{here:.7g} here, {there:.7g} there, {right:.7g} is right, {ratio:,.3g} times both tolerances apart, "
        "at [b h t e] = {place}"
    ),
    "nothing alike": "none of {others} calls means the same to both",
    "together": "at most {ratio:.2g} of both tolerances apart; {others} calls mean another thing there",
    "differs": "{name}: {one} here, {other} there",
    "refused there": "{name}: refused {where}",
    "gradients sometimes": "no gradients, and not in other calls",
    "gradients": "largest error {ratio:.2g} of its tolerance",
    "NaN gradients": "a row that sees nothing is NaN, and so are gradients of other rows",
    "blind gradients": "a row that sees nothing is {what}, and makes gradients NaN that do not depend on it",
    "no gradients": "no gradients",
    "uneven": "one of {count} draws makes {share:.0%} of their variance, which no formula tells",
    "kernel": (
        "{width:.2g} of it would be seen; a scale that is wrong by less than {pass:.0%} could pass; "
        "false alarms {about}{alpha:g}"
    ),
    "no kernel": "the mean of draws is {given:.4g}, and the kernel is {right:.4g}, for q = {q}, k = {k}",
    "variance": "{shares} of that of independent features; false alarms about {alpha:g}",
    "variance too large": (
        "{number} features have the variance of {like:.3g} independent ones; false alarms about {alpha:g}"
    ),
    "signs": "{width:.2g} of the kernel would be seen; false alarms {about}{alpha:g}",
    "no signs": (
        "on the axes, phi(x) . phi(x) and phi(-x) . phi(-x) are apart by {gap:.2g} of the kernel in the mean of "
        "{count} draws: the signs of projections are not random"
    ),
    "small": "the mean of {count} estimates is {given:.2g}, and the kernel is {right:.2g}",
    "floor": (
        "the mean of {count} estimates is {given:.2g}, and the kernel is {right:.2g}; all are above it, so "
        "features have a floor"
    ),
    "count": "{asked} are asked for, and {come} come",
    "all seeds alike": "all seeds give the same estimate",
    "uncorrelated": "a correlation of {width:.2g} would be seen; false alarms about {alpha:g}",
    "correlated": "estimates by two seeds have the correlation {given:.2f}",
    "rows apart": "beside longer rows",
    "rows together": "a row has other features beside other rows",
    "one factor": (
        "a row has other features beside other rows: all by one factor, as a maximum that is subtracted does"
    ),
    "long rows": "rows of length 10 and more: {first}",
    "scatters": (
        "outputs scatter by {scatter:.2g}, where values are at most {largest:.2g}; with few tokens they do not"
    ),
    "elsewhere": (
        "the mean of {count} draws goes {way:.0%} of the way from the mean of the values to softmax attention "
        "(chance makes {chance:.0%}): the scale, the kernel, a sum or the law of the draws is wrong"
    ),
    "mean of outputs": "the mean of {count} draws is {given:.4g}, and softmax attention gives {right:.4g}",
    "infinite variance": (
        "the mean of {count} draws goes {way:.0%} of the way from the mean of the values to softmax attention "
        "(chance makes {chance:.0%}). Few draws make most of what outputs scatter: of infinite variance, right "
        "features do so"
    ),
    "scatters too much": "outputs scatter so much that a scale which is wrong by {pass:.0%} could pass",
    "approximates": "{width:.2g} would be seen; a scale that is wrong by less than {pass:.0%} could pass; {alarms}",
    "alarms": "false alarms about {alpha:g}",
    "alarms unknown": (
        "how often a right program fails is not known, for few draws make most of what outputs scatter"
    ),
    "does not shrink": "errors by {counts} features are {errors}: they do not fall",
    "too few draws": "errors by {counts} features are {errors}: too few draws",
    "shrinks": "errors by {counts} features are {errors}; {alarms}",
    "values of one": "values of one do not give one",
    "ones": "to {worst:.1g}",
    "another order": "keys in another order, with their values, give the last query another output",
    "any order": "keys in another order, with their values, give the last query the same",
    "seed ignored": "another seed gives the same numbers",
    "no seed": "its random numbers follow no seed that can be set from outside",
    "seeded": "the same seed the same bits, another seed others",
    "channels apart": "rate {rate:g}: two equal channels of values give other outputs: no weight is dropped",
    "dropped is not 0": "rate {rate:g}: a dropped weight is {given:.3g} and not 0",
    "kept are unlike": "rate {rate:g}: weights of equal scores that are kept are not alike",
    "nothing dropped": "rate {rate:g}: nothing is dropped",
    "zeros": "zeros, and the rest of each row alike",
    "factor": "rate {rate:g}: what is kept is multiplied by {given:.4g}, and 1 / (1 - rate) is {right:.4g}",
    "both factors": "at some rates rows sum to one, at others they do not",
    "before": "rows sum to one: dropped before the softmax, and the mean is another",
    "after the softmax": "after the softmax: 1 / (1 - rate)",
    "share": "rate {rate:g}: the share dropped is {given:.4g}, by an error rate of {alpha:.1g}",
    "share of key": "rate {rate:g}: key {key} is dropped with the share {given:.3g}",
    "shares": "rates {rates}: a rate off by {radius:.2g} would be seen; false alarms {alpha:g}",
    "dependent": "rate {rate:g}: {pair} agree in {given:.3f} of their weights, where chance gives {right:.3f}",
    "one mask": "one mask for {pairs}, as {parameter} says",
    "independent": "batch, heads, queries, keys, seeds; {radius:.2g} would be seen; false alarms {alpha:g}",
    "no sum": "rate {rate:g}: an output of {given:.4g} is no sum of weights",
    "mean": "rate {rate:g}: the mean of draws is {given:.4g}, and softmax attention gives {right:.4g}",
    "means": "of {count} draws; {radius:.2g} would be seen; false alarms {alpha:g}",
    "rate 1": "{first}",
    "pairs": "{pairs} pairs of channels",
    "width": "the width is {width}",
    "odd width": "an odd width gives {first}",
    "table alone": "gives the table alone",
    "times": "tokens times {times:.4g} are added",
    "moves": "with tokens of 2 in place of 0 its numbers move by {least:.4g} to {most:.4g}",
    "no channel turns": "no channel turns: the answer is the same at all positions",
    "other pairs": "channels do not turn in the pairs that are declared",
    "longer": "frequencies fall when position {last} is in the same call: keys that a cache keeps no longer fit",
    "one width": "one width: {own}; refused: {others}",
    "one table": "one table, of {own} channels: vectors of {widths} turn by its frequencies, again and again",
    "widths": "widths {widths}: largest error {ratio:.2g} of its tolerance",
    "widths refused": "widths {widths}: largest error {ratio:.2g} of its tolerance; refused: {others}",
    "widths still": "widths {widths}: largest error {ratio:.2g} of its tolerance; nothing turns of {still}",
    "after": "after {type}",
    "no whole": "it takes one token at a time only: there is no whole to compare with",
    "one at a time": "a cache takes one token at a time",
    "full": "full after {tokens} tokens, and says so",
    "overfull": "a cache for {size} tokens is fed {tokens}, and has to refuse",
    "grows": "it grows",
    "mixed": "two sequences with a cache each, fed in turn, mix",
    "objects": "two objects of the class, fed in turn, mix",
    "one place": "what is handed back is one place, so a single cache lives in the target: two sequences mix",
    "one order": "what is handed back is one place, so a single cache lives in the target: its rows stay",
    "in place": "a cache is updated in place: an old one cannot be used once more",
    "used again": "an old cache can be used once more",
    "rows": "rows {rows} of a cache of {batch}, as beam search has them",
    "reordered": "rows {rows} of a cache of {batch} do not go on as these sequences do",
    "not tried": "not tried",
    "no lengths": "not tried: it takes neither lengths nor a mask of keys for each row",
    "stand elsewhere": "not tried: tokens of one row stand elsewhere, which nothing says",
    "keeps its place": "{way}: it is not what it is alone; the padding may keep its place in the cache",
    "unequal refused": "{way}: rows of different lengths are refused",
    "padding moves": "one of two rows has {padded} positions less ({way}), and moves with what is not there",
    "row alone": "one of two rows has {padded} positions less ({way}): a row is not what it is alone",
    "positions count": "{way}: positions count the padding",
    "of no use": "a cache is of no use after a step that was refused",
    "changed": "a step that was refused has changed the cache",
    "hardly": "it hardly looks back ({power:.2g} tolerances): give it larger weights",
    "padding ids": "logits of real tokens move with the ids of padding at the {side}{why}",
    "beside padding": "a row without padding moves beside one that is padded",
    "padded": "real tokens, padded at the {side}, are not what they are alone",
    "positions count padding": "positions count the padding",
    "padded steps": "padded at the left, in steps",
    "no mask in steps": "a step takes no mask",
    "one alone": "{asked}: only {where}",
    "against": "{asked}",
    "way": "rows of different lengths, by {way}",
    "goes otherwise": "the same sequence goes otherwise later",
    "explained": "a convention explains the trial call",
    "unexplained": "no convention that is known explains the trial call",
    "again": "the same bits, also after other calls",
    "last bits": "equal calls differ in the last bits",
    "refused lengths": "{lengths} tokens",
    "narrow": "computed in float32: {excess:,.2g} tolerances of float64, within those of float32",
    "inside": "computed in float32: the same as for inputs in float32",
    "slope": "{given:.6g} along a direction of {operand} where differences give {slope:.6g}, {off:.3g} tolerances",
    "not beside": "not judged beside a window, a cap or a bias that is always there",
    "unused": "NaN where nothing was written yet reaches the output",
    "untouched": "no call writes into what it is given",
    "empty batch": "an empty batch is given back",
    "refused": "refused",
    "loose": "tolerances exceed the range of the values",
    "unexplained parameter": "outputs do not follow {parameter}, whether it means {values}",
    "blind row": "{value:.3g} where all features of a query are 0",
    "state again": "a state can be continued twice",
    "state shape": "its shape depends on the parts: {one}, {other}",
    "state is used up": "a state is used up by the call that continues it",
    "normaliser": (
        "values of one give {given:.4g} where the normaliser is {size:.3g}, which nothing added to it explains"
    ),
    "slopes rise": "one of {heads} heads has the slope {least}: far keys get no less",
    "slopes are equal": "two of {heads} heads have the same slope: {some}",
    "slopes of its own": "{heads} heads: slopes of its own, {some}",
    "slopes in another order": "{heads} heads: the published slopes in another order, {some}",
    "ties": "of equal scores neither as many are kept as should be, nor all, or their weights differ",
    "tied": "of equal scores {what}",
    "chosen": "{first}",
    "changes": "{title}: {first} once, then {then}",
}
"""What was found beside numbers, by its key."""


OUTCOMES = {
    "mean": "the mean of what is hidden",
    "softmax": "the softmax of what is hidden",
    "mean of what the mask hides": "the mean of what the mask alone hides",
    "softmax of what the mask hides": "the softmax of what the mask alone hides",
    "mean of all": "the mean of all values",
    "softmax of all": "the softmax of everything",
    "own": "its own value",
    "unknown": "no outcome known",
    "numbers": "other numbers",
    "empty": "an empty output",
    "nan keys": "nan in a key",
    "nan values": "nan in a value",
    "infinite keys": "infinity in a key",
    "infinite values": "infinity in a value",
}
"""What becomes of a row of which nothing is right, and where a number is that nobody should see."""


MOST_FREQUENCIES = 8
"""So many frequencies are told: those of a trial call are fewer."""


def choice(name: str, value: Any) -> str:
    """A value of a convention."""
    if isinstance(value, Trouble):
        return f"refused: {value}"
    if name == "layout":
        return " ".join(value)
    if name == "frequencies":
        return ", ".join(f"{x:.3g}" for x in value[:MOST_FREQUENCIES]) + ", …" * (len(value) > MOST_FREQUENCIES)
    return CHOICES.get((name, value), f"{value:g}" if isinstance(value, float) else str(value))


def uncallable(name: str, kind: Kind, error: Uncallable, named: str = "", uses: Sequence[str] = ()) -> str:
    """Why a target cannot be judged, and the remedy, by the name of its kind and the frameworks that it uses."""
    adapter = advice(named, uses)
    if not error.fact:
        such = "; ".join(map(str, error.troubles[:2]))
        if all(each.costs for each in error.troubles):
            return f"{name}: {len(error.troubles)} trial calls hung. {such}"
        more = "Say --layout or --framework, or " if kind.placed else ""
        return f"{name} answered no trial call, such as {such}. {more}{adapter}"
    about = {x: ", ".join(y) if isinstance(y, list | tuple) else y for x, y in error.about.items()}
    about |= {"adapter": adapter, "template": command(named, "torch"), "placed": ", ".join(kind.placed)}
    if role := error.about.get("role"):
        about["judged"] = {"window": "sliding-window"}.get(role, role)
        about["known"] = " or ".join(OPERANDS[role].spellings[:3:2])
    if by_name := about.get("by_name", ""):
        by_name = f" and, by name only, {by_name}"
    about |= {"only": by_name, "either": " or for ".join(f"a {each}" for each in error.about.get("ways", ()))}
    if convention := about.get("convention"):
        stages = [each for stage in kind.stages for each in (stage.forms, stage.choices)]
        values = next((x[convention] for x in stages if convention in x), ())
        operand = OPERANDS.get(convention) if error.fact == "no value" else None
        values = ", ".join((*operand.meanings, "none") if operand else () if callable(values) else values)
        about["values"] = " or ".join(values.rsplit(", ", 1)) if error.fact == "no value" else values
    words = REFUSED[error.fact].format(**about)
    return name + " " * (not words.startswith(":")) + words


def profile(found: Convention, kind: Kind, declared: Mapping[str, Any], gives: str = "") -> list[tuple[str, str]]:
    """How a target is called, a name and what was found each. What is handed no type says which it gives."""
    lines = [("framework", found.framework)]
    if found.told:
        mark = "declared" if "layout" in declared else "guessed"
        lines.append(("layout", f"{' '.join(found.layout)} ({mark})"))
        return lines + [(title, _found(title, fact, about)) for title, fact, about in found.told]
    if not found.layout:
        lines.append(("gives", f"[{' '.join(found.gives(kind.axes))}], {gives}"))
    named = {role: name for role, name in found.names.items() if role not in kind.placed}
    if plain := [f"{name} ({role})" for role, name in named.items() if not OPERANDS[role].axes]:
        lines.append(("arguments by name", ", ".join(plain)))
    if found.residual > kind.near and not kind.declare and kind.right:
        return lines
    for name, value in found.chosen.items():
        role = name.removesuffix(" axes")
        title = named.get(role) if OPERANDS.get(role) and OPERANDS[role].meanings else TITLES.get(name)
        if role != name:
            lines.append((role, f"{named[role]} [{' '.join(value)}]"))
        elif title and name not in found.idle and (value or (name, value) in CHOICES):
            said = f"by {named[name]}" if value == "asked" else choice(name, value)
            lines.append((title, f"{said} (declared)" if name in declared else said))
    if found.steps is not None:
        stands = [f"{named[role]} of 0" for role in ("first place", "places") if role in named]
        inside = f"inside the object, begun by {found.steps.begins or next(iter(stands), '')}"
        held = ", ".join(found.kept) + "; it is changed in place" * (not found.keeps) if found.kept else inside
        lines.append(("cache", held if found.chosen["has cache"] else "none"))
    return lines


ENDS = {
    "end": "end: last query sees the last key",
    "start": "start: query 0 sees key 0 only",
    "refused": "square: refused",
    "neither": "square: neither of the two",
}
"""How a hidden future stands to more keys than queries."""

WORDS = {
    "bool-keep": "True keeps",
    "bool-drop": "True drops",
    "additive": "numbers are added",
    "ones-keep": "1 keeps, 0 drops",
    "ones-drop": "1 drops, 0 keeps",
}
"""What a mask means."""


def _found(title: str, fact: str, about: Mapping[str, Any]) -> str:
    """What was found of a convention that is told."""
    said = _fact(fact, about, None)
    if fact == "window" and about["pair"]:
        said += f", handed over as {about['pair']}"
    if fact == "padding":
        said = "True hides (guessed)" if about["mask"] == "bool-drop" else f"{WORDS[about['mask']]} (guessed)"
    if fact == "mask":
        axes = " ".join(about["shape"].replace("-", ""))
        said = (
            WORDS[said]
            + f", as [{axes}]" * (axes != "t s")
            + (" (declared)" if about["is_declared"] else " (guessed)")
        )
    if fact in ("alignment", "hides the future"):
        words = ENDS.get(about["what"], "as many keys")
        said = words if fact == "alignment" else f"hides the future: {words.partition(': ')[2] or words}"
    return said


def brief(found: Finding) -> str:
    """What of a convention is worth a cell of a table, where that is less than its line: the choice alone."""
    if found.verdict is not Verdict.CONVENTION:
        return ""
    if found.trouble is not None and found.trouble.refuses and found.fact in ("", "refused"):
        return "refused"
    if found.fact in ("narrow", "inside"):
        return "computed in float32"
    if found.fact == "reach":
        whose = "keys and values" if {"nan keys", "infinite keys"} & {*found.about["reach"]} else "values"
        return f"reaches the output from {whose}"
    parts = [about for fact, about in found.about.get("parts", ()) if fact == "of type"]
    shown = {x["type"]: x["line"] for x in parts if x["trouble"] is None and x["line"][0] == "finite fill"}
    return "; ".join(f"{kind}: {SHOWN.format(**about)}" for kind, (_, about) in shown.items())


def line(found: Finding, judge: Judge) -> str:
    """What became of an identity."""
    said = _fact(found.fact, found.about, judge) if found.fact else ""
    call = f"; the call: {judge.convention.call(found.case)}" if found.case else ""
    if found.verdict is Verdict.NOT_JUDGED:
        said = said or FACTS["loose"]
        return f"{said}: {found.trouble}" if found.trouble else said
    if found.verdict is Verdict.FAILS:
        counts = found.failures and found.tried > 1 and not said and not found.beside
        many = f"{found.failures} of {found.tried}: " if counts else ""
        if only := found.about.get("only"):
            said = f"where only {', '.join(only)} need{'s' * (len(only) == 1)} gradients"
        says_all = found.trouble is not None and found.trouble.is_unsure | (found.trouble.fault is Fault.FUTURE)
        wrong = [said] * bool(said)
        if (found.number and "statistic" not in found.about) or (found.trouble and not (said and says_all)):
            wrong.append(_wrong(found, judge.kind.axes))
        half = f"in {found.about['in']} " if "in" in found.about else ""
        return f"{many}{half}{': '.join(wrong)}{call}"
    if found.trouble is not None and found.trouble.fault is not Fault.NOT_FINITE:
        where = (
            f"{judge.convention.call(found.case)} is "
            if found.case
            else f"{said}: "
            if said not in ("", "refused")
            else ""
        )
        return f"{where}refused: {found.trouble}" if said != "no gradients" else f"{said}: {found.trouble}"
    few = f"; {found.loose} not judged" if found.loose else ""
    said = said or f"largest error {found.ratio:.2g} of its tolerance{few}"
    about = found.about
    said += "".join(f"; {_fact(fact, facts, judge)}" for fact, facts in about.get("more", ()))
    if unseen := about.get("unseen"):
        infinite = np.isinf(unseen)
        said += (
            "; no error of the scale would show"
            if infinite
            else f"; a scale wrong by less than {unseen:.0%} would hold"
        )
    said += f"; {about['rule']:.2g} of what flash-attention's rule allows" if "rule" in about else ""
    if refused := about.get("refused"):
        said += "; refused: " + "; ".join(f"{words}: {trouble}" for words, trouble in refused)
    return said


def _wrong(found: Finding, axes: str) -> str:
    if found.trouble is ANOTHER_ANSWER:
        return "the same call gives another answer after other calls"
    if found.trouble is not None and found.trouble.fault is Fault.WROTE:
        return "a call writes into its input"
    if found.number is None:
        assert found.trouble is not None
        return str(found.trouble)
    number = found.number
    ratio = abs(number.given - number.right) / number.most if number.most else np.inf
    off = f", {ratio:,.3g} tolerances off" if np.isfinite(ratio) else ""
    name = f"the gradient of {found.about['of']} is " if "of" in found.about else ""
    less = f", counted from {[*number.origin]}" if number.origin else ""
    where = f"at [{' '.join(axes[: len(number.place)])}] = {[*number.place]}{less}"
    if found.beside and found.case and found.case.edits != found.beside.edits:
        return f"{number.right:.7g} moves to {number.given:.7g}{off}, {where}"
    right = "is what the whole gives" if found.beside else "is right"
    return f"{name}{number.given:.7g} where {number.right:.7g} {right}{off}, {where}"


def _fact(fact: str, facts: Mapping[str, Any], judge: Judge | None) -> str:
    """A fact, with its data."""
    if fact == "parts":
        return "; ".join(_fact(each, about, judge) for each, about in facts["parts"])
    about = {name: _said(x, judge) for name, x in facts.items()}
    if name := facts.get("convention"):
        about |= {"title": TITLES[name]} | {
            key: choice(name, facts[key]) for key in ("first", "then") if key in facts
        }
    if isinstance(facts.get("values"), tuple):
        about["values"] = " or ".join(facts["values"])
    if "slopes" in facts:
        numbers = facts["slopes"]
        about["least"] = f"{min(numbers):.4g}"
        about["some"] = ", ".join(f"{x:.4g}" for x in numbers[:4]) + ", ..." * (len(numbers) > 4)
    if trouble := facts.get("trouble"):
        return f"{FACTS[fact].format(**{**about, 'what': 'refused', 'line': 'refused'})}: {trouble}"
    said = FACTS[fact].format(**about)
    if facts.get("reach") and fact != "reach":
        said += f"; NaN by {about['reach']}".replace("nan in a", "NaN in a hidden")
    return said + "; q, k and v are one tensor" * bool(facts.get("shared"))


def _said(value: Any, judge: Judge | None) -> Any:
    """A datum of a fact, where it is none that is written as it is."""
    if isinstance(value, Finding) and judge is not None:
        return line(value, judge)
    if isinstance(value, str):
        return OUTCOMES.get(value, value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping):
        return _fact(value[0], value[1], judge) if value[0] else ""
    if isinstance(value, tuple) and value and not isinstance(value[0], tuple | float):
        return ", ".join(OUTCOMES.get(x, str(x)) for x in value)
    return value


def notes(judge: Judge) -> list[str]:
    """What was seen on the way."""
    found = [f"gives {got} for {given}" for given, got in judge.kinds.items() if got != given] * bool(
        judge.kind.gives
    )
    if judge.caller.about().get("training"):
        found.append("it is a module in training mode; hand over module.eval() to judge the other")
    return found + ([f"prints while it is called: {judge.printed!r}"] if judge.printed else [])
