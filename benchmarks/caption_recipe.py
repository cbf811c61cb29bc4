"""The caption homework's model and training, which both sides of its races follow."""

WIDTH, VOCABULARY = 35, 50257
LAYERS, HEADS, CHANNELS = 3, 12, 768
RATE = 1e-4
DROPOUT = 0.1
