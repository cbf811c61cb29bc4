"""The calls of `python -m tests.cli.fuzz`. Tests make the same calls in every run, so this is none of them."""

import os
import random

from tests.cli.every_option import EVERY
from tests.cli.fuzz.calls import GOOD, call, drawn
from tests.cli.fuzz.test_calls import _no_work, at, wrong  # noqa: F401


def test_a_fresh_call_gets_one_line_and_leaves_nothing_behind(at):  # noqa: F811
    seed, calls = map(int, os.environ["ATTNLAB_FRESH"].split())
    rng, found = random.Random(seed), []
    for number in range(calls):
        words = rng.choice([*GOOD])
        option = rng.choice([option for option in EVERY if option.words == words] or [None])
        if option is not None:
            one = call(option, drawn(rng, option), at)._replace(new=True)
            print(f"{number}: {one}", flush=True)
            if said := wrong(one, at):
                found.append(f"{number}: {one}: {said}")
    assert not found, "\n".join(found)
