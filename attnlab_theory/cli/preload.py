"""Imports all experiments: the server of processes that judge does so once for all of them."""

from attnlab_theory.cli import library

library.experiments()
