"""What must pretraining contain so that a fact is recalled? Persons are grouped by the sentences about them."""

from collections.abc import Mapping

import numpy as np

from attnlab_theory.labs.estimates import Estimates, over_seeds, share
from attnlab_theory.labs.knowledge.accuracy import of_models
from attnlab_theory.labs.knowledge.answers import Answers
from attnlab_theory.labs.knowledge.arms import UNTRAINED
from attnlab_theory.labs.knowledge.corpora.biographies import Person
from attnlab_theory.stats import Interval

Truth = Mapping[tuple[int, str], Person]
"""Generated persons, by seed and name."""


def by_exposure(answers: Answers, truth: Truth, error_rate: float) -> Estimates:
    """The accuracy on held-out persons of each pretrained arm, by their numbers of wordings and of sentences.

    `accuracy by exposure` is that of all these models together. `accuracy gained by wordings` compares the most
    wordings with the fewest at equal numbers of sentences, over seeds. There is nothing if everybody has the same.
    """
    groups: dict[tuple[str, int, int], dict[int, list[bool]]] = {}
    for answer in answers:
        person = truth.get((answer.seed, answer.name))
        if person is not None and answer.group == "held-out" and answer.variant != UNTRAINED:
            exposure = (answer.variant, len(person.wordings), person.statements)
            groups.setdefault(exposure, {}).setdefault(answer.seed, []).append(answer.is_right)
    if len({exposure[1:] for exposure in groups}) < 2:
        return Estimates()
    found, worlds = [], dict[tuple[str, int], dict[int, dict[int, list[bool]]]]()
    for (variant, wordings, statements), by_seed in sorted(groups.items()):
        setting = {"variant": variant, "wordings": wordings, "statements": statements}
        right = np.concatenate([*map(np.array, by_seed.values())])
        found.append(share("accuracy by exposure", right, error_rate, of=of_models(len(by_seed)), **setting))
        worlds.setdefault((variant, statements), {})[wordings] = by_seed
    for (variant, statements), by_wordings in worlds.items():
        fewest, most = min(by_wordings), max(by_wordings)
        both = [seed for seed in by_wordings[most] if seed in by_wordings[fewest]]
        if fewest < most and both:
            gains = [float(np.mean(by_wordings[most][s]) - np.mean(by_wordings[fewest][s])) for s in both]
            told = {"variant": variant, "wordings": most, "statements": statements, "fewest_wordings": fewest}
            within = Interval(-1.0, 1.0)
            found.append(over_seeds("accuracy gained by wordings", gains, error_rate, within=within, **told))
    return Estimates(found)
