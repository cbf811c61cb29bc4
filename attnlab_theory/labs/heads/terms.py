"""The meaning of the words in the tables of this lab's pages, by the name of the run's record."""

from collections.abc import Mapping

from attnlab_theory.labs.terms import MCNEMAR

TERMS: Mapping[str, Mapping[str, str]] = {
    "premises": {
        "effective keys": "the exponential of the entropy of a row of weights",
        "share of keys": "effective keys, divided by the number of keys that the query sees",
        "weight on separators": "the weight on special tokens other than the first",
        "weight on same word": "the weight on the same token at another place",
        "largest weight over its bound": "a row's largest weight, divided by the most that the spread of its "
        "scores allows",
        "stretch": "a random factor on a key's length, the same for all of its features",
        "slope of the variance": "how much the variance of a type's scores rises with the squared score of its "
        "mean key. In the homework it is 0.5",
        "variance explained by the stretch": "the share of the variance of scores that goes with that slope",
        "squared distance of means": "the squared distance of a type's mean key from the mean of all types, "
        "averaged",
        "own mean": "the mean of all keys of one type of token",
        "variance along own mean beyond that along others'": "the relative variance of a type's keys along its "
        "own mean, minus that along the means of types of similar count",
        "variance explained along own mean": "the share of the variance of scores that lies along the own mean",
        "p of means dealt anew": "the p-value of the variance along own mean beyond that along others', if chance "
        "dealt the means to the types",
        "distance from normal": "the largest difference between the distribution function of scores and a normal "
        "one",
        "gamble index": "1 if a head gives all weight to one of two keys that deserve equal weight, 0 if it shares",
        "weights explained by theory": "1 minus the squared error of the predicted weights, divided by their "
        "variance",
        "weights explained by the type": "the same, if the mean weight of a type is the prediction",
        "weights explained without noise": "the same, if the softmax of the mean scores is the prediction",
        "shift of scores": "the mean of the scores minus that of the fitted law, in standard deviations",
        "variance of scores over the fitted": "the variance of the scores, divided by that of the fitted law",
        "scores that move together": "the covariance of two standardised scores of one sentence",
        "commoner types": "the commoner half of the types",
        "squared error over predicted variance": "the error of the predicted weights: 1 if theory has its "
        "variance right",
        "keys from": "the query sees this many keys or more, but fewer than in the next row",
        "heads": "in a row of a layer: how many of its heads have enough pairs of nearly equal keys, on average",
        "share of pairs": "the share of a head's pairs of nearly equal keys that occur again between the same "
        "neighbours",
        "gamble explained by neighbours": "the share of the gamble's variance that the neighbours explain",
        "copies": "heads that all have one head's query",
        "correlation of heads": "how far two heads split their weight between two keys alike",
        "tenth": "a tenth of the predicted weights, from the small ones to the large ones",
        "mean weight by prediction": "the mean of the actual weights in that tenth",
    },
    "approximations": {
        "budget": "features, ranks or keys that an approximation may use",
        "kind": "the kind of the random features",
        "coupling": "whether projections are independent or orthogonal",
        "relative error": "the error of a head's output, divided by its length; the root of the mean square over "
        "rows",
        "for a tenth": "with a relative error of a tenth",
        "features measured over predicted": "the features that a tenth takes, divided by what theory predicts",
        "least rank": "the fewest rows of any sketch",
        "rank of a drawn sketch": "the rows of a Gaussian sketch, by theory",
        "tokens from": "sentences of this many tokens or more, but fewer than in the next row",
        "change of accuracy": "the accuracy with all heads replaced minus that of the model as it is",
        "discordant odds": "sentences that only the replaced model labels right, divided by those of the model as "
        "it is",
        **MCNEMAR,
        "only first, only second": "how many sentences only the model as it is, or only the replaced one, labels "
        "right",
    },
    "collapse": {
        "distance to rank one": "the distance of the tokens from their mean, as a share of their size",
        "kept": "the parts of the model that stay",
        "depth": "how many layers the tokens have passed",
        "share of the distance left": "the distance after the last layer, divided by the first one",
        "last step minus the earlier ones": "the change of the distance's logarithm in the last layer, minus the "
        "mean of the changes before",
        "last step over the one before": "the last change of the distance's logarithm, divided by the one before",
    },
    "ablations": {
        "first, second": "the two heads of a pair, as LAYER.HEAD",
        "accuracy lost": "the accuracy with the head minus that without it",
        "log-odds moved": "how far the log-odds of the right label move without the head",
        "only with, only without": "how many sentences are labelled right only with, or only without, the head",
        **MCNEMAR,
        "log-odds lost beyond the sum": "the log-odds lost without both heads, minus the two losses without one",
    },
}
