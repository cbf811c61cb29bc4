"""What models of text are trained on and asked: documents, questions, batches."""
