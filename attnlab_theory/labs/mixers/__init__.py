"""The mixer lab: dot-product and additive attention, shared projections, and masks that leak."""
