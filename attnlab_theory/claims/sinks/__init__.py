"""Sinks and silence: what takes weight away from the values, and how a head says nothing."""

from attnlab_theory.claims.claim import Claim
from attnlab_theory.claims.sinks import clipping, eviction, length, mixing, sigmoid, silence, stick_breaking

CLAIMS: tuple[Claim, ...] = (
    *length.CLAIMS,
    *silence.CLAIMS,
    *mixing.CLAIMS,
    *eviction.CLAIMS,
    *sigmoid.CLAIMS,
    *stick_breaking.CLAIMS,
    *clipping.CLAIMS,
)
