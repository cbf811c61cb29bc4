import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.labs.knowledge import lookup
from attnlab_theory.labs.knowledge.answers import Answers
from attnlab_theory.labs.knowledge.corpora.birthplaces import QUESTION, vocabulary
from attnlab_theory.labs.knowledge.variants import VARIANTS, configured
from attnlab_theory.language.models.attention_maps import attention_maps
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.text.characters import MASK
from tests.labs.knowledge.models import answered

NAME = "Ada"
ASKED = QUESTION.format(name=NAME) + MASK
CHARACTERS = vocabulary(NAME + "Bonn")
SCORED = [name for name in VARIANTS if name != "features"]


def small(variant):
    config = configured(
        variant, vocabulary=len(CHARACTERS), layers=1, heads=2, width=8, block=len(ASKED) + 4, dropout=0.0
    )
    return GPT(config, key=jax.random.key(0))


@pytest.mark.slow("nothing inside asks this; weights beyond the block stay inside")
@pytest.mark.parametrize("variant", SCORED)
def test_an_answer_that_does_not_end_is_looked_at_as_far_as_the_block_reaches(variant):
    model, answers = small(variant), Answers([answered(name=NAME, predicted="Bonn" * 8)])
    heads = lookup.on_the_name(model, CHARACTERS, answers, 0.05)
    found, other = lookup.lookup(model, CHARACTERS, answers, heads)
    assert {found.head, other.head} == {1, 2}
    reaches = model.config.longest or len(ASKED) + 32
    assert found.characters == (ASKED + "Bonn" * 8)[:reaches]
    assert found.weights.shape == (reaches, reaches)
    # A sum of as many weights, each rounded, over a normaliser that is such a sum itself.
    assert np.max(np.abs(found.weights.sum(axis=-1) - 1)) <= 2 * reaches * np.finfo(np.float32).eps


def test_weights_beyond_the_block_are_refused():
    """Makes a model, and compiles what draws its weights."""
    model = small("vanilla")
    with pytest.raises(ValueError, match=f"at most {model.config.block}, the block of this model"):
        attention_maps(model, jnp.zeros((1, model.config.block + 1), jnp.int32))
