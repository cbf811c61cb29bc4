"""The kinds whose state has a fixed size: attention by a feature map (`suite`), and recurrences (`recurrent`).

`linear` has a reference in float64 (`reference`) and a derived tolerance (`tolerances`). `recurrent` has none: a
target is compared with itself, whole and in parts, and how near the two must be is measured (`sensitivity`).
"""
