"""PyTorch itself."""

from attnlab_theory.conform.peers.entry import TORCH, Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="torch.sdpa",
        called="torch.nn.functional.scaled_dot_product_attention",
        library="torch",
        environment="torch",
        kinds={
            "softmax": "sdpa",
            "causal": "sdpa_causal",
            "multi-head": "sdpa",
            "grouped-query": "sdpa_grouped",
            "bias": "sdpa_bias",
        },
        declared=TORCH,
    ),
    Entry(
        name="torch.mha-evaluation",
        called="torch.nn.MultiheadAttention, evaluation, no_grad",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_evaluated", "multi-head": "mha_evaluated"},
        declared=TORCH,
        same_as="torch.mha-training",
    ),
    Entry(
        name="torch.mha-fast",
        called="torch.nn.MultiheadAttention, self-attention, evaluation, no_grad",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_fast", "multi-head": "mha_fast"},
        declared=TORCH,
        same_as="torch.mha-training",
        snippets={"paths/blind rows": "torch_mha_fast.py"},
        threads={"paths/blind rows": "pytorch #190486 (an open pull request)"},
        remarks={
            "paths/blind rows": "It shows only with batch_first=True and an even number of heads. "
            "key_padding_mask shows it, too. With torch.backends.mha.set_fastpath_enabled(False) both are zeros."
        },
    ),
    Entry(
        name="torch.mha-weights",
        called="torch.nn.MultiheadAttention, need_weights=True (the default)",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_weights", "multi-head": "mha_weights"},
        declared=TORCH,
        same_as="torch.mha-training",
        snippets={"paths/blind rows": "torch_mha_weights.py"},
        threads={"paths/blind rows": "pytorch #160064 (open), #41508 (open)"},
        remarks={"paths/blind rows": "It is NaN with gradients, too. need_weights=False gives zeros there."},
    ),
    Entry(
        name="torch.mha-training",
        called="torch.nn.MultiheadAttention, training, with gradients",
        library="torch",
        environment="torch",
        kinds={"softmax": "mha_training", "multi-head": "mha_training"},
        declared=TORCH,
    ),
    Entry(
        name="torch.flex",
        called="torch.nn.attention.flex_attention, not compiled",
        library="torch",
        environment="torch",
        kinds={
            "softmax": "flex",
            "causal": "flex_causal",
            "multi-head": "flex",
            "grouped-query": "flex_grouped",
            "sliding-window": "flex_window",
            "softcap": "flex_softcap",
            "bias": "flex_bias",
        },
        declared=TORCH,
    ),
)
