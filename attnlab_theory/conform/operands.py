"""What targets take, by its role: how its parameter is spelled, which axes it has, and how it is drawn."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Operand:
    """One thing that a target may take: a length, an array, a choice, or what an earlier call gave."""

    names: str
    """Those of its parameter, in small letters and without underscores at the ends, a space between two."""
    _: dataclasses.KW_ONLY
    axis: str = ""
    """The letter of the axis whose length it is."""
    is_own: bool = False
    """Whether a target that has no parameter for the length has one of its own, which is read off its answer."""
    instead: tuple[str, ...] = ()
    """The roles whose lengths it gives where these have no parameters."""
    axes: tuple[str, ...] = ()
    """The axes that its array may have, in letters. One of several is searched, the likeliest first."""
    drawn: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Numpy that draws an array of shape {n}, by a word; {b} and the like are lengths. The usual one has an empty
    word. If there is none, the array is handed over only where a case has one of these words for its role."""
    literal: str = ""
    """Numpy that makes it of the numbers {numbers}, which a case may have for its role in the place of a word."""
    made_of: tuple[str, ...] = ()
    """The roles of other arrays that its numpy needs."""
    like: str = ""
    """The role whose meaning is that of this one, too."""
    meanings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What a target may want in the place of {x}, by the values of the convention that has the name of the role."""
    is_flag: bool = False
    """Whether it is true or false, and a target without such a parameter may always do either."""
    usual: str = ""
    """The number that is handed over where there must be one and a case has none; {t} and the like are lengths."""
    is_source: bool = False
    """Whether it brings randomness, of which a case has a number as `draw`."""
    is_kept: bool = False
    """Whether it is an object that an earlier call gave."""
    most: float = float("inf")
    """The largest number that it may hold."""
    type: str = ""
    """The type of its numbers; by default that of a case."""
    told: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What it is for the tokens from a to b, by the values of the convention that has the name of the role."""
    has_own_order: bool = False
    """Whether its axes stand in their own order, whatever the layout."""
    shapes: tuple[str, ...] = ()
    """The axes of an array of four axes that a target may take, with - for those that it has not."""
    off: Any = None
    """What switches it off. It is handed over where the default is another, and nothing else is."""
    must: bool = False
    """Whether it says something wherever it is given."""
    only: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The framework of a meaning that others do not have."""
    functions: tuple[str, ...] = ()
    """The meanings by which it is no array, but a function that is made of it where the target is."""
    idle: str = ""
    """The word for an array that says nothing, where one must be given."""
    packs: bool = False
    """Whether it sets documents beside each other in one batch element."""
    is_square: bool = False
    """Whether it is about queries and keys alike, of which there are then as many."""

    @functools.cached_property
    def spellings(self) -> tuple[str, ...]:
        """Its names, one by one."""
        return tuple(self.names.split())


NORMAL = {"": "r.standard_normal({n})"}
"""Standard normal numbers."""

MEANINGS: Mapping[str, str] = {
    "bool-keep": "{x}",
    "bool-drop": "~{x}",
    "ones-keep": "{x}.astype('int64')",
    "ones-drop": "(~{x}).astype('int64')",
}
"""What a target may mean by a mask, of which True keeps."""

ADDED = {"additive": "np.where({x}, 0, -np.inf).astype('{kind}')"}
"""The same for numbers that are added to scores."""

DIAGONALS = "(np.arange({s}) == np.arange({t})[:, None] % {s})"
"""A key for each query, where every token sees itself from the first key on."""

EYE = "np.eye({t}, {s}, dtype=bool)"

VECTORS = NORMAL | {
    "ones": "(1 + 0 * r.standard_normal({n}))",
    **{word: f"({word} * r.standard_normal({{n}}))" for word in ("0.0", "1e4", "1e30", "1e-40")},
}
"""Vectors of other sizes, too."""

ANGLES = "positions[:, None] * 1e4 ** (-np.arange({d} // 2) / ({d} // 2))"
"""Those of pairs of channels, in the frequencies of the papers."""

TABLES: Mapping[str, str] = {
    f"{columns} [{' '.join(axes)}]": place.replace("x", code)
    for axes, place in {
        "td": "x",
        "btd": "np.stack([x] * {b})",
        "1td": "x[None]",
        "11td": "x[None, None]",
        "b1td": "np.stack([x] * {b})[:, None]",
        "t1d": "x[:, None]",
        "bt1d": "np.stack([x] * {b})[:, :, None]",
    }.items()
    for columns, code in {
        "each channel, in halves": "np.tile({x}, 2)",
        "each channel, interleaved": "{x}.repeat(2, -1)",
        "each pair": "{x}",
    }.items()
}
"""What a table of angles has a column for, and its axes. It is drawn with a column for each pair of channels."""


def _ends(axis: str) -> dict[str, Any]:
    """Where documents of five tokens and of what is left begin and end: one number more than documents."""
    drawn = {
        "documents": f"np.append(np.arange(0, {{{axis}}}, 5), {{{axis}}})",
        "one": f"np.array([0, {{{axis}}}])",
    }
    return {"axes": ("1",), "drawn": drawn, "type": "int32", "has_own_order": True, "idle": "one", "packs": True}


ARRAY_OPERANDS: Mapping[str, Operand] = {
    "q": Operand("q query queries q_nope", axes=("bhtd",), drawn=NORMAL),
    "sequence": Operand("", axes=("btd",), drawn=NORMAL),
    "ids": Operand(
        "input_ids ids tokens token_ids",
        axes=("bt",),
        # One of the first ids may stand for padding.
        drawn={"": "r.randint(4 * ({v} > 8), {v}, {n})"},
        type="int64",
    ),
    "k": Operand("k key keys", axes=("bgsd",), drawn=NORMAL),
    "v": Operand("v value values", axes=("bgse",), drawn=NORMAL),
    "dout": Operand(
        "dout do d_out grad grad_output grad_out cotangent dy g upstream",
        axes=("bhte",),
        drawn=NORMAL,
    ),
    "pair mask": Operand(
        "mask attn_mask attention_mask",
        axes=("11ts",),
        drawn={
            "all": "np.ones({n}, bool)",
            "any": "(r.random_sample({n}) < 0.6)",
            # Every token sees itself, from either end.
            "random": "(r.random_sample({n}) < 0.6) | " + DIAGONALS + " | np.eye({t}, {s}, {s} - {t}, bool)",
            "one": "np.zeros({n}, bool) | " + DIAGONALS,
            "padded end": "np.zeros({n}, bool) | (np.arange({s}) < {s} - {s} // 3)",
            "padded start": "np.zeros({n}, bool) | (np.arange({s}) >= {start})",
            "element end": "np.zeros({n}, bool) | (np.arange({s}) < {s} - {hidden}[:, None, None, None])",
            "element start": "np.zeros({n}, bool) | (np.arange({s}) >= {hidden}[:, None, None, None])",
            "ends": "np.zeros({n}, bool) | (abs(2 * np.arange({s}) + 1 - {s}) >= {s} - 2 * max({s} // 8, 1))",
            "blind": "np.zeros({n}, bool) | (np.arange({t})[:, None] != {t} // 2)",
            "few": "np.zeros({n}, bool) | (np.arange({s}) < 4)",
            "every second": "np.tri({t}, {s}, dtype=bool) & ((np.arange({t})[:, None] + np.arange({s})) % 2 == 0)"
            " & np.ones({n}, bool)",
        },
        meanings=MEANINGS | ADDED,
        has_own_order=True,
        idle="all",
        shapes=("--ts", "b1ts", "b-ts"),
    ),
    "bias": Operand(
        "bias attn_bias attention_bias score_bias",
        axes=("1hts",),
        drawn={
            "normal": "r.standard_normal({n})",
            "zeros": "np.zeros({n})",
            "100": "(100 * r.standard_normal({n}))",
            # A row keeps a key.
            "-1e4": "(lambda x: np.where((x < 0.5) | " + EYE + ", x, -1e4))(r.standard_normal({n}))",
            "minus infinity": "(lambda x: np.where((x < 0.5) | "
            + EYE
            + ", x - 100, -np.inf))(r.standard_normal({n}))",
        },
        has_own_order=True,
        idle="zeros",
        shapes=("-hts", "bhts"),
    ),
    "key lengths": Operand(
        "lengths seqlens seq_lens seq_lengths kv_lengths key_lengths kv_lens valid_lens valid_lengths "
        "key_value_seq_lengths seqlens_k cache_seqlens nonpad_kv_seqlen",
        axes=("b",),
        drawn={"some": "({s} - {hidden})", "all": "np.full({n}, {s})"},
        type="int64",
        has_own_order=True,
        idle="all",
    ),
    "segments": Operand(
        "segment_ids segments document_ids doc_ids sequence_ids",
        axes=("bs",),
        drawn={
            "documents": "((np.arange({s}) + np.arange({b})[:, None]) // 5)",
            "one": "np.zeros({n}, int)",
        },
        type="int64",
        has_own_order=True,
        idle="one",
    ),
    "ends": Operand("cu_seqlens cu_seq_lens cu_lens cu_seqlen", **_ends("s"), is_square=True),
    "query ends": Operand("cu_seqlens_q cu_seq_lens_q cu_q_lens cu_lens_q", **_ends("t")),
    "key ends": Operand("cu_seqlens_k cu_seqlens_kv cu_seq_lens_k cu_kv_lens cu_lens_k", **_ends("s")),
    "longest": Operand("max_seqlen max_seqlen_q max_seq_len_q max_q_len max_s", usual="{t}"),
    "longest keys": Operand("max_seqlen_k max_seqlen_kv max_seq_len_k max_kv_len", usual="{s}"),
    "sinks": Operand(
        "sinks sink attention_sinks attn_sinks sink_logits s_aux",
        axes=("h",),
        drawn={
            "normal": "r.standard_normal({n})",
            "zeros": "np.zeros({n})",
            "none": "np.full({n}, -np.inf)",
        },
        has_own_order=True,
        idle="none",
    ),
    "slopes": Operand(
        "alibi_slopes slopes",
        axes=("h",),
        drawn={"halves": "(0.5 ** (1 + np.arange({h})))", "zeros": "np.zeros({n})"},
        has_own_order=True,
        idle="zeros",
    ),
    "scale": Operand("scale softmax_scale sm_scale scaling"),
    "softcap": Operand(
        "softcap soft_cap logit_cap logits_soft_cap logit_softcap attn_logit_softcapping",
        must=True,
    ),
    "window": Operand("window window_size sliding_window local_window_size", must=True),
    "dropout": Operand("dropout dropout_p dropout_rate attn_dropout attention_dropout p_drop", off=0.0),
    "training": Operand("training train is_training", off=False),
    "inference": Operand("deterministic inference", off=True),
    "shares": Operand("enable_gqa"),
    "mask": Operand(
        "mask key_mask key_padding_mask padding_mask attention_mask attn_mask input_mask src_key_padding_mask",
        axes=("bs",),
        drawn={
            # The last third of the keys is hidden, of every second batch element the first third.
            "padded": "np.where(np.arange({b})[:, None] % 2, np.arange({s}) >= {s} // 3, "
            "np.arange({s}) < {s} - {s} // 3)",
            "end": "np.arange({s}) < ({s} - {hidden})[:, None]",
            "start": "np.arange({s}) >= ({hidden})[:, None]",
            "third": "np.zeros({n}, bool) | (np.arange({s}) < {s} - {s} // 3)",
            "few": "np.zeros({n}, bool) | (np.arange({s}) < 4)",
            # One element sees nothing.
            "element": "np.arange({s}) >= ({s} * (np.arange({b}) == {b} // 2))[:, None]",
            "all": "np.ones({n}, bool)",
        },
        meanings=MEANINGS,
        idle="all",
    ),
    "shift": Operand(
        "bias shift offset score_bias logit_bias b",
        axes=("",),
        drawn={"": "(-1 - r.random_sample({n}))"},
    ),
    "blocks": Operand(
        "block_mask mask_mod blocks block_layout block_map mask_fn mask_function block_maps mask_func "
        "block_sparse_mask",
        axes=("bhij", "11ij"),
        drawn={
            # Every query sees a block, and beside a hidden future that of itself.
            "random": "(r.random_sample({n}) < 0.5) | (np.arange({j}) == np.arange({i})[:, None] % {j})",
            "all": "np.ones({n}, bool)",
        },
        meanings={
            "array": "{x}",
            "array-drop": "~{x}",
            "function": "lambda b, h, q, k: {x}[b, h, q // {k}, k // {k}]",
            "function of two": "lambda q, k: {x}[q // {k}, k // {k}]",
            "BlockMask": "__import__('torch.nn.attention.flex_attention', fromlist=['']).create_block_mask("
            "lambda b, h, q, k: {x}[b, h, q // {k}, k // {k}], {b}, {h}, {t}, {s}, device='cpu')",
        },
        only={"BlockMask": "torch"},
        functions=("function", "function of two", "BlockMask"),
        has_own_order=True,
        idle="all",
    ),
    "key pages": Operand(
        "k_pages key_pages k_cache key_cache k_pool key_pool pages_k k_blocks kp k_cache_pages k_page_pool keys k",
        axes=("pzgd", "pgzd", "gpzd"),
        drawn=NORMAL,
        has_own_order=True,
    ),
    "value pages": Operand(
        "v_pages value_pages v_cache value_cache v_pool value_pool pages_v v_blocks vp v_cache_pages v_page_pool "
        "values v",
        axes=("pzge", "pgze", "gpze"),
        drawn=NORMAL,
        has_own_order=True,
    ),
    "block table": Operand(
        "block_table block_tables page_table page_tables page_indices block_indices pages table tables "
        "kv_page_indices page_ids",
        axes=("bm",),
        drawn={"": "r.permutation({p})[:{b} * {m}].reshape({n})"},
        type="int32",
        has_own_order=True,
    ),
    "lengths": Operand(
        "lengths seq_lens seqlens context_lens kv_lens cache_seqlens cache_lens seq_lengths context_lengths "
        "kv_lengths seqused_k seqlens_k cache_lengths lens length",
        axes=("b",),
        drawn={
            "": "{t} + r.randint(0, {m} * {z} - {t} + 1, {n})",
            "full": "{m} * {z} - 0 * np.arange({b})",
            # Whole pages, and one token more or less than that.
            "edges": "np.clip({z} * (1 + np.arange({b}) % {m}) + np.arange({b}) % 3 - 1, {t}, {m} * {z})",
        },
        type="int32",
        has_own_order=True,
    ),
    "q turned": Operand("q_pe q_rope q_rot q_r q_rotary", axes=("bhtx",), drawn=NORMAL),
    "k turned": Operand("k_pe k_rope k_rot k_r k_rotary", axes=("bsx",), drawn=NORMAL),
    "latents": Operand(
        "c c_kv ckv kv kv_c compressed_kv kv_latent latent latents latent_kv kv_compressed",
        axes=("bsr",),
        drawn=NORMAL,
    ),
    "up to keys": Operand(
        "w_uk wuk w_kc w_k wk up_k w_up_k k_up uk w_k_up k_up_proj",
        axes=("hdr", "hrd", "rhd"),
        drawn={"": "({r} ** -0.5 * r.standard_normal({n}))"},
        has_own_order=True,
    ),
    "up to values": Operand(
        "w_uv wuv w_vc w_v wv up_v w_up_v v_up uv w_v_up v_up_proj",
        axes=("her", "hre", "rhe"),
        drawn={"": "({r} ** -0.5 * r.standard_normal({n}))"},
        has_own_order=True,
    ),
    "absorbs": Operand("absorb absorbed is_absorbed use_absorb absorbing", is_flag=True),
    "x": Operand(
        "q query queries xq q_embed x t tensor input inputs hidden hidden_states vectors",
        axes=("bhtd",),
        drawn=VECTORS,
    ),
    "xk": Operand("k key keys xk k_embed", axes=("bgtd",), drawn=VECTORS),
    "positions": Operand(
        "positions position_ids position pos input_pos token_positions seq_positions",
        axes=("t", "bt"),
        drawn={
            "": "(np.arange({t}) + np.zeros({n}))",
            # Each batch element stands elsewhere.
            "by row": "(np.arange({t}) + 3 * np.arange({b})[:, None])",
        },
        literal="(np.array({numbers})[:{t}] + np.zeros({n}))",
        type="int64",
    ),
    "cos": Operand(
        "cos cosines cos_cached cos_cache cos_table cosine",
        axes=("td",),
        drawn={"": f"np.cos({ANGLES}).astype('{{type}}')"},
        made_of=("positions",),
        meanings=TABLES,
    ),
    "sin": Operand(
        "sin sines sin_cached sin_cache sin_table sine",
        axes=("td",),
        drawn={"": f"np.sin({ANGLES}).astype('{{type}}')"},
        made_of=("positions",),
        meanings=TABLES,
        like="cos",
    ),
    "base": Operand(
        "base theta rope_theta rope_base max_wavelength max_period max_timescale temperature",
        usual="1e4",
    ),
    "offset": Operand("offset start start_pos seqlen_offset past_length shift", usual="0"),
    "rows": Operand(
        "positions position_ids position pos timesteps t length seq_len seqlen n max_len tokens num_positions "
        "n_positions sequence_length max_length context_length",
        axes=("t",),
        drawn={"": "np.arange({t})"},
        literal="np.array({numbers})[:{t}]",
        type="int64",
        meanings={"a number of tokens": "len({x})", "positions": "{x}"},
    ),
    "embeddings": Operand(
        "x tensor input inputs hidden hidden_states embeddings",
        axes=("btd", "td"),
        drawn={"": "np.zeros({n})", "twos": "np.full({n}, 2.0)"},
    ),
    "interleaved": Operand("interleaved is_interleaved rotary_interleaved", usual="False"),
    "tokens": Operand("seq_len seqlen length sequence_length", usual="{t}"),
    "channels": Operand("dim width head_dim", usual="{d}"),
    "projection": Operand(
        "projection projection_matrix projections omega omegas w proj random_matrix",
        axes=("cd", "dc"),
        drawn={"": "np.random.RandomState({draw}).standard_normal({n})"},
        has_own_order=True,
    ),
    "as query": Operand("is_query query for_query"),
    "rate": Operand(
        "p rate dropout_p dropout dropout_rate p_dropout dropout_prob attn_dropout drop_rate attention_dropout "
        "dropout_probability"
    ),
    "in training": Operand("training train is_training"),
    "evaluating": Operand("deterministic inference evaluation"),
    "shared": Operand("broadcast_dropout"),
    "source": Operand(
        "seed rng key generator random_state prng_key rng_key dropout_rng dropout_key",
        is_source=True,
    ),
    "causal": Operand("causal is_causal", is_flag=True),
    "q1": Operand("q1 q_1 query1 query_1", axes=("bhtd",), drawn=NORMAL),
    "q2": Operand("q2 q_2 query2 query_2", axes=("bhtd",), drawn=NORMAL),
    "k1": Operand("k1 k_1 key1 key_1", axes=("bgsd",), drawn=NORMAL),
    "k2": Operand("k2 k_2 key2 key_2", axes=("bgsd",), drawn=NORMAL),
    "lam": Operand(
        "lam lambda lambda_full lmbda lambd lamb lambda_val lambdas λ",
        axes=("", "h"),
        drawn={"": "(0.2 + 0.6 * r.random_sample({n}))"},
        has_own_order=True,
    ),
    "lambda init": Operand("lambda_init lam_init lambda_0 lambda_initial"),
    "top_k": Operand("top_k topk k_top keep_k num_selected"),
    "own key": Operand("attend_current attend_self include_self sees_itself inclusive", is_flag=True),
    "state": Operand(
        "state initial_state recurrent_state hidden hidden_state h0 s0 memory carry past_state cache",
        is_kept=True,
    ),
    "cache": Operand(
        "cache kv_cache past past_key_value past_key_values layer_past past_kv state carry hidden memory mems "
        "cache_params past_keys_values",
        is_kept=True,
    ),
    "past keys": Operand("past_key past_k past_keys key_cache k_cache", is_kept=True),
    "past values": Operand("past_value past_v past_values value_cache v_cache", is_kept=True),
    "first place": Operand(
        "start_pos offset position_offset seq_offset past_len past_length start_index",
        told={"one": "a"},
    ),
    "places": Operand(
        "position_ids positions cache_position input_pos pos_ids",
        told={"t": "np.arange(a, b)", "bt": "np.arange(a, b)[None].repeat({batch}, 0)"},
    ),
    "step mask": Operand(
        "mask attn_mask attention_mask",
        told={
            f"{shape}: {meaning}": code.format(x=f"np.tri(b - a, b, a, dtype=bool){more}", kind="{kind}")
            for shape, more in {"ts": "", "b1ts": "[None, None]", "bts": "[None]"}.items()
            for meaning, code in (MEANINGS | ADDED).items()
        },
    ),
    "returns": Operand(
        "output_final_state return_state return_final_state use_cache return_cache return_kv return_present "
        "return_past output_cache"
    ),
    "chunk": Operand("chunk chunk_size block block_size chunk_len chunk_length", usual="{t}"),
    "log decay": Operand(
        "g gk log_decay log_g log_gate log_a log_alpha log_f log_gamma",
        axes=("bht", "bhtd", "h", ""),
        drawn={
            "": "(-r.random_sample({n}))",
            "strong": "(-5 - r.random_sample({n}))",
            "none": "(0 * r.random_sample({n}))",
        },
    ),
    "decay": Operand(
        "decay alpha gamma gate forget f lam a",
        axes=("bht", "bhtd", "h", ""),
        drawn={
            "": "(1 - 0.5 * r.random_sample({n}))",
            "strong": "(0.01 * r.random_sample({n}))",
            "none": "(1 + 0 * r.random_sample({n}))",
        },
        most=1.0,
    ),
    "beta": Operand(
        "beta betas",
        axes=("bht", "bhtd", "h", ""),
        drawn={"": "(0.1 + 0.8 * r.random_sample({n}))"},
        most=1.0,
    ),
}
"""What is handed over beside lengths. Batch b, heads h, those of keys g, queries t, keys s, width d, that of values
e, and 1 for an axis of length one. {hidden} is how many keys each batch element hides, {start} how many all hide:
of many more than a block of 64, and of very many more than one of 128.
Pages p, their size z, pages of each sequence m. Width of latents r, of channels that are turned x.
Blocks of queries i and of keys j, their size c."""

VALUES: Mapping[str, str] = {
    "whole": "q, k, v = np.round(q), np.round(k), np.round(v)",
    "large": "q, k = {loud} * q, {loud} * k",
    "low": "q, k = -3 - abs(q), -3 - abs(k)",
    "zeros": "q, k = 0 * q, 0 * k",
    "dominant": "k[:, :, -1] = {loud}",
    "offset": "v = v + {offset}",
    "constant": "v = np.ones_like(v)",
    "unit keys": "k = k / np.linalg.norm(k, axis=-1, keepdims=True)",
    "ties": "k = np.zeros_like(k) + k[:, :, :1]",
    "subnormal": "q = q * {tiny}",
    "very large": "q, k = {louder} * q, {louder} * k",
    "negative": "q, k = {louder} * (1 + abs(q)), -{louder} * (1 + abs(k))",
    "attracting": "q = 1 + abs(q); k[:, :, -1] = 8",
    # These go where no query may look.
    "huge keys": "k[:, :, {s} - {s} // 3:] = {huge}",
    "huge values": "v[:, :, {s} - {s} // 3:] = {huge}",
    "nan keys": "k[:, :, {s} - {s} // 3:] = np.nan",
    "nan values": "v[:, :, {s} - {s} // 3:] = np.nan",
    "infinite keys": "k[:, :, {s} - {s} // 3:] = np.inf",
    "infinite values": "v[:, :, {s} - {s} // 3:] = np.inf",
}
"""What is done to several arrays together, after they are drawn. Half precision gets smaller numbers."""

STANDS = {"o": "d", "s": "t", "e": "d", "g": "h", "r": "d", "x": "d", "f": "d"}
"""The axis of a layout in whose place another one stands."""


def spread(name: str, own: str, wanted: str, lengths: Mapping[str, int]) -> str:
    """The numpy of an array of four axes [b h t s] as a target takes it.

    Args:
        name: of the array.
        own: its axes in letters, and 1 for a length of one.
        wanted: the same of the target, and - for an axis that it does not take.
        lengths: of the letters.
    """
    code = name
    for axis, (has, takes) in enumerate(zip(own, wanted, strict=True)):
        if has == "1" and takes in "bhts":
            code = f"np.repeat({code}, {lengths[takes]}, {axis})"
    index = ["0" if takes == "-" else ":" for takes in wanted]
    while index and index[-1] == ":":
        index.pop()
    return f"{code}[{', '.join(index)}]" if index else code


def laid(name: str, axes: str, layout: str, cut: bool = False, own: bool = False) -> str:
    """The numpy of an array in the order of a layout, from that of this table.

    Args:
        name: of the array.
        axes: its letters.
        layout: letters of b, h, t and d; an axis that it lacks is of length one. Empty leaves all as it is.
        cut: whether only the tokens from a to b are taken.
        own: whether its axes keep their order. Those that no layout has are never left out.
    """
    places = [layout.find(STANDS.get(axis, axis)) for axis in axes] if layout else [*range(len(axes))]
    if own:
        known = [STANDS.get(axis, axis) in "bht" for axis in axes]
        places = [-1 if place < 0 and known[i] else i for i, place in enumerate(places)]
    index = ["0" if i < 0 else "a:b" if cut and axis in "ts" else ":" for i, axis in zip(places, axes, strict=True)]
    while index and index[-1] == ":":
        index.pop()
    code = f"{name}[{', '.join(index)}]" if index else name
    places = [i for i in places if i >= 0]
    order = tuple(sorted(range(len(places)), key=places.__getitem__))
    return code if [*order] == sorted(order) else f"{code}.transpose{order}"


def ordered(axes: str, layout: str) -> str:
    """The letters of an array in the order of a layout."""
    return "".join(axis for place in layout for axis in axes if STANDS.get(axis, axis) == place)


OPERANDS: Mapping[str, Operand] = {
    "heads": Operand(
        "heads num_heads n_heads h nheads n_head num_attention_heads nh total_num_heads",
        axis="h",
        is_own=True,
    ),
    "queries": Operand(
        "queries q_len query_length query_len seq_len_q num_queries n_queries tq i",
        axis="t",
    ),
    "keys": Operand(
        "keys k_len key_length key_len seq_len_k num_keys n_keys tk kv_len j s",
        axis="s",
    ),
    "length": Operand(
        "length seq_len seqlen n t max_len tokens sequence_length seq_length size max_seq_len max_length "
        "context_length l",
        instead=("queries", "keys"),
    ),
    "groups": Operand("", axis="g"),
    "vocabulary": Operand("", axis="v"),
    "batch": Operand("batch batch_size b bsz n", axis="b"),
    "capacity": Operand("capacity max_len max_length max_seq_len max_seq_length length size max_tokens"),
    "width": Operand(
        "width d dim d_model channels embed_dim hidden_size embedding_dim depth dimension num_channels d_hid "
        "dim_model",
        axis="d",
        is_own=True,
    ),
    "value_width": Operand("", axis="e"),
    "count": Operand(
        "num_features n_features nb_features features m feature_count num_random_features n_components",
        axis="c",
    ),
    "features": Operand("", axis="f", is_own=True),
    "pages": Operand("", axis="p"),
    "page_size": Operand("page_size block_size page_len page_length", axis="z"),
    "pages_each": Operand("", axis="m"),
    "query_blocks": Operand("", axis="i"),
    "key_blocks": Operand("", axis="j"),
    "block_size": Operand("block_size block", axis="k"),
    "turned_width": Operand("", axis="x"),
    "rank": Operand("", axis="r"),
    **ARRAY_OPERANDS,
}
"""All of them."""


class Bound:
    """The parameters of a target, by the roles of a kind.

    Args:
        parameters: name, kind and whether it must be given, of each; None if they cannot be seen.
        roles: those that the kind knows.
        unnamed: roles that those get, in this order, which must be given and whose names say nothing.
        placed: roles that the first parameters have, whatever they are called.
    """

    def __init__(
        self,
        parameters: Sequence[Sequence[Any]] | None,
        roles: Sequence[str],
        unnamed: Sequence[str] = (),
        placed: Sequence[str] = (),
    ) -> None:
        self.names: dict[str, str] = {}
        """The parameter of each role."""
        self.unknown: list[str] = []
        """Parameters that must be given, and have no role."""
        self.required: set[str] = set()
        """The roles that must be given."""
        self.off: dict[str, Any] = {}
        """What switches parameters off, by their names."""
        known = [*(parameters or ())]
        first = [name for name, kind, _ in known if kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
        if parameters is None or any(kind == "VAR_POSITIONAL" for _, kind, _ in known):
            first += placed[len(first) :]
        is_placed = len(placed) > 0 and len(first) >= len(placed)
        own = [next((r for r in placed if _spelled(name, r)), "") for name in first[: len(placed)]]
        if is_placed:
            self.names |= dict(zip(own if {*own} == {*placed} else placed, first, strict=False))
        self.placed = [role for name in first for role in placed if is_placed and self.names[role] == name]
        """The roles that are handed over by their place."""
        for name, kind, required in known:
            if name in self.names.values():
                continue
            role = next((r for r in roles if r not in self.names and _spelled(name, r)), "")
            free = [r for r in unnamed if r not in self.names and not {*OPERANDS[r].instead} & {*self.names}]
            role = role or next(iter(free * required), "")
            if role and OPERANDS[role].off is not None:
                # What must be given may say more than off.
                (self.unknown.append(name) if required else self.off.update({name: OPERANDS[role].off}))
            elif role and role not in self.names:
                self.names[role] = name
                self.required |= {role} if required else set()
            elif required and not kind.startswith("VAR"):
                self.unknown.append(name)
        for role in [role for role in self.names if OPERANDS[role].instead]:
            missing = [each for each in OPERANDS[role].instead if each not in self.names]
            if len(missing) == 1:
                self.names[missing[0]] = self.names.pop(role)


def _spelled(name: str, role: str) -> bool:
    return name.lower().strip("_") in OPERANDS[role].spellings


def is_off(name: str) -> bool:
    """Whether a parameter is one that is switched off."""
    return any(_spelled(name, role) for role, operand in OPERANDS.items() if operand.off is not None)
