"""The meaning of the words in the tables of a lab's page, by the name of the lab."""

from collections.abc import Mapping

TERMS: Mapping[str, Mapping[str, str]] = {
    "knowledge": {
        "none": "a model that was not pretrained",
        "vanilla": "a pretrained model with learned positions",
        "rope": "a pretrained model with rotary positions",
        "finetuned": "persons in the pretraining text whose birthplace was taught in finetuning",
        "held-out": "persons in the pretraining text whose birthplace was not taught in finetuning",
        "never-seen": "persons in no text that the model has read",
        "coverage": "the share of questions that the model answers if it answers only the surest",
        "confident places": "the share of never-seen names that get a place with confidence",
        "discordant odds": "questions that only the second answers right, divided by those of the first alone",
        "part": "the first or the last name",
        "agreement": "the share of equal answers to similar names",
        "by chance": "the same share if the answers are shuffled over the names",
    },
    "captions": {
        "scratch": "the preset, trained from random weights in one order",
        "shuffled": "another order in every epoch",
        "pretrained": "the model has learned another text first",
        "heads-1, heads-6, heads-8": "so many heads in place of 12",
        "permuted": "features are permuted before they are cut into heads",
        "dropped-heads": "whole heads are dropped while training",
        "decoding": "the way to draw the next token: random, the likeliest k (top_k), or the likeliest that hold a "
        "share p of the probability (top_p); -t is the temperature",
        "forward": "forward BLEU: each generated sentence is compared with all real ones",
        "backward": "backward BLEU: each real sentence is compared with all generated ones",
        "harmonic": "the harmonic mean of both",
        "commonest opening": "the share of sentences that begin in the commonest way",
        "worth of a head": "the rise of the loss without the head, in nats per token",
    },
    "mixers": {
        "separate": "attention with projections of its own for queries, keys and values",
        "additive": "additive scores in place of dot products",
        "shared-qk": "one projection for queries and keys",
        "shared-qkv": "one projection for queries, keys and values",
        "zero-before": "scores of later tokens are set to 0 before the softmax: the model looks ahead",
        "zero-after": "weights of later tokens are set to 0 after the softmax: the model looks ahead",
        "teacher-forced loss": "the loss with all later tokens present",
        "honest loss": "the loss with nothing after the prefix, or with PAD there",
        "least wanted weight": "the smallest weight of three tokens in a cycle, each on the next",
    },
    "recurrent": {
        "w-rnn": "the homework's network: an RNN with a second hidden layer, and both are joined crosswise",
        "rnn-16, w-rnn-16": "a hidden layer of so many units",
        "loss above the grammar": "nats per token above the entropy of the grammar that draws the sentences",
        "garbled words": "the share of generated words that are in no text",
    },
    "reviews": {
        "base": "AdamW at the shared rate: all other parts are compared with it",
        "at the shared rate": "at AdamW's learning rate",
        "at its best rate": "at the rate that validation chose with the first seed",
        "alike": "another order in every epoch, with similar lengths in a batch",
        "by-label": "all unfavourable reviews first",
        "never zeroed": "each step uses the sum of all gradients so far",
        "gradient": "gradient times input, at what the first layer reads",
        "rollout": "attention weights, multiplied from layer to layer",
        "leave-one-out": "the log-odds that are lost if the token is deleted",
        "moved by hiding": "how far the answer moves if the top tokens are blank, minus if random ones are",
        "held by keeping": "how far the answer moves if only random tokens are kept, minus if only the top are",
        "optimism": "how much the winner's validation accuracy exceeds its test accuracy because it won",
    },
    "premises": {
        "effective keys": "the exponential of the entropy of a row of weights",
        "stretch": "a random factor on a key's length, the same for all of its features",
        "own mean": "the mean of all keys of one type of token",
        "gamble index": "1 if a head gives all weight to one of two keys that deserve equal weight, 0 if it shares",
        "copies": "heads that all have one head's query",
    },
    "approximations": {
        "budget": "features, ranks or keys that an approximation may use",
        "for a tenth": "with a relative error of a tenth",
    },
    "collapse": {
        "distance to rank one": "the distance of the tokens from their mean, as a share of their size",
        "kept": "the parts of the model that stay",
    },
    "ablations": {
        "log-odds moved": "how far the log-odds of the right label move without the head",
    },
}
