"""The heads of an encoder: its scores give its weights, whatever fills up the rows, and its tokens are named."""

import jax
import jax.numpy as jnp
import pytest

from attnlab_theory.labs.heads import encoder
from attnlab_theory.labs.heads.opening import opened
from attnlab_theory.labs.heads.traces import softmax
from attnlab_theory.language.models.encoder import Encoder
from attnlab_theory.language.models.encoder_config import EncoderConfig, Layout
from attnlab_theory.language.models.tape import tape
from attnlab_theory.language.text.wordpiece import WordPiece
from tests.language.models import gap, rounding

SENTENCES = ("a cat runs", "the cat", "a " * 20)


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "vocab.txt"
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "run", "##s", "the"]))
    text = WordPiece.of_vocabulary(path, lower=True)
    config = EncoderConfig(
        vocabulary=len(text), block=16, layers=2, heads=2, width=8, hidden=16, layout=Layout.BERT, pad=text.pad
    )
    model = Encoder(config, key=jax.random.key(0))
    model = jax.tree.map(lambda x: x + 0.5 * jax.random.normal(jax.random.key(x.size), x.shape), model)
    return encoder.reading(model, text, SENTENCES)


@pytest.mark.slow("where given weights go, and MiniLM's hidden states, stay inside")
def test_softmax_of_the_scores_is_what_the_model_weighs_by(read):
    """Runs the model three times on each of two sentences, operation by operation."""
    for number, trace in zip((2, 0), read.traces((2, 0)), strict=True):
        ids = jnp.asarray(read.tokens[number].ids, jnp.int32)[None]

        def weights_and_values(model, ids=ids):
            found = tape(model.walk(ids, jnp.ones(ids.shape, bool)), keep=["layers.*.weights", "layers.*.v"])
            return tuple(jnp.stack([each[0] for each in found.layers(name)]) for name in ("weights", "v"))

        found = softmax(trace.scores()), trace.v
        assert gap(found, weights_and_values(read.model)) <= rounding(weights_and_values, read.model)


@pytest.mark.slow("that reviews stand between marks and are cut before the last stays inside")
def test_sentences_stand_between_marks_and_are_cut_before_the_last(read):
    first, _, long = read.tokens
    assert [read.name_of(int(token)) for token in first.ids] == ["[CLS]", "a", "cat", "run", "##s", "[SEP]"]
    assert first.special.tolist() == [True, False, False, False, False, True]
    assert (len(long.ids), read.name_of(int(long.ids[-1])), long.special.sum()) == (16, "[SEP]", 2)


def test_a_folder_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"config\.json"):
        opened(tmp_path, SENTENCES)
