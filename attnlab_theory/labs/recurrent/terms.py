"""The meaning of the words in the tables of this lab's pages, by the name of the run's record."""

from collections.abc import Mapping

from attnlab_theory.labs.terms import ABOVE, ARM

TERMS: Mapping[str, Mapping[str, str]] = {
    "recurrent": {
        "arm": ARM,
        "w-rnn": "a homework's RNN with a second hidden layer, which reads the first layer at this step and at the "
        "step before",
        "rnn-16, w-rnn-16": "a hidden layer of so many units",
        "against": "the network that is subtracted",
        "loss above the grammar": ABOVE,
        "difference of loss at equal parameters": "the model's test loss minus that of the other, in nats per "
        "token",
        "first weights": "the weights before training",
        "distance": "how many places a token lies before the last one that the model reads",
        "log of the gradient's norm": "the logarithm of the norm of the last loss's gradient with respect to a "
        "token's vector, minus its value at distance 0",
        "hidden": "units of the hidden layer",
        "slope of that by doublings of the hidden layer": "the slope of the loss of the W-RNN minus the RNN's; "
        "above 0 its lead shrinks",
        "slope of that by decades of the rate": "the slope of the share of garbled words, for each factor 10 of "
        "the rate",
        "rate": "the learning rate",
        "garbled words": "the share of generated words that do not occur in the training text",
        "setting": "network, hidden units / characters of a window / learning rate",
        "published": "the smoothed loss in the homework's report, on another text",
        "smoothed loss": "0.999 of the value before plus 0.001 of the new loss, in nats per character, at the end",
    },
}
