"""Answers of models that know and guess as one tells them to."""

import math

import numpy as np

from attnlab_theory.labs.knowledge.answers import Answered, Answers

PLACES = ("Accra", "Bern", "Cairo", "Dhaka", "Essen")
GROUPS = ("finetuned", "held-out", "never-seen")


def answered(**fields) -> Answered:
    plain = {"name": "Bada", "gold": "Bern", "predicted": "Bern", "log_probability": -0.1}
    return Answered(**{**plain, "group": "held-out", "variant": "vanilla", "seed": 0, **fields})


def row(rights: str, **fields) -> Answers:
    """Answers about persons of one group and seed: right at an r, else the wrong place (w) or no place (x)."""
    said, seed = {"r": "Bern", "w": "Cairo", "x": "Berm"}, fields.get("seed", 0)
    return Answers(
        answered(name=f"N{seed} {i}", predicted=said[letter], **fields) for i, letter in enumerate(rights)
    )


def models(accuracies: dict[str, float], *, seeds: int = 1, persons: int = 30, apart: float = 0.0) -> Answers:
    """Variants right about so many of the held-out, all of the finetuned and chance of the others.

    Seeds differ by `apart` or twice that. The never-seen are then answered right less often than by chance.
    A wrong answer is a place, the confidence of right answers is higher on average.
    """
    found = []
    for variant, accuracy in accuracies.items():
        for seed in range(seeds):
            rng = np.random.default_rng([seed, len(variant)])
            for group in GROUPS:
                for number in range(persons):
                    gold = PLACES[number % len(PLACES)]
                    less = apart * (seed % 3)
                    held_out = accuracy - less if accuracy > 0.5 else accuracy + less
                    share = {"finetuned": 1.0, "held-out": held_out, "never-seen": 0.2 - less - 2 * apart}[group]
                    is_right = number < share * persons
                    predicted = gold if is_right else PLACES[(number + 1 + int(rng.integers(4))) % len(PLACES)]
                    sure = rng.beta(8, 1) if is_right and group != "never-seen" else rng.beta(2, 3)
                    found.append(
                        answered(
                            name=f"{group} {seed} {number}",
                            gold=gold,
                            predicted=predicted,
                            log_probability=math.log(sure),
                            group=group,
                            variant=variant,
                            seed=seed,
                        )
                    )
    return Answers(found)
