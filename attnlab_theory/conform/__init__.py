"""Attacks on somebody else's attention: what a kind promises, and whether a function keeps it.

A *kind* (`kinds`) is a promise: softmax, causal, grouped-query. An *identity* (`attacks`) is one thing that the
promise implies, tried on many *cases* (`cases`). A case is a short description; the lines of numpy that draw its
arrays are those that a counterexample prints. What is right comes from `reference`, in float64. How far a right
answer may be from it is derived in `tolerances`, and calibrated nowhere.

How a target wants to be called is a *convention* (`conventions`): layout, mask, scale, alignment, order of groups.
`guessing` finds it by a few calls in which q = k = 0, for there the output shows the mask (`probe`). Conventions
are lines of a profile and no failures. `judging` judges one answer, `laws` several together, and `suite` gives a
row for each identity. `shrinking` looks for the smallest case that fails. `report` writes all of it down.

`callers` makes a call in this process, or in a child with the limits of the grader. On the far side `harness` hands
over arrays of the target's own framework, and says in one line whatever goes wrong. Nothing here imports jax: a
numpy target is judged by numpy alone. `plugin` is the door for pytest.
"""
