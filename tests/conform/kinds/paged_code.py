"""Attention over paged caches, right in several styles, and with bugs planted in it."""

import numpy as np

KIND = "paged"


def softmax(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def one_by_one(q, k_pages, v_pages, block_table, seq_lens):
    """[b t h d], pages [p z g d]: one sequence after the other; the queries are its last tokens."""
    out = np.zeros((*q.shape[:3], v_pages.shape[-1]), q.dtype)
    for i, (row, n) in enumerate(zip(block_table, seq_lens, strict=True)):
        k, v = (
            x[row].reshape(-1, *x.shape[2:])[:n].repeat(q.shape[2] // x.shape[2], 1) for x in (k_pages, v_pages)
        )
        x = np.einsum("thd,shd->hts", q[i], k) * q.dtype.type(q.shape[-1] ** -0.5)
        x = np.where(np.tri(q.shape[1], n, n - q.shape[1], dtype=bool), x, -np.inf).astype(q.dtype)
        out[i] = np.einsum("hts,she->the", softmax(x), v)
    return out


def one_query(query, key_cache, value_cache, block_tables, context_lens, scale=None):
    """[b h d], pages [p g z d], as vLLM's reference: all pages at once, and a large negative number."""
    g, d = key_cache.shape[1], query.shape[-1]
    k, v = (
        x[block_tables].swapaxes(2, 3).reshape(len(query), -1, g, x.shape[-1]) for x in (key_cache, value_cache)
    )
    k, v = (x.repeat(query.shape[1] // g, 2) for x in (k, v))
    x = np.einsum("bhd,bshd->bhs", query, k) * query.dtype.type(scale or d**-0.5)
    hidden = np.arange(k.shape[1]) >= context_lens[:, None, None]
    x = np.where(hidden, np.finfo(x.dtype).min, x).astype(x.dtype)
    return np.einsum("bhs,bshe->bhe", softmax(x), v)


def page_by_page(q, page_table, lengths, k_pages, v_pages):
    """[b h t d], pages [g p z d] as in JAX's: a running maximum and sum, page by page."""
    out, (g, _, z, _) = np.zeros((*q.shape[:3], v_pages.shape[-1]), q.dtype), k_pages.shape
    for i, h in np.ndindex(*q.shape[:2]):
        top, total = np.full(q.shape[2], -np.inf, q.dtype), np.zeros(q.shape[2], q.dtype)
        group = h * g // q.shape[1]
        for j in range(-(-int(lengths[i]) // z)):
            held = slice(0, min(z, int(lengths[i]) - j * z))
            k, v = k_pages[group, page_table[i, j], held], v_pages[group, page_table[i, j], held]
            x = q[i, h] @ k.T * q.dtype.type(q.shape[-1] ** -0.5)
            new = np.maximum(top, x.max(-1))
            shrinks, raised = np.exp(top - new), np.exp(x - new[:, None])
            out[i, h] = out[i, h] * shrinks[:, None] + raised @ v
            top, total = new, total * shrinks + raised.sum(-1)
        out[i, h] /= total[:, None]
    return out


RIGHT = (one_by_one, one_query, page_by_page)


def buggy(bug):
    """Attention over a paged cache, and a word for what is wrong."""

    def target(q, k_cache, v_cache, block_table, cache_seqlens, causal=False, softmax_scale=None):
        one, (b, t, h, d), (_, z, g, _) = q.dtype.type, q.shape, k_cache.shape
        table = {
            "table ignored": np.arange(block_table.size).reshape(block_table.shape),
            "table of the first": block_table[:1] + 0 * block_table,
            "pages in reverse": block_table[:, ::-1],
            "pages sorted": np.sort(block_table, -1),
            "two pages at most": block_table[:, [*range(min(2, block_table.shape[1]))] * block_table.shape[1]],
        }.get(bug, block_table)[:, : block_table.shape[1]]
        k = k_cache[table].reshape(b, -1, g, d)
        v = v_cache[block_table[::-1] if bug == "values of another sequence" else table].reshape(
            b, k.shape[1], g, -1
        )
        order = np.arange(h) * g // h
        if bug == "groups of three turn" and h == 3 * g:
            order = np.arange(h) % g
        k, v = k[:, :, order], v[:, :, order]
        n = cache_seqlens.astype(int)
        n = {
            "lengths of the first": 0 * n + n[0],
            "one key more": n + 1,
            "one key less": np.maximum(n - 1, 1),
            "rest of the last page": -(-n // z) * z,
            "lengths in a byte": np.maximum(n % 128, 1),
            "full pages only": np.maximum(n // z * z, 1),
        }.get(bug, n)[:, None, None, None]
        factor = d**-0.5 if softmax_scale is None or bug == "scale ignored" else softmax_scale
        x = np.einsum("bthd,bshd->bhts", q, k) * one(factor)
        at = np.arange(k.shape[1])
        seen = at < n
        if causal and bug != "flag ignored":
            begin = 0 if bug == "queries at the start" else n - t
            seen = seen & (at <= begin + np.arange(t)[:, None])
        if bug == "pages of 16 only" and z % 16 and z > 16:
            seen = seen & (at % z < 16)
        x = np.where(seen, x, one(-30) if bug == "small fill" else one(-np.inf))
        weights = softmax(x)
        if bug == "in half precision":
            weights = weights.astype(np.float16)
        if bug == "writes into the table":
            block_table[:, -1] = 0
        return np.einsum("bhts,bshe->bthe", weights.astype(q.dtype), v)

    return target


BUGS = (
    "table ignored", "table of the first", "pages in reverse", "pages sorted", "two pages at most",
    "values of another sequence", "groups of three turn", "lengths of the first", "one key more", "one key less",
    "rest of the last page", "lengths in a byte", "full pages only", "scale ignored", "flag ignored",
    "queries at the start", "pages of 16 only", "small fill", "in half precision", "writes into the table",
)  # fmt: skip
