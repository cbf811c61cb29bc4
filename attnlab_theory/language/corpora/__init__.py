"""The data of models of text: documents, questions, batches."""
