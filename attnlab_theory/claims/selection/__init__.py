"""Which keys are read at all: the best k, those an indexer likes, blocks by their mean, windows."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.selection import top_k, windows

CLAIMS: tuple[Claim, ...] = (*top_k.CLAIMS, *windows.CLAIMS)
