# One claim of the lab, judged now.
attnlab run two_heads_hedge::head-2-is-untouched

# A claim of my own, and a wrong one beside it.
cat > mine.py <<'END'
import jax
from attnlab_theory.attention import attention_weights
from attnlab_theory.claims import Claim, Setting, foil
from attnlab_theory.stats import Interval, bounded


class Keys(Setting):
    n: int


def first_weight(key, s):
    return attention_weights(jax.numpy.ones((1, 4)), jax.random.normal(key, (s.n, 4)), scale=0.5)[0, 0]


ALIKE = Claim(name="alike", statement="A random key gets 1/n of the weight.", source="symmetry",
              predict=lambda s: Interval.point(1 / s.n), draw=first_weight, bound=bounded(0.0, 1.001),
              resolution=0.02, settings=(Keys(n=4), Keys(n=8)))
TWICE = foil(ALIKE, name="twice", statement="It gets twice as much.", source="nobody",
             predict=lambda s: Interval.point(2 / s.n))
END
attnlab run mine.py

# Queries and keys of my own.
python -c "import numpy as np; r = np.random.default_rng(0); np.save('q.npy', r.normal(size=(8, 4))); np.save('k.npy', r.normal(size=(64, 4))); np.save('few.npy', r.normal(size=(5, 4)))"
attnlab estimators --queries q.npy --keys k.npy --features 32

# The query that averages two of five keys.
attnlab construct subset --keys few.npy --select 0,3
