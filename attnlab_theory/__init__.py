"""attnlab: predict a number from algebra, measure it with the real operator, judge the difference."""

__version__ = "0.1.0"
