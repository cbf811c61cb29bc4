"""The meaning of the words in the tables of this lab's pages, by the name of the run's record."""

from collections.abc import Mapping

from attnlab_theory.labs.terms import DISCORDANT

TERMS: Mapping[str, Mapping[str, str]] = {
    "knowledge": {
        "variant": "one of the models that are compared",
        "group, groups": "the persons whom the questions are about",
        "none": "a model that was not pretrained",
        "vanilla": "a pretrained model with learned positions",
        "rope": "a pretrained model with rotary positions",
        "finetuned": "persons in the pretraining text whose birthplace was taught in finetuning",
        "held-out": "persons in the pretraining text whose birthplace was not taught in finetuning",
        "never-seen": "persons in no text that the model has read",
        "accuracy": "the share of one model's answers that are right",
        "mean accuracy": "the mean over the models of all seeds; its interval holds for more seeds",
        "pooled accuracy": "the accuracy of all seeds' answers together; its interval holds for these models only",
        "change of mean accuracy": "the second's mean accuracy minus the first's; its interval holds for more "
        "seeds",
        "change of accuracy": "the same, but its interval holds for these models only",
        "wrong answers that are places": "the share of wrong answers that are another place",
        "share of the commonest place": "the accuracy of giving the commonest place as the answer to every "
        "question",
        **DISCORDANT,
        "confidence": "the probability that the model gives to its whole answer",
        "auroc": "the probability that a right answer has more confidence than a wrong one",
        "mean auroc": "the mean of this over the models of all seeds; where several groups are asked together, it "
        "depends on how many persons each has",
        "mean auroc of a group": "the same for the persons of one group",
        "confidence minus accuracy": "the mean confidence of a model's answers minus its accuracy; above 0 the "
        "model is too confident",
        "accuracy at confidence": "the accuracy of an eighth of a group's answers, those of similar confidence",
        "coverage": "the share of questions answered, surest first",
        "threshold": "the log-probability, in nats, that an answer needs to count as sure",
        "accuracy of the surest": "the accuracy of the answers above the threshold",
        "right": "how many answers are right; or whether the row tells of right answers",
        "low, high": "the ends of a range of confidence",
        "share at confidence": "the share of the right, or of the wrong, answers whose confidence lies in the "
        "range",
        "confident places": "the share of never-seen names that get a place with more confidence than half of the "
        "right answers about held-out persons have. A model without such right answers has no row",
        "part": "the first or the last name",
        "pairs": "how many pairs of never-seen names have that part in common",
        "distance": "the mean edit distance, in letters, from a never-seen name to the nearest known one",
        "agreement": "how often similar names get the same answer",
        "by chance": "the same if the answers are shuffled over the names",
        "p of same part, p of nearest name": "the p-value of the agreement, if answers are shuffled over the names",
        "weight on the name": "the weight that the head gives to the name where the answer begins",
    },
}
