"""Figures whose pixels no test looks at: they are drawn and not painted."""


def titled(draw, paths):
    """In the place of `style.save`: the titles of a figure, not its pixels, which take longer than all the rest."""
    for path in paths:
        path.write_text(draw().get_suptitle())
