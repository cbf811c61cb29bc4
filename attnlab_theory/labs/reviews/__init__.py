"""The review lab: an encoder learns whether a sentence of a review praises or blames."""
