"""More wordings, better recalled: when is that so, and what does it cost to say it."""

import numpy as np
import pytest

from attnlab_theory.claims import Verdict
from attnlab_theory.labs.estimates import Estimates, share
from attnlab_theory.labs.knowledge.exposure import verdicts

SUPPORTED, REFUTED, INCONCLUSIVE = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("fewest", "most", "verdict"),
    [(2, 18, SUPPORTED), (18, 2, REFUTED), (0, 0, INCONCLUSIVE), (9, 11, INCONCLUSIVE)],
)
def test_nothing_recalled_supports_nothing(fewest, most, verdict):
    measured = Estimates(
        share("accuracy by exposure", np.arange(20) < right, 0.05, variant="rope", wordings=wordings, statements=4)
        for wordings, right in ((1, fewest), (4, most))
    )
    (found,) = verdicts(measured)
    assert found.verdict == verdict
    assert found.error_rate == 0.05
    assert found.measured.low <= (most - fewest) / 20 <= found.measured.high
