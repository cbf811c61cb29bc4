"""Grading a class: many submissions of one homework, each judged behind its own fences."""
