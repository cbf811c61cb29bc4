"""The recurrent lab: an RNN, the homework's W-RNN and a small GPT on the same sentences."""
