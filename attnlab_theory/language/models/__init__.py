"""Models of text: equinox modules over the operators of `attention`."""
