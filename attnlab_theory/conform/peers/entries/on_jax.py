"""JAX, what stands on it, and Keras with three backends."""

from attnlab_theory.conform.peers.entry import JAX, Entry

KERAS_BLIND = {
    "jax": "It calls jax.nn.dot_product_attention, whose fault this is.",
    "numpy": "It is a port of jax.nn.dot_product_attention, and has the same fault.",
    "torch": "The same fault, in Keras's own code: what is hidden gets a large negative number, not minus "
    "infinity.",
}


def _keras(backend: str, environment: str, framework: str, biased: str = "biased") -> Entry:
    return Entry(
        name=f"keras.{backend}",
        called=f"keras.ops.dot_product_attention on {backend}",
        library="keras",
        environment=environment,
        kinds={
            "softmax": "attend",
            "multi-head": "attend",
            "causal": "attend",
            "grouped-query": "attend",
            "bias": biased,
        },
        declared={"framework": framework, "layout": "bthd"},
        variables={"KERAS_BACKEND": backend},
        snippets={"causal/blind rows": "keras_blind_row.py", "grouped-query/called": "keras_groups.py"},
        threads={"grouped-query/called": "keras #23081 (a merged pull request, for torch and TensorFlow)"},
        remarks={
            "causal/blind rows": KERAS_BLIND[backend],
            "grouped-query/called": "It is right where all heads share one key head.",
        },
    )


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="jax.attention",
        called="jax.nn.dot_product_attention",
        library="jax",
        environment="jax",
        kinds={
            "softmax": "attend",
            "causal": "attend",
            "multi-head": "attend",
            "grouped-query": "attend",
            "sliding-window": "windowed",
            "bias": "attend",
        },
        declared=JAX,
        snippets={"causal/blind rows": "jax_blind_row.py", "sliding-window/blind rows": "jax_blind_row_window.py"},
        remarks={
            "causal/blind rows": "It shows for a query whose visible keys are all padding. What either mask hides "
            "gets the same large negative number. So where all keys are hidden, all of them weigh the same, the "
            "future too. flax.nnx inherits this, and Keras on jax. Such a query often is padding itself, and its "
            "output is thrown away. Under is_causal, padding at the right leaves every query a key.",
            "sliding-window/blind rows": "This is the finding above, by the same line of JAX.",
        },
    ),
    Entry(
        name="flax.linen",
        called="flax.linen.dot_product_attention",
        library="flax",
        environment="jax",
        kinds={
            "softmax": "of_linen",
            "multi-head": "of_linen",
            "bias": "of_linen_bias",
        },
        declared=JAX,
        notes={"causal": "its caller makes the mask, so the causal mask would be ours"},
    ),
    Entry(
        name="flax.nnx",
        called="flax.nnx.dot_product_attention",
        library="flax",
        environment="jax",
        kinds={
            "softmax": "of_nnx",
            "multi-head": "of_nnx",
            "causal": "of_nnx",
            "grouped-query": "of_nnx",
            "bias": "of_nnx_bias",
        },
        declared=JAX,
        snippets={"causal/blind rows": "nnx_blind_row.py"},
        remarks={"causal/blind rows": "It calls jax.nn.dot_product_attention, whose fault this is."},
    ),
    Entry(
        name="equinox.mha",
        called="equinox.nn.MultiheadAttention",
        library="equinox",
        environment="jax",
        kinds={"softmax": "attend", "multi-head": "attend"},
        declared={"framework": "jax", "layout": "htd"},
    ),
    Entry(
        name="haiku.mha",
        called="haiku.MultiHeadAttention",
        library="dm-haiku",
        environment="jax",
        kinds={"softmax": "attend", "multi-head": "attend"},
        declared=JAX,
    ),
    _keras("jax", "jax", "jax"),
    _keras("numpy", "jax", "numpy"),
    _keras("torch", "torch", "torch", "biased_alone"),
)
