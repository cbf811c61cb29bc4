"""PyTorch: dropout of weights."""

import torch
from torch.nn.functional import scaled_dot_product_attention


def sdpa(q, k, v, p, seed):
    """[b h t d]."""
    torch.manual_seed(int(seed))
    return scaled_dot_product_attention(q, k, v, dropout_p=float(p))
