"""Grading a class: many submissions of one homework, each judged inside fences of its own."""
