"""Functions and layers of libraries on PyTorch."""

from attnlab_theory.conform.peers.entry import TORCH, Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="transformers.eager",
        called="transformers, eager_attention_forward (Llama, Gemma 2)",
        library="transformers",
        environment="torch",
        kinds={
            "softmax": "eager",
            "multi-head": "eager",
            "grouped-query": "eager",
            "softcap": "eager_capped",
            "bias": "eager_bias",
        },
        declared=TORCH,
        notes={"causal": "its caller makes the mask, so the causal mask would be ours"},
    ),
    Entry(
        name="transformers.sdpa",
        called="transformers, sdpa_attention_forward",
        library="transformers",
        environment="torch",
        kinds={
            "softmax": "sdpa",
            "causal": "sdpa_causal",
            "multi-head": "sdpa",
            "grouped-query": "sdpa",
            "bias": "sdpa_bias",
        },
        declared=TORCH,
        documented={
            f"causal/{name}": "'Not in decoding phase (otherwise we want full attention on the single query token)'"
            ", in a comment of the source (integrations/sdpa_attention.py)"
            for name in ("one token", "pairs")
        },
    ),
    Entry(
        name="x-transformers.plain",
        called="x_transformers.attend.Attend",
        library="x-transformers",
        environment="torch",
        kinds={
            "softmax": "plain",
            "causal": "causal",
            "multi-head": "plain",
            "grouped-query": "plain",
            "softcap": "capped",
            "bias": "biased",
        },
        declared=TORCH,
        snippets={
            "causal/early queries": "x_transformers_early_query.py",
            "causal/*": "x_transformers_blind_row.py",
        },
        remarks={
            "causal/early queries": "It shows only where there are more queries than keys, which is rare. The fill "
            "is a finite number, so all that is hidden weighs the same. flash=True without a mask and a bias "
            "counts queries from the first key then, and reads no future. With attn_bias alone it reads it, too.",
            "causal/*": "It shows where a mask hides all keys that a query may see, as when the first keys are "
            "padding. A row that the mask hides as a whole is zeros. flash=True gives zeros for both. The "
            "library's Attention sets the output of padding to zero. With attn_mask it shows there, too.",
        },
    ),
    Entry(
        name="x-transformers.flash",
        called="x_transformers.attend.Attend(flash=True)",
        library="x-transformers",
        environment="torch",
        kinds={
            "softmax": "flash",
            "causal": "flash_causal",
            "multi-head": "flash",
            "grouped-query": "flash",
            "bias": "flash_biased",
        },
        declared=TORCH,
    ),
    Entry(
        name="diffusers.plain",
        called="diffusers Attention, AttnProcessor",
        library="diffusers",
        environment="torch",
        kinds={
            "softmax": "plain",
            "multi-head": "plain",
        },
        declared={**TORCH, "mask": "additive"},
    ),
    Entry(
        name="diffusers.fused",
        called="diffusers Attention, AttnProcessor2_0",
        library="diffusers",
        environment="torch",
        kinds={
            "softmax": "fused",
            "multi-head": "fused",
        },
        declared={**TORCH, "mask": "additive"},
        same_as="diffusers.plain",
        documented={
            "paths/blind rows": "the caller chooses the processor, and -inf is ours: UNet2DConditionModel 'adds "
            "large negative values', -10000.0, and with these both agree (unet_2d_condition.py)"
        },
    ),
    Entry(
        name="diffusers.sliced",
        called="diffusers Attention, SlicedAttnProcessor",
        library="diffusers",
        environment="torch",
        kinds={
            "softmax": "sliced",
            "multi-head": "sliced",
        },
        declared={**TORCH, "mask": "additive"},
        same_as="diffusers.plain",
    ),
    Entry(
        name="local-attention.exact",
        called="local_attention.LocalAttention, exact_windowsize",
        library="local-attention",
        environment="torch",
        kinds={
            "sliding-window": "windowed",
        },
        declared=TORCH,
    ),
    Entry(
        name="ring-attention.default",
        called="ring_attention_pytorch, default_attention",
        library="ring-attention-pytorch",
        environment="torch",
        kinds={
            "softmax": "plain",
            "causal": "causal",
            "multi-head": "plain",
            "grouped-query": "plain",
            "softcap": "capped",
        },
        declared={"framework": "torch", "layout": "bthd"},
        snippets={"causal/early queries": "ring_early_query.py"},
        remarks={
            "causal/early queries": "It shows only where there are more queries than keys, which is rare. The fill "
            "is a finite number, so all that is hidden weighs the same. RingAttention, which calls this function, "
            "has as many queries as keys."
        },
    ),
    Entry(
        name="ring-attention.flash",
        called="ring_attention_pytorch, ring_flash_attn on one device",
        library="ring-attention-pytorch",
        environment="torch",
        kinds={
            "softmax": "flash",
            "causal": "flash_causal",
            "multi-head": "flash",
            "grouped-query": "flash",
        },
        declared={"framework": "torch", "layout": "bthd"},
        snippets={
            "causal/more keys": "ring_flash_more_keys.py",
            "causal/gradients": "ring_flash_gradients.py",
        },
        remarks={
            "causal/more keys": "It shows where there are more keys than one bucket holds, and fewer queries. The "
            "source has a case for other lengths, but shifts the mask only where the bucket of queries and that of "
            "keys have the same number. On a CPU RingAttention calls this function, with as many queries as keys. "
            "Then all holds.",
            "causal/gradients": "The backward pass does not shift the mask, the forward pass does. It is right for "
            "as many queries as keys.",
        },
    ),
    Entry(
        name="litgpt.layer",
        called="litgpt.model.CausalSelfAttention.scaled_dot_product_attention",
        library="litgpt",
        environment="litgpt",
        kinds={
            "softmax": "masked",
            "causal": "causal",
            "multi-head": "masked",
            "softcap": "capped",
        },
        declared={**TORCH, "mask": "bool-keep"},
        snippets={"softcap/*": "litgpt_softcap.py"},
        threads={"softcap/*": "litgpt #1672, #2235"},
        remarks={
            "softcap/*": "A mask of True and False is added to the scores as 1 and 0, and litgpt's own "
            "cache makes such a mask. A mask of 0 and minus infinity is followed. Causal softcap without "
            "a cache and a mask is right."
        },
    ),
    Entry(
        name="torchtune.layer",
        called="torchtune.modules.MultiHeadAttention",
        library="torchtune",
        environment="litgpt",
        kinds={"softmax": "attend", "causal": "causal", "multi-head": "attend", "grouped-query": "attend"},
        declared=TORCH,
    ),
)
