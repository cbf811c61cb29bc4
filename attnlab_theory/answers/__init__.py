"""Homework questions, their answers in prose, and the evidence that carries them."""
