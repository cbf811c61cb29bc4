"""The lab of real heads: what the keys, queries and weights of a trained model are like."""
