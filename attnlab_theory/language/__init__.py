"""Models of text, their corpora, training and generation. They know no lab."""
