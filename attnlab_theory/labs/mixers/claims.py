"""The claims about mixers, of uw/2.2 and of this lab."""

from attnlab_theory.claims import Beyond, Identity, Instead, Paired, Statement, Verdict
from attnlab_theory.labs.mixers.arms import CAUSAL, LEAKING
from attnlab_theory.labs.perplexity import MARGIN, without_context
from attnlab_theory.stats import Interval

ROUNDING = 1e-4
"""The losses of a causal model with and without later tokens differ by at most this, by rounding in float32."""

ROUTES = 0.9
"""A head routes a token if its weight is at least this."""

SEEDS_NEEDED = 10
"""The least number of seeds for a verdict on equivalence. Five resolve two standard deviations at best."""

SAME = Interval(-MARGIN, MARGIN)

DIFFERENCE = "test loss less that of separate"

GAP = "honest less teacher-forced loss"

LEAKED = "mean honest less teacher-forced loss"

NEAREST = "greatest of the least wanted weights"

CANNOT_ROUTE = "No head whose queries are its keys gives each of three wanted tokens more than half of its weight."

BY_A_UNIGRAM = without_context("separate")

EQUAL_WEIGHTS = Instead("a head that gives its three tokens equal weights", Interval.point(1 / 3))

QUERIES_OF_ITS_OWN = Beyond(
    "a head with queries of its own", "least wanted weight", {"head": "separate"}, above=0.5
)
"""That one head cannot route says something only if the other one does."""

STATEMENTS = (
    Statement(
        name="nobody-beats-the-grammar",
        statement="No causal model's loss is below that of the grammar itself.",
        source="uw/2.2",
        quantity="loss above the grammar",
        where={"arm": CAUSAL},
        predicted=Interval.at_least(0.0),
        control=Identity("Gibbs's inequality"),
        of_training=False,
    ),
    Statement(
        name="the-leak-passes-the-floor",
        statement="The loss of a model that looks ahead is below that of the grammar itself.",
        source="uw/2.2",
        quantity="loss above the grammar",
        where={"arm": LEAKING},
        predicted=Interval.at_most(0.0),
        control=Paired("the grammar itself"),
        expect=None,
        of_training=False,
    ),
    Statement(
        name="causal-losses-are-honest",
        statement="A causal model's loss does not depend on what comes later, up to rounding.",
        source="uw/2.2",
        quantity=GAP,
        where={"arm": CAUSAL},
        predicted=Interval(-ROUNDING, ROUNDING),
        control=Beyond(
            "the model of the same seed with a mask of zeros", GAP, {"arm": "zero-after"}, above=ROUNDING
        ),
        of_training=False,
    ),
    *(
        Statement(
            name="zero-masks-lose-without-the-future",
            statement="The loss of models with a mask of zeros rises when PAD replaces the later tokens.",
            source="uw/2.2",
            quantity=LEAKED,
            where={"arm": arm},
            predicted=Interval.at_least(0.0),
            control=Paired("the same models with the later tokens in sight"),
            expect=expect,
        )
        for arm, expect in (("zero-after", Verdict.SUPPORTED), ("zero-before", None))
    ),
    Statement(
        name="sharing-stays-within-the-margin",
        statement=f"Sharing projections changes the loss by at most {MARGIN:g} nats per token (equivalence).",
        source="uw/2.2",
        quantity=DIFFERENCE,
        where={"arm": ("shared-qk", "shared-qkv")},
        predicted=SAME,
        control=BY_A_UNIGRAM,
        expect=None,
        least=SEEDS_NEEDED,
    ),
    Statement(
        name="additive-stays-within-the-margin",
        statement=f"Additive attention changes the loss by at most {MARGIN:g} nats per token (equivalence).",
        source="uw/2.2",
        quantity=DIFFERENCE,
        where={"arm": "additive"},
        predicted=SAME,
        control=BY_A_UNIGRAM,
        expect=None,
        least=SEEDS_NEEDED,
    ),
    Statement(
        name="additive-is-better-by-the-margin",
        statement=f"Additive attention lowers the loss by at least {MARGIN:g} nats per token.",
        source="uw/2.2",
        quantity=DIFFERENCE,
        where={"arm": "additive"},
        predicted=Interval.at_most(-MARGIN),
        control=Paired("dot-product attention"),
        expect=None,
    ),
    Statement(
        name="separate-queries-route",
        statement="A head with queries of its own routes a cycle of three.",
        source="uw/2.2.2",
        quantity="least wanted weight",
        where={"head": "separate"},
        predicted=Interval.at_least(ROUTES),
        control=EQUAL_WEIGHTS,
    ),
    Statement(
        name="several-shared-heads-route",
        statement="Several heads whose queries are their keys, with weights of either sign, route the cycle.",
        source="uw/2.2",
        quantity="least wanted weight",
        where={"head": ("shared-qk, two heads", "shared-qk, three heads")},
        predicted=Interval.at_least(ROUTES),
        control=EQUAL_WEIGHTS,
        expect=None,
    ),
    Statement(
        name="shared-queries-cannot-route",
        statement=CANNOT_ROUTE,
        source="uw/2.2",
        quantity=NEAREST,
        predicted=Interval.at_most(0.5),
        control=QUERIES_OF_ITS_OWN,
        of_training=False,
    ),
    Statement(
        name="shared-queries-cannot-route",
        statement=CANNOT_ROUTE,
        source="uw/2.2",
        quantity="least wanted weight",
        where={"head": "shared-qk"},
        # A run of an older version has the mean over heads, and not the head that comes nearest.
        predicted=lambda _, every: None if any(e.quantity == NEAREST for e in every) else Interval.at_most(0.5),
        control=QUERIES_OF_ITS_OWN,
    ),
)
