"""Random features: their means, variances, couplings, and a row of attention made of them."""
