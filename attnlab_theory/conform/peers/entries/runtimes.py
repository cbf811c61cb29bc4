"""Frameworks and runtimes of their own, which take arrays of numpy."""

from attnlab_theory.conform.peers.entry import NUMPY, Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="mlx.fast",
        called="mlx.core.fast.scaled_dot_product_attention",
        library="mlx",
        environment="mlx",
        kinds={
            "softmax": "attend",
            "multi-head": "attend",
            "causal": "causal",
            "grouped-query": "attend",
            "bias": "biased",
        },
        declared=NUMPY,
        snippets={"causal/early queries": "mlx_early_query.py"},
        threads={
            "causal/early queries": "mlx #2967 (merged), where a maintainer says that more queries than keys were "
            "never looked at carefully; #2608 (merged), which chose the finite fill to avoid NaN"
        },
        remarks={
            "causal/early queries": "It shows only where there are more queries than keys, which is rare. The "
            "documentation says that the last query stands at the last key, so the first stand before every key. "
            "It says nothing of what they give. The fill is a finite number, so all that is hidden weighs the "
            "same. It was tried on the processor alone."
        },
    ),
    Entry(
        name="onnxruntime.attention",
        called="onnxruntime, Attention-23 (windows: Attention-25)",
        library="onnxruntime",
        environment="runtimes",
        kinds={
            "softmax": "attend",
            "causal": "causal",
            "multi-head": "attend",
            "grouped-query": "attend",
            "sliding-window": "windowed",
            "softcap": "capped",
            "bias": "biased",
        },
        declared=NUMPY,
    ),
    Entry(
        name="onnxruntime.contrib-default",
        called="onnxruntime, com.microsoft.MultiHeadAttention, as it comes",
        library="onnxruntime",
        environment="runtimes",
        kinds={"softmax": "contrib", "multi-head": "contrib"},
        declared=NUMPY,
        documented={
            f"*/{name}": "mask_filter_value: 'Default value is -10000.0f' (ContribOperators.md)"
            for name in ("hidden keys", "hidden numbers", "pairs")
        },
    ),
    Entry(
        name="onnxruntime.contrib",
        called="onnxruntime, com.microsoft.MultiHeadAttention, mask_filter_value -3e38",
        library="onnxruntime",
        environment="runtimes",
        kinds={
            "softmax": "contrib_low",
            "multi-head": "contrib_low",
            "causal": "contrib_causal",
            "bias": "contrib_biased",
        },
        declared=NUMPY,
        snippets={"causal/visibility": "onnxruntime_contrib_causal.py"},
        remarks={
            "causal/visibility": "With fewer queries than keys and no past, the last query sees all keys. It is "
            "right where both lengths agree. The default mask_filter_value shows the same."
        },
    ),
    Entry(
        name="openvino.attention",
        called="openvino (told float32), ONNX's Attention-23",
        library="openvino",
        environment="runtimes",
        kinds={
            "softmax": "attend",
            "causal": "causal",
            "multi-head": "attend",
            "grouped-query": "attend",
            "softcap": "capped",
            "bias": "biased",
        },
        declared=NUMPY,
        notes={
            "sliding-window": "it reads ONNX's Attention-23 and -24, which have no window. Opsets and attributes "
            "that it does not know are ignored without an error, and the windows of Attention-25 are among them. "
            "openvino #37207 mended the windows of GroupQueryAttention"
        },
    ),
)
