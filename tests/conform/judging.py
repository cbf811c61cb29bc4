"""A target and its kind, as everybody gets them judged, and the cases of an identity."""

from attnlab_theory.conform.calling import Convention
from attnlab_theory.conform.identities import Covering, RightAt
from attnlab_theory.conform.kinds.softmax.declaration import SOFTMAX
from attnlab_theory.conform.kinds.softmax.problems import problem
from attnlab_theory.conform.suite import suite_class

COVERED = ("pairs", "triples")


def suite(caller, kind, declared=None):
    """The suite of a kind."""
    return suite_class(kind)(caller, kind, declared)


def asked(spec, given=None):
    """A case of softmax attention, its arrays, and what it asks, by the conventions that are tried first.

    Args:
        spec: the case in short.
        given: arrays in the place of its own.
    """
    stage = SOFTMAX.stages[0]
    chosen = {name: values[0] for name, values in {**stage.forms, **stage.choices}.items()}
    names = {role: role for role in SOFTMAX.operands}
    case = Convention(framework="numpy", names=names, chosen=chosen).with_arrays(SOFTMAX, SOFTMAX.case(spec))
    given = case.operands() if given is None else given
    return case, given, problem(case, chosen, given)


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
