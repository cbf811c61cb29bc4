"""What depth and rotary positions make of distance: primacy, fading recency, likeness that turns against a key."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.recency import causal_mean, rotary

CLAIMS: tuple[Claim, ...] = (*causal_mean.CLAIMS, *rotary.CLAIMS)
