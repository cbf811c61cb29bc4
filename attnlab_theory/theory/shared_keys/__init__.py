"""Keys that heads share: by a mean, by groups, by one latent row; and what a cache keeps of them."""
