"""Keys that heads share: by a mean, by groups, by one latent row; and what a cache keeps of them."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.shared_keys import groups, latents

CLAIMS: tuple[Claim, ...] = (*groups.CLAIMS, *latents.CLAIMS)
