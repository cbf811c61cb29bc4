"""Small classifiers before labelled sentences."""

import jax
import numpy as np

from attnlab_theory.labs.heads import encoder
from attnlab_theory.language.corpora import labelled_grammar
from attnlab_theory.language.corpora.reviews import Sizes, drawn
from attnlab_theory.language.models.classifier import Classifier, ClassifierConfig
from attnlab_theory.language.models.encoder_config import EncoderConfig
from attnlab_theory.language.text.words import Words

TEXT = Words(labelled_grammar.embedded().words)


def classifier(*, heads=2, layers=2, width=8, strength=0.3):
    """Random weights, so that every head matters."""
    config = EncoderConfig(vocabulary=len(TEXT), block=32, layers=layers, heads=heads, width=width)
    net = Classifier(ClassifierConfig(encoder=config), key=jax.random.key(0))
    return jax.tree.map(lambda x: x + strength * jax.random.normal(jax.random.key(x.size), x.shape), net)


def before_reviews(net, count=100):
    """The classifier before reviews of the grammar, and their labels."""
    reviews = drawn(1, Sizes(train=1, validation=1, test=count))[2]
    return encoder.reading(net, TEXT, reviews.texts), np.asarray(reviews.targets)
