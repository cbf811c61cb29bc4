"""How far a run has come, on standard error."""

from attnlab_theory.labs.progress import Progress
from attnlab_theory.language.train import Metrics


def test_without_a_terminal_progress_is_plain_lines(capsys):
    with Progress("pretrain rope", 20) as progress:
        for step in range(1, 21):
            progress.advance(Metrics(step, 0, 2.5, 1e-3, 1.0, targets=100, documents=10, seconds=0.5))
    first, last = capsys.readouterr().err.splitlines()
    assert first == "pretrain rope: step 1 of 20, loss 2.500"
    assert last == "pretrain rope: step 20 of 20, loss 2.500, 200 targets/s, 20 texts/s, 0 s left"
