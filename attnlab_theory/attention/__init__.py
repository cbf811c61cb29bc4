"""Arrays to arrays, exactly. No configuration, and no PRNG keys but for BigBird's links."""

from attnlab_theory.attention.additive import additive_attention, additive_weights
from attnlab_theory.attention.alibi import alibi_attention, alibi_bias, alibi_slopes, alibi_weights
from attnlab_theory.attention.blocked import blocked_attention
from attnlab_theory.attention.blocked_heads import blocked_multi_head_attention
from attnlab_theory.attention.differential import differential_attention, differential_weights, normed
from attnlab_theory.attention.fast_weights import (
    Rule,
    fast_weight_attention,
    fast_weights,
    left_of,
    power_features,
)
from attnlab_theory.attention.features import (
    dense_exponential_features,
    generalized_exponential_features,
    hyperbolic_features,
    log_dense_exponential_features,
    log_generalized_exponential_features,
    log_hyperbolic_features,
    log_positive_features,
    positive_features,
    trigonometric_features,
)
from attnlab_theory.attention.forgetting import forget_gate_attention, forget_gate_bias
from attnlab_theory.attention.frequencies import (
    interpolated_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    rotary_frequencies,
    yarn_frequencies,
    yarn_scale,
)
from attnlab_theory.attention.heads import (
    averaged_heads,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    split_heads,
)
from attnlab_theory.attention.latent import latent_attention
from attnlab_theory.attention.linear import (
    feature_attention,
    key_shift,
    linear_attention,
    query_shift,
    seen_key_shift,
)
from attnlab_theory.attention.masks import causal_mask, length_mask, top_k_mask, window_mask
from attnlab_theory.attention.positions import (
    half_layout_order,
    rotary,
    rotary_by_complex,
    rotation_matrix,
    sinusoidal,
)
from attnlab_theory.attention.sigmoid import sigmoid_attention, sigmoid_weights
from attnlab_theory.attention.sketches import linformer_attention
from attnlab_theory.attention.softmax import attention, attention_scores, attention_weights
from attnlab_theory.attention.sparse import (
    bigbird_attention,
    bigbird_links,
    bigbird_mask,
    linked_mask,
    sliding_window_attention,
)
from attnlab_theory.attention.stick_breaking import stick_breaking_attention, stick_breaking_weights
from attnlab_theory.attention.synthesizers import (
    dense_logits,
    factorised_logits,
    random_logits,
    synthesizer_attention,
    synthesizer_weights,
)
from attnlab_theory.attention.variants import zero_after_softmax, zero_after_softmax_weights

__all__ = [
    "Rule",
    "additive_attention",
    "additive_weights",
    "alibi_attention",
    "alibi_bias",
    "alibi_slopes",
    "alibi_weights",
    "attention",
    "attention_scores",
    "attention_weights",
    "averaged_heads",
    "bigbird_attention",
    "bigbird_links",
    "bigbird_mask",
    "blocked_attention",
    "blocked_multi_head_attention",
    "causal_mask",
    "dense_exponential_features",
    "dense_logits",
    "differential_attention",
    "differential_weights",
    "factorised_logits",
    "fast_weight_attention",
    "fast_weights",
    "feature_attention",
    "forget_gate_attention",
    "forget_gate_bias",
    "generalized_exponential_features",
    "grouped_query_attention",
    "half_layout_order",
    "hyperbolic_features",
    "interpolated_frequencies",
    "key_shift",
    "latent_attention",
    "left_of",
    "length_mask",
    "linear_attention",
    "linformer_attention",
    "linked_mask",
    "llama3_frequencies",
    "log_dense_exponential_features",
    "log_generalized_exponential_features",
    "log_hyperbolic_features",
    "log_positive_features",
    "merge_heads",
    "multi_head_attention",
    "normed",
    "ntk_frequencies",
    "positive_features",
    "power_features",
    "query_shift",
    "random_logits",
    "rotary",
    "rotary_by_complex",
    "rotary_frequencies",
    "rotation_matrix",
    "seen_key_shift",
    "sigmoid_attention",
    "sigmoid_weights",
    "sinusoidal",
    "sliding_window_attention",
    "split_heads",
    "stick_breaking_attention",
    "stick_breaking_weights",
    "synthesizer_attention",
    "synthesizer_weights",
    "top_k_mask",
    "trigonometric_features",
    "window_mask",
    "yarn_frequencies",
    "yarn_scale",
    "zero_after_softmax",
    "zero_after_softmax_weights",
]
