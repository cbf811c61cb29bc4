"""The meaning of the words in the tables of a lab's page, by the name of the lab."""

from collections.abc import Mapping

MCNEMAR = {"mcnemar p": "the p-value of McNemar's exact test that both are right equally often"}

DISCORDANT = {
    "only first, only second": "how many questions only the first, or only the second, answers right",
    "discordant odds": "questions that only the second answers right, divided by those of the first alone",
    **MCNEMAR,
}

ARM = "one of the models that are compared"

ABOVE = "test loss minus the loss of the grammar that drew the sentences, in nats per token"

SEARCHED = {
    "n": "trials of one search",
    "best of n": "the highest validation accuracy among n trials, averaged over all choices of n",
    "optimism": "how much the winner's validation accuracy exceeds its test accuracy because it won",
}

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
        "accuracy at confidence": "the accuracy of an eighth of the answers, those of similar confidence",
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
    "captions": {
        "arm": ARM,
        "scratch": "the preset, trained from random weights in one order",
        "shuffled": "another order in every epoch",
        "pretrained": "the model has learned another text first",
        "heads-1, heads-6, heads-8": "so many heads in place of 12",
        "permuted": "features are permuted before they are cut into heads",
        "dropped-heads": "whole heads are dropped while training",
        "against": "the arm, or the decoding, that is subtracted",
        "perplexity of sentences": "exp of the mean over sentences of each sentence's mean loss, as in the "
        "homework",
        "perplexity of tokens": "exp of the mean loss over all tokens",
        "best epoch": "the epoch with the lowest validation loss",
        "validation loss minus training loss": "the gap: both are losses of the finished model",
        "training loss minus that of the best epoch": "the training loss of the last epoch minus that of the best "
        "one",
        "loss above the grammar": ABOVE,
        "change of epochs": "the arm's best epoch minus that of the other",
        "change of gap": "the arm's gap minus that of the other",
        "decoding": "the way to draw the next token: random, the likeliest k (top_k), or the likeliest that hold a "
        "share p of the probability (top_p); -t is the temperature",
        "forward": "forward BLEU: each generated sentence is compared with all real ones",
        "backward": "backward BLEU: each real sentence is compared with all generated ones",
        "harmonic": "the harmonic mean of both",
        "openings": "how many different pairs of first two tokens the sentences have",
        "commonest opening": "the share of sentences that begin in the commonest way",
        "distinct": "the share of sentences that differ from all before them",
        "repeating": "the share of sentences in which three tokens in a row come twice",
        "entropy": "of the grammar: in nats per caption. Of a head: its weights' entropy, divided by that of equal "
        "weights",
        "log-probability by derivation minus by parsing": "the largest difference between the two ways to compute "
        "the log-probability of a caption",
        "worth of a head": "the rise of the loss without the head, in nats per token",
    },
    "mixers": {
        "arm": ARM,
        "separate": "attention with projections of its own for queries, keys and values",
        "additive": "additive scores in place of dot products",
        "shared-qk": "one projection for queries and keys",
        "shared-qkv": "one projection for queries, keys and values",
        "zero-before": "scores of later tokens are set to 0 before the softmax: the model looks ahead",
        "zero-after": "weights of later tokens are set to 0 after the softmax: the model looks ahead",
        "loss above the grammar": ABOVE,
        "teacher-forced loss": "the loss with all later tokens present",
        "honest loss": "the loss with nothing after the prefix, or with PAD there",
        "honest minus teacher-forced loss": "how much the loss rises if PAD replaces the later tokens",
        "two heads, three heads": "the weights of several heads are added up, each head times a number of either "
        "sign",
        "least wanted weight": "the smallest weight of three tokens in a cycle, each on the next",
        "greatest of the least wanted weights": "the best head of all seeds",
    },
    "recurrent": {
        "arm": ARM,
        "w-rnn": "a homework's RNN with a second hidden layer, which reads the first one of this step and the last",
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
        "garbled words": "the share of generated words that are in no text",
        "setting": "network, hidden units / characters of a window / learning rate",
        "published": "the smoothed loss in the homework's report, on another text",
        "smoothed loss": "0.999 of the value before plus 0.001 of the new loss, in nats per character, at the end",
    },
    "reviews": {
        "part": "a model that is compared with others, over all seeds",
        "base": "AdamW at the shared rate: all other parts are compared with it",
        "variant": "the optimizer, its learning rate, and what else differs",
        "at the shared rate": "at AdamW's learning rate",
        "at its best rate": "at the rate that validation chose with the first seed",
        "alike": "another order in every epoch, with similar lengths in a batch",
        "order file": "the order of the file in every epoch",
        "by-label": "all unfavourable reviews first",
        "never zeroed": "each step uses the sum of all gradients so far",
        "accuracy over seeds": "the mean test accuracy of all seeds",
        "training minus validation accuracy": "after the last epoch",
        "best epoch of validation minus of training": "the epoch of the highest validation accuracy minus that of "
        "the highest training accuracy",
        "accuracy lost to dropout": "the validation accuracy in evaluation mode minus that in training mode",
        "moved by dropout": "how far dropout moves the probability of a label, on average",
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
