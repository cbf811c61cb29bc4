"""Makes the GPT-2 checkpoints of this folder and what transformers computes from them.

Run from the repository root, with torch and transformers installed (extra `peers`):
`python tests/language/reference/make_gpt2.py`. The same versions write the same bytes.
"""

from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import GPT2Config, GPT2LMHeadModel

HERE = Path(__file__).parent
CASES = {
    "gpt2_plain": {"n_layer": 2, "n_head": 2, "n_embd": 8, "vocab_size": 11, "n_positions": 7},
    "gpt2_narrow": {"n_layer": 1, "n_head": 1, "n_embd": 4, "n_inner": 6, "vocab_size": 5, "n_positions": 4},
    "gpt2_exact": {
        "n_layer": 1,
        "n_head": 4,
        "n_embd": 8,
        "vocab_size": 9,
        "n_positions": 6,
        "activation_function": "gelu",
        "layer_norm_epsilon": 1e-3,
    },
}


def make(name: str, sizes: dict) -> None:
    torch.manual_seed(sum(name.encode()))
    config = GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            # Nothing stays at zero or one, and the numbers are short, so that the file is.
            weights.copy_((weights + 0.4 * torch.randn_like(weights)).half().float())
    # float64 says what the answer is; both sides of the comparison then round once.
    model.double()
    tokens = torch.randint(config.vocab_size, (2, config.n_positions))
    logits = model(tokens).logits
    mean = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    mean.backward()

    folder = HERE / name
    folder.mkdir(exist_ok=True)
    half = {k: v.detach().half().numpy() for k, v in model.named_parameters()}
    if name == "gpt2_narrow":  # as the oldest files: no prefix, masks and their fill value beside
        half = {k.removeprefix("transformer."): v for k, v in half.items()}
        t = config.n_positions
        half["h.0.attn.bias"] = np.tril(np.ones((1, 1, t, t), np.float16))
        half["h.0.attn.masked_bias"] = np.array(-1e4, np.float16)
    save_file(half, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(config.to_json_string(use_diff=True))
    expected = {"tokens": tokens.int().numpy(), "logits": logits.detach().float().numpy()}
    expected |= {f"d {k}": v.grad.float().numpy() for k, v in model.named_parameters()}
    save_file(expected, folder / "expected.safetensors")


if __name__ == "__main__":
    for name, sizes in CASES.items():
        make(name, sizes)
