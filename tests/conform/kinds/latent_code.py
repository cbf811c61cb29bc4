"""Latent attention, plain and absorbed, right in several styles, and with bugs planted in it."""

import numpy as np

KIND = "latent"


def softmax(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def hidden(x, shift=0):
    """Scores without what comes after a query."""
    t, s = x.shape[-2:]
    return np.where(np.tri(t, s, s - t + shift, dtype=bool), x, x.dtype.type(-np.inf))


def plain(q, c, wk, wv, mask=None):
    """[b t h d], no turned channels, matrices [r h d]: keys and values first."""
    k, v = np.einsum("bsr,rhd->bshd", c, wk), np.einsum("bsr,rhe->bshe", c, wv)
    x = np.einsum("bthd,bshd->bhts", q, k) * q.dtype.type(q.shape[-1] ** -0.5)
    x = x if mask is None else np.where(mask[:, None, None], x, x.dtype.type(-np.inf))
    return np.einsum("bhts,bshe->bthe", softmax(x), v)


def both(q_nope, q_pe, c_kv, k_pe, w_uk, w_uv, causal=False, absorb=False):
    """[b h t d], matrices [h d r] and [h e r], either form."""
    asked = np.einsum("bhtd,hdr->bhtr", q_nope, w_uk)
    keys = np.einsum("bsr,hdr->bhsd", c_kv, w_uk)
    x = np.einsum("bhtr,bsr->bhts", asked, c_kv) if absorb else np.einsum("bhtd,bhsd->bhts", q_nope, keys)
    x = x + np.einsum("bhtx,bsx->bhts", q_pe, k_pe)
    x = x * x.dtype.type((q_nope.shape[-1] + q_pe.shape[-1]) ** -0.5)
    w = softmax(hidden(x) if causal else x)
    if absorb:
        return np.einsum("bhtr,her->bhte", np.einsum("bhts,bsr->bhtr", w, c_kv), w_uv)
    return np.einsum("bhts,bhse->bhte", w, np.einsum("bsr,her->bhse", c_kv, w_uv))


def one_row(q, q_rope, kv, k_rope, w_kc, w_vc, scale=None):
    """Causal, absorbed, as one head of keys that is as wide as latents and turned channels together; [h r d]."""
    one = q.dtype.type
    wide = np.concatenate([np.einsum("bhtd,hrd->bhtr", q, w_kc), q_rope], -1)
    x = wide @ np.swapaxes(np.concatenate([kv, k_rope], -1), -1, -2)[:, None]
    w = softmax(hidden(x * one(scale or (q.shape[-1] + q_rope.shape[-1]) ** -0.5)))
    return np.einsum("bhtr,hre->bhte", w @ kv[:, None], w_vc)


RIGHT = (plain, both, one_row)


def buggy(bug):
    """Both forms, and a word for what is wrong."""

    def target(q_nope, q_pe, c_kv, k_pe, w_uk, w_uv, causal=False, absorb=False, key_padding_mask=None):
        one, r = q_nope.dtype.type, c_kv.shape[-1]
        c = c_kv[:1] + 0 * c_kv if bug == "latents of the first" else c_kv
        beside = k_pe[:1] + 0 * k_pe if bug == "turned keys of the first" else k_pe
        up = w_uk[::-1] if bug == "heads reversed where absorbed" and absorb else w_uk
        down = w_uv[:1] + 0 * w_uv if bug == "values of one head where absorbed" and absorb else w_uv
        if bug == "values by keys' matrix" and w_uk.shape == w_uv.shape:
            down = w_uk
        if absorb:
            asked = np.einsum("bhtd,hdr->bhtr", q_nope, up)
            asked = asked.astype(np.float16).astype(one) if bug == "absorbed queries in half precision" else asked
            x = np.einsum("bhtr,bsr->bhts", asked, c)
        else:
            x = np.einsum("bhtd,bhsd->bhts", q_nope, np.einsum("bsr,hdr->bhsd", c, up))
        if bug != "turned channels forgotten where absorbed" or not absorb:
            x = x + np.einsum("bhtx,bsx->bhts", q_pe, beside)
        width = q_nope.shape[-1] + q_pe.shape[-1]
        if bug == "scale of the latents where absorbed" and absorb:
            width = r + q_pe.shape[-1]
        x = x * one(width**-0.5)
        if key_padding_mask is not None and not (bug == "padding ignored where absorbed" and absorb):
            x = np.where(key_padding_mask[:, None, None], x, one(-np.inf))
        if causal and not (bug == "flag ignored where absorbed" and absorb):
            x = hidden(x, {"sees one more": 1}.get(bug, 0))
            x = np.maximum(x, -100) if bug == "small fill" else x
        w = softmax(x)
        if absorb:
            out = np.einsum("bhtr,her->bhte", np.einsum("bhts,bsr->bhtr", w, c), down)
        else:
            out = np.einsum("bhts,bhse->bhte", w, np.einsum("bsr,her->bhse", c, down))
        if bug == "ranks above 64 cut" and r > 64:
            out = np.einsum("bhts,bhse->bhte", w, np.einsum("bsr,her->bhse", c[..., :64], down[..., :64]))
        return out

    return target


BUGS = (
    "latents of the first", "turned keys of the first", "heads reversed where absorbed",
    "values of one head where absorbed", "values by keys' matrix", "absorbed queries in half precision",
    "turned channels forgotten where absorbed", "scale of the latents where absorbed",
    "padding ignored where absorbed", "flag ignored where absorbed", "sees one more", "small fill",
    "ranks above 64 cut",
)  # fmt: skip
