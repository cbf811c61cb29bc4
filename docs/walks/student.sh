# Which questions can be checked?
attnlab check --list

# A file to fill in.
attnlab check --template practical4/2b > answer.py
cat answer.py

# A first answer: the mean of the two keys.
cat > answer.py <<'END'
def query(keys, a, b):
    return (keys[a] + keys[b]) / 2
END
attnlab check answer.py::query --question practical4/2b

# It is too weak: a longer query leaves less to the other keys.
cat > answer.py <<'END'
def query(keys, a, b):
    return 30 * (keys[a] + keys[b])
END
attnlab check answer.py::query --question practical4/2b

# Does my model see the future? This one masks after the softmax.
cat > model.py <<'END'
import numpy as np


def mixer(x):
    scores = x @ x.T / np.sqrt(x.shape[1])
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return np.tril(raised / raised.sum(1, keepdims=True)) @ x
END
attnlab leaks model.py::mixer

# What is that bug, and which check catches it?
attnlab museum zero-after-softmax
