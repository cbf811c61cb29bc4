"""Models to go on from: GPT-2 cut to its first layers, and what is refused."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from attnlab_theory.labs.captions import starts
from attnlab_theory.labs.captions.starts import cut_gpt2, read_model
from attnlab_theory.language.checkpoint import save_model
from attnlab_theory.language.models.gpt import GPT, load_gpt2
from attnlab_theory.language.models.tape import tape
from attnlab_theory.language.text import bpe
from attnlab_theory.language.text.bpe import SIZE
from attnlab_theory.language.text.characters import Characters

WIDTH, BLOCK = 12, 8


def write_gpt2(path, *, layers=2, vocabulary=SIZE):
    """Random weights under the names of transformers' GPT-2."""
    rng = np.random.default_rng(0)
    shapes = {"wte.weight": (vocabulary, WIDTH), "wpe.weight": (BLOCK, WIDTH)}
    norms = ["ln_f"]
    for layer in range(layers):
        at = f"h.{layer}."
        norms += [f"{at}ln_1", f"{at}ln_2"]
        for name, size in {"attn.c_attn": 3, "attn.c_proj": 1, "mlp.c_fc": 4}.items():
            shapes |= {f"{at}{name}.weight": (WIDTH, size * WIDTH), f"{at}{name}.bias": (size * WIDTH,)}
        shapes |= {f"{at}mlp.c_proj.weight": (4 * WIDTH, WIDTH), f"{at}mlp.c_proj.bias": (WIDTH,)}
    for name in norms:
        shapes |= {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}
    save_file({name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}, path)
    return path


@pytest.mark.slow("what cannot be cut, and heads that must be tied, stay inside")
def test_a_cut_gpt2_is_its_first_layers_with_a_head_of_its_own(tmp_path):
    """Writes a model with all of GPT-2's tokens, and reads it twice."""
    path = write_gpt2(tmp_path / "gpt2.safetensors")
    whole, saved = load_gpt2(path, heads=starts.HEADS), cut_gpt2(path, layers=1, block=5, dropout=0.2)
    model = saved.model
    assert (model.config.layers, model.config.block, model.config.tied, model.config.residual_dropout) == (
        1,
        5,
        False,
        0.2,
    )
    assert np.array_equal(model.head.weight, whole.tokens.T)
    tokens = jnp.arange(5)
    x = whole.tokens[tokens] + whole.positions[:5]
    from attnlab_theory.language.models.weighing import place

    x, _ = tape(whole.blocks[0].walk(x[None], place(1, 5, None, None), None)).end
    np.testing.assert_allclose(model(tokens), (whole.ln_f(x) @ whole.tokens.T)[0], rtol=1e-4, atol=1e-4)
    assert saved.about["origin"] == {"gpt2": "gpt2.safetensors", "layers": 1}


def test_what_cannot_be_cut_is_refused(tmp_path):
    path = write_gpt2(tmp_path / "gpt2.safetensors")
    with pytest.raises(ValueError, match="has layers 2, fewer than the 3 that are wanted"):
        cut_gpt2(path, layers=3, block=5, dropout=0.0)
    with pytest.raises(ValueError, match="has block 8, fewer than the 35"):
        cut_gpt2(path, layers=1, block=35, dropout=0.0)
    small = write_gpt2(tmp_path / "small.safetensors", vocabulary=99)
    with pytest.raises(ValueError, match="has 99 tokens, not GPT-2's 50257"):
        cut_gpt2(small, layers=1, block=5, dropout=0.0)


@pytest.mark.slow("models that cannot be cut, which are refused, stay inside")
def test_tokens_beside_the_file_must_be_gpt2s(tmp_path):
    """Writes a model with all of GPT-2's tokens, and reads it twice."""
    path = write_gpt2(tmp_path / "gpt2.safetensors")
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    (tmp_path / "vocab.json").write_text(json.dumps(bpe.numbers()), "utf-8")
    cut_gpt2(path, layers=1, block=5, dropout=0.0)
    swapped = bpe.numbers() | {"a": bpe.numbers()["b"], "b": bpe.numbers()["a"]}
    (tmp_path / "vocab.json").write_text(json.dumps(swapped), "utf-8")
    with pytest.raises(ValueError, match=r"has tokens of its own, and texts are read here with GPT-2's"):
        cut_gpt2(path, layers=1, block=5, dropout=0.0)


@pytest.mark.slow("refusals of other checkpoints and of what cannot be cut stay inside")
def test_a_model_of_another_lab_or_size_is_refused(tmp_path):
    """Draws the weights of two models, and writes them."""
    from tests.labs.captions.test_heads import CONFIG, TEXT, stirred

    save_model(tmp_path / "words", stirred(), TEXT, {})
    assert isinstance(read_model(tmp_path / "words", width=12).model, GPT)
    with pytest.raises(ValueError, match="holds a model with width 12, not 99; leave the option out"):
        read_model(tmp_path / "words", width=99)
    characters = Characters("□⁇" + "abcdefgh"[: CONFIG.vocabulary - 2])
    save_model(tmp_path / "characters", stirred(), characters, {})
    with pytest.raises(ValueError, match="holds no model of sentences"):
        read_model(tmp_path / "characters")
