"""Whatever says where a token stands: rotations of queries and keys, and sinusoids. Biases are `kinds.alibi`.

`rotary` and `sinusoidal` are the suites, and the files that end in `_laws` have their identities.
`rotary_guessing` finds how a rotation wants to be called, from what it does to unit vectors. `frequencies` tells a
base from what was read off. How far a right answer may be from the exact one is derived in `tolerances`. `calling`
makes calls, and keeps each as lines of numpy, so that a counterexample prints what ran.
"""
