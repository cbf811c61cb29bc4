"""Guesses of the homework's report about recurrent networks, and a claim about every model of a known language."""

from typing import Any

from attnlab_theory.claims import Identity, Paired, Statement
from attnlab_theory.labs.recurrent.arms import FURTHEST
from attnlab_theory.stats import Interval

LESS = "loss at equal parameters, less"

GAIN = "loss of the W-RNN less the RNN's"

GAIN_BY_SIZE = "slope of that by doublings of the hidden layer"

GARBLED = "garbled words"

GARBLED_BY_RATE = "slope of that by decades of the rate"

FADED = "log gradient less the GPT's"

GUESS: dict[str, Any] = {"source": "cs224n/rnn", "predicted": Interval.at_most(0.0), "expect": None}
"""The report guesses only signs, so there is no better prediction."""

STATEMENTS = (
    Statement(
        name="nobody-beats-the-grammar",
        statement="No model's loss is below that of the grammar itself.",
        source="cs224n/rnn",
        quantity="loss above the grammar",
        predicted=Interval.at_least(0.0),
        control=Identity("Gibbs's inequality"),
        of_training=False,
    ),
    *(
        Statement(
            name=f"{arm}-beats-the-rnn",
            statement=f"With equal parameters and equally many tokens the {name} has a lower loss than the RNN.",
            quantity=LESS,
            where={"model": arm, "against": "rnn"},
            control=Paired("the RNN"),
            **GUESS,
        )
        for arm, name in (("w-rnn", "W-RNN"), ("gpt", "GPT"))
    ),
    Statement(
        name="recurrent-gradients-fade-further",
        # Untrained networks pass too, so nothing is said of what networks learn.
        statement="By its architecture, trained or not, a recurrent network leaves less of the gradient at a "
        f"distance of {FURTHEST} tokens than a GPT.",
        quantity=FADED,
        control=Paired("the GPT"),
        **GUESS,
    ),
    Statement(
        name="w-rnn-gains-as-it-grows",
        statement="The larger the hidden layer, the more the W-RNN gains on the RNN.",
        quantity=GAIN_BY_SIZE,
        control=Paired("a gain that is equal at every size"),
        **GUESS,
    ),
    Statement(
        name="lower-rates-garble-more",
        statement="A lower learning rate gives more garbled text, after equally many steps.",
        quantity=GARBLED_BY_RATE,
        control=Paired("models that garble alike at every rate, as untrained ones do"),
        **GUESS,
    ),
)
