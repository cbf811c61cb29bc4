"""What the parameters of a target are for, by their names; which must be given, which are switched off."""

from collections.abc import Mapping, Sequence
from typing import Any

ROLES: Mapping[str, tuple[str, ...]] = {
    "mask": ("mask", "attn_mask", "attention_mask"),
    "causal": ("causal", "is_causal"),
    "scale": ("scale", "softmax_scale", "sm_scale", "scaling"),
    "softcap": ("softcap", "soft_cap", "logit_cap", "logits_soft_cap", "logit_softcap", "attn_logit_softcapping"),
    "window": ("window", "window_size", "sliding_window", "local_window_size"),
    "bias": ("bias", "attn_bias", "attention_bias", "score_bias"),
    "grouped": ("enable_gqa",),
    "padding": ("key_padding_mask", "padding_mask", "src_key_padding_mask"),
    "lengths": (
        *("lengths", "seqlens", "seq_lens", "seq_lengths", "kv_lengths", "key_lengths", "kv_lens", "valid_lens"),
        *("valid_lengths", "key_value_seq_lengths", "seqlens_k", "cache_seqlens", "nonpad_kv_seqlen"),
    ),
    "segments": ("segment_ids", "segments", "document_ids", "doc_ids", "sequence_ids"),
    "sinks": ("sinks", "sink", "attention_sinks", "attn_sinks", "sink_logits", "s_aux"),
    "slopes": ("alibi_slopes", "slopes"),
}
"""What parameters are for, by their names."""

AT_REST: Mapping[str, Any] = {
    **dict.fromkeys(("dropout", "dropout_p", "dropout_rate", "attn_dropout", "attention_dropout", "p_drop"), 0.0),
    **dict.fromkeys(("training", "train", "is_training"), False),
    **dict.fromkeys(("deterministic", "inference"), True),
}
"""What switches dropout off, by the names of parameters: handed over where the default is another."""

IDLE: Mapping[str, str] = {
    "mask": "hides nothing",
    "causal": "False",
    "scale": "1/sqrt(width)",
    "grouped": "False",
    "bias": "zeros",
    "padding": "hides nothing",
    "lengths": "all keys",
    "segments": "one document",
    "sinks": "minus infinity",
    "slopes": "zeros",
}
"""What is handed over, of what must be, where a call asks nothing of it; by role, in words."""


OPERANDS = (("q", "query", "queries"), ("k", "key", "keys"), ("v", "value", "values"))
"""What q, k and v are called where they have no places."""


def by_name_only(parameters: Sequence[Sequence[Any]] | None) -> tuple[str, ...]:
    """The parameters of q, k and v where all three are handed over by name only; else none."""
    named = {each[0].lower(): each[0] for each in parameters or () if each[1] == "KEYWORD_ONLY"}
    found = [next((named[word] for word in words if word in named), "") for words in OPERANDS]
    return tuple(found) if all(found) else ()


def roles(parameters: Sequence[Sequence[Any]] | None) -> dict[str, str]:
    """The parameters whose names say what they are for, by role.

    Args:
        parameters: name, kind and whether it must be given, of each; None where that cannot be seen.

    Raises:
        ValueError: if one must be given and its name says nothing, or there are fewer than three.
    """
    if parameters is None:
        return {}
    places = [each for each in parameters if each[1] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    spreads = any(each[1] == "VAR_POSITIONAL" for each in parameters)
    operands = by_name_only(parameters)
    if len(places) < 3 and not spreads and not operands:
        named = ", ".join(each[0] for each in parameters if each[1] == "KEYWORD_ONLY")
        by_name = f" and, by name only, {named}" if named else ""
        raise ValueError(
            f"it takes {', '.join(each[0] for each in places) or 'nothing'}{by_name}, but is called as f(q, k, v); "
            "write an adapter: attnlab conform --template numpy"
        )
    found, unknown = {}, []
    places = places if operands else places[3:]
    for name, kind, required in [*places, *(each for each in parameters if each[1] == "KEYWORD_ONLY")]:
        if name in operands:
            continue
        role = next((role for role, names in ROLES.items() if name.lower() in names), "")
        if role:
            found.setdefault(role, name)
        elif required:
            unknown.append(name)
        del kind
    if unknown:
        raise ValueError(
            f"it must be given {', '.join(unknown)}, which no convention knows; write an adapter: "
            "attnlab conform --template numpy"
        )
    return found


def order_of(parameters: Sequence[Sequence[Any]] | None) -> str:
    """How the first three parameters are ordered: qkv, or as their names say, such as `values, keys, query`.

    Args:
        parameters: as `roles` has them.
    """
    places = [each[0] for each in parameters or () if each[1] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    first = "".join(name.lower().lstrip("_")[:1] for name in places[:3])
    return first if sorted(first) == ["k", "q", "v"] else "qkv"


def required(parameters: Sequence[Sequence[Any]] | None, names: Mapping[str, str], wants: str) -> frozenset[str]:
    """The roles of the parameters that must be given.

    Args:
        parameters: as `roles` has them.
        names: the parameters, by their role.
        wants: the feature that each call hands over by itself.

    Raises:
        ValueError: if one must be given that cannot be said to do nothing.
    """
    must = {each[0] for each in parameters or () if each[2]} - {*by_name_only(parameters)}
    found = frozenset(role for role, name in names.items() if name in must)
    if unsaid := [role for role in found if role not in IDLE and role != wants]:
        kinds = {"window": "sliding-window"}
        raise ValueError(
            f"it must be given {', '.join(names[role] for role in unsaid)}: judge it "
            f"--as {kinds.get(unsaid[0], unsaid[0])}, or write an adapter: attnlab conform --template numpy"
        )
    return found & IDLE.keys()
