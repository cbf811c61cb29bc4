"""The caption lab: a small GPT learns one-sentence captions, and its own captions are judged."""
