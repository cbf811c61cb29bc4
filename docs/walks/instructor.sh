# One question of the answer sheet, with its evidence.
attnlab answers cs224n/1b.ii

# Three hand-ins: a right one, a weak one, one that breaks.
mkdir hand_ins
printf 'def q2b(keys, a, b):\n    return 30 * (keys[a] + keys[b])\n' > hand_ins/ada.py
printf 'def q2b(keys, a, b):\n    return (keys[a] + keys[b]) / 2\n' > hand_ins/bob.py
printf 'def q2b(keys, a, b):\n    return keys[a] + key[b]\n' > hand_ins/cem.py
cat > rubric.toml <<'END'
homework = "practical4"

[points]
"2b" = 4
END
attnlab grade hand_ins --rubric rubric.toml --csv grades.csv

# The same as a table for a spreadsheet.
cat grades.csv

# What does somebody's attention seem to be?
cat > theirs.py <<'END'
import numpy as np


def attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return np.tril(raised / raised.sum(-1, keepdims=True)) @ v
END
attnlab conform theirs.py::attention

# It says what to type next.
attnlab conform theirs.py::attention --as causal
