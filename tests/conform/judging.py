"""A target and its kind, as everybody gets them judged, and the cases of an identity."""

from attnlab_theory.conform.identities import Covering, RightAt
from attnlab_theory.conform.suite import suite_class

COVERED = ("pairs", "triples")


def suite(caller, kind, declared=None):
    """The suite of a kind."""
    return suite_class(kind)(caller, kind, declared)


def law_of(kind, identity):
    """A law of right numbers at some cases; None where it is another law."""
    law = suite_class(kind).DECLARATION.laws[identity]
    law = getattr(law, "law", law)
    return law if isinstance(law, RightAt | Covering) else None


def cases_of(suite, identity):
    """The cases of such a law."""
    law = law_of(suite.name, identity)
    return (
        suite.judge.cases(law.specs) if isinstance(law, RightAt) else [case for case, _ in law.cases(suite.judge)]
    )
