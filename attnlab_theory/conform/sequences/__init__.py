"""The kinds that compare a target with itself, for they map sequences to sequences that only the target knows.

`mixer` judges a sequence to a sequence, `decode` one with a cache, `model` token ids to logits. What they share is
in `suite`, what two caches must keep in `caches`. How far two right answers may be apart is derived in `rounding`.
"""
