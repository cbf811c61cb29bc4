"""A mistake that is submitted as softmax attention: hidden weights are set to zero after the softmax."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from attnlab_theory import refuse
from attnlab_theory.attention.masks import refuse_blind
from attnlab_theory.attention.softmax import attention_weights, refuse_inputs, refuse_values
from attnlab_theory.axes import Scalar


def zero_after_softmax_weights(
    q: Float[Array, "t d"], k: Float[Array, "s d"], mask: Bool[Array, "t s"], *, scale: Scalar
) -> Float[Array, "t s"]:
    """Weights of a softmax over every key, hidden ones included, with the hidden ones set to zero afterwards.

    This is wrong on purpose: the normaliser has seen the keys that the mask hides. Rows that hide anything sum to
    less than one, and under a causal mask every row but the last depends on the future. The derivative of the
    output in the score z_s of a hidden key s is -alpha_s times the output.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        mask: True where a query may look.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: if `attention_weights` refuses the arguments.

    Example:
        Queries of 0 see all keys alike. The softmax over three keys gives 1/3 to each; what the mask hides is lost,
        and the first row sums to 1/3 instead of 1.

        >>> import numpy as np
        >>> x = jnp.zeros((3, 2))
        >>> print(np.asarray(zero_after_softmax_weights(x, x, jnp.tri(3, dtype=bool), scale=1.0)).round(2))
        [[0.33 0.   0.  ]
         [0.33 0.33 0.  ]
         [0.33 0.33 0.33]]

    Source: `uw/2.2.3` (docs/sources.md).
    """
    refuse.wrong_rank(2, mask=mask)
    # Refuse what the right operator refuses, so that the two are compared on the same inputs.
    refuse_inputs(q, k, scale)
    refuse_blind(mask, q.shape[0], k.shape[0])
    return jnp.where(mask, attention_weights(q, k, scale=scale), 0)


def zero_after_softmax(
    q: Float[Array, "t d"],
    k: Float[Array, "s d"],
    v: Float[Array, "s v"],
    mask: Bool[Array, "t s"],
    *,
    scale: Scalar,
) -> Float[Array, "t v"]:
    """Attention with `zero_after_softmax_weights`: the mask is applied after the softmax, not before it.

    Args:
        q: queries, one row per output position.
        k: keys, one row per source position.
        v: values, one row per source position.
        mask: True where a query may look.
        scale: inverse temperature, dimensionless.

    Raises:
        ValueError: if `attention` refuses the arguments.

    Example:
        All values are 3, and every mean of them is 3. The wrong operator returns 1 for the first token, which sees
        one key of three.

        >>> import numpy as np
        >>> x = jnp.zeros((3, 2))
        >>> v = jnp.full((3, 2), 3.0)
        >>> print(np.asarray(zero_after_softmax(x, x, v, jnp.tri(3, dtype=bool), scale=1.0)).round(2))
        [[1. 1.]
         [2. 2.]
         [3. 3.]]

    Source: `uw/2.2.3` (docs/sources.md).
    """
    refuse_values(k, v)
    return jnp.einsum("ts,sv->tv", zero_after_softmax_weights(q, k, mask, scale=scale), v)
