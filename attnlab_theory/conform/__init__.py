"""Attacks on somebody else's attention: what a kind promises, and whether a target keeps it.

A *kind* (`kinds`) is a promise: softmax, causal, grouped-query. An *identity* is one thing that the promise
implies. A *suite* (`suite`) tries the identities on a target, and gives a row for each. What can be a choice is
a *convention*: a line of the profile, for which nobody fails. How far a right answer may be from the exact one
is derived.

A kind is a declaration in `kinds`. It (`kind`) names *operands* and says what is right; one engine does the
rest. `calling` searches how the target wants to be called, by how near its answers come to what is right.
`judge` asks each `case`, counts tolerances and shrinks what fails, and `covering` sets features beside each
other. `identities` are those that kinds share, most of them pairs of calls with one answer. `rounding` knows
the types of numbers. Where no formula is known, as of a recurrence, `sensitivity` measures how near two answers
must be. `say` has the sentences, and `show` writes the snippet. `declarations` hands all of it to those who
read rows.

Functions of queries, keys and values are declared in `kinds.softmax`. Trial calls find its `conventions`, most
of them with equal scores, for there the output shows what is seen. What is right comes from `reference`, in
float64, and how near it must be from `tolerances`. `laws` are what is true beside right numbers, `slopes`
compares gradients, `comparison` two ways to one answer, and `states` looks at what stays of a call.

What draws random numbers is judged by `chance`, with error rates. `angles` has the frequencies of positions.
Layers, caches and models have no reference, and are compared with themselves: `decoding` has the identities of
caches, `rows` and `padding` those of rows of different lengths.

Without a kind, `advice` names the one that explains a target's answers. Beside the engine, `precision` and
`watching` tell float64 that is float32 inside, and `costly` leaves out calls that hang or end the process.
`recording` remembers calls, and `replays` writes those that show a failure as a snippet.

`vectors` asks ONNX's vectors, and exports ours. `templates` are adapters to fill in. The folder `board` of a
checkout judges other libraries.

`callers` makes a call in this process, or in a child in the `sandbox`. On the far side `harness` hands over
arrays of the target's own framework (`frameworks`, `exchange`), and reports whatever goes wrong as a fault with
its data. The near side makes a `finding.Trouble` of it, and decides by that alone: no program reads a sentence.
Nothing here imports jax: a numpy target is judged by numpy alone. `report` writes rows down. `plugin` and
`door` are for pytest.
"""
