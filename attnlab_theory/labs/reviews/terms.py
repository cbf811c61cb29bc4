"""The meaning of the words in the tables of this lab's pages, by the name of the run's record."""

from collections.abc import Mapping

from attnlab_theory.labs.terms import SEARCHED

TERMS: Mapping[str, Mapping[str, str]] = {
    "reviews": {
        "part": "a model that is compared with others, over all seeds",
        "base": "AdamW at the shared rate: all other parts are compared with it",
        "variant": "the optimizer, its learning rate, and what else differs",
        "at the shared rate": "at AdamW's learning rate",
        "at its chosen rate": "at the rate that validation chose with the first seed",
        "alike": "another order in every epoch, with similar lengths in a batch",
        "order file": "the order of the file in every epoch",
        "by-label": "all unfavourable reviews first",
        "never zeroed": "each step uses the sum of all gradients so far",
        "mean accuracy": "the mean test accuracy of all seeds",
        "accuracy above the commoner label": "the accuracy minus that of always giving the commoner label",
        "majority": "the accuracy of always giving the commoner label",
        "training minus validation accuracy": "after the last epoch",
        "best epoch of validation minus of training": "the epoch of the highest validation accuracy minus that of "
        "the highest training accuracy",
        "accuracy lost to dropout": "the validation accuracy in evaluation mode minus that in training mode",
        "moved by dropout": "how far dropout moves the probability of a label, on average",
        "moved by dropout in these models": "the same of the base, without models of other seeds",
        "against": "the part that is subtracted",
        "accuracy where order counts": "the test accuracy, to be compared with the best rule that counts words",
        "distance from the posterior": "the mean distance between the model's probability and the exact one",
        "moved by padding": "how far padding to the longest row moves the log-odds, at most",
        "moved by mode alone": "how far training mode moves the log-odds if all rates of dropout are 0, at most",
        "rows": "reviews that are computed at once",
        "memory of gradients": "the memory that a gradient needs, divided by that of the loss alone",
        "least": "the fewest words, or the least confidence, of a group of reviews",
        "negation": "reviews with a word such as not or never",
        "opposition": "reviews with a word such as but or although",
        "has": "whether a review has such a word",
        "confidence minus accuracy": "above 0 the model is too confident",
        "gradient": "gradient times input, at what the first layer reads",
        "rollout": "attention weights, multiplied from layer to layer",
        "leave-one-out": "the log-odds that are lost if the token is deleted",
        "pair": "the two explanations that are compared",
        "rank correlation": "how alike two explanations rank a review's tokens by the size of their scores "
        "(Spearman)",
        "left out": "reviews that are too short for a correlation, or have equal scores",
        "share": "the share of a review's tokens that are hidden or kept",
        "moved by hiding": "how far the answer moves if the top tokens are blank, minus if random ones are",
        "held by keeping": "how far the answer moves if only random tokens are kept, minus if only the top are",
        **SEARCHED,
    },
    "search": {
        "rate": "the highest learning rate",
        "epochs trained": "fewer than the epochs if training diverged",
        "validation, test": "the accuracies after the last epoch",
        **SEARCHED,
    },
}
