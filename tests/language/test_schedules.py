"""Learning rates: the standard cosine, and the homework's with its accident."""

import pytest

from attnlab_theory.language.schedules import Cosine, HomeworkCosine

DOCUMENTS, WIDTH = 2938, 127
EPOCH = DOCUMENTS * WIDTH
PRETRAINING = HomeworkCosine(peak=6e-3, final_tokens=200 * DOCUMENTS * 128)
BATCHES = 23


def homework_rate(epoch: float, schedule: HomeworkCosine) -> float:
    return schedule.rate(round(epoch * BATCHES), round(epoch * EPOCH)) / schedule.peak


def test_homework_starts_at_the_peak_because_it_sets_the_rate_behind_a_step():
    assert PRETRAINING.rate(0, 0) == 6e-3
    assert PRETRAINING.rate(1, 100) == 6e-3 * 100 / 10_240
    # One batch of 128 rows of 127 is past the warm-up.
    assert PRETRAINING.rate(1, 128 * 127) == pytest.approx(6e-3, rel=1e-4)


@pytest.mark.parametrize(("epoch", "share"), [(200, 0.1), (403, 1.0), (605, 0.1), (650, 0.12)])
def test_cosine_of_2021_has_three_legs(epoch, share):
    assert homework_rate(epoch, PRETRAINING) == pytest.approx(share, abs=0.005)


def test_cosine_of_2024_has_one_leg():
    one = HomeworkCosine(peak=6e-3, final_tokens=650 * DOCUMENTS * 128)
    rates = [homework_rate(epoch, one) for epoch in range(651)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == 0.1


@pytest.mark.parametrize(("epochs", "share"), [(75, 0.85), (10, 0.996)])
def test_finetuning_ends_where_the_homework_does(epochs, share):
    finetuning = HomeworkCosine(peak=6e-4, final_tokens=200 * DOCUMENTS * 128)
    assert finetuning.rate(8 * epochs, epochs * 2000 * 127) / 6e-4 == pytest.approx(share, abs=0.005)


def test_cosine_warms_up_falls_and_stays():
    schedule = Cosine(peak=1.0, steps=100, warmup=10)
    rates = [schedule.rate(step, tokens=0) for step in range(120)]
    assert rates[0] == 0.1
    assert rates[9] == rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert set(rates[100:]) == {0.1}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Cosine(peak=0.0, steps=10), "peak"),
        (lambda: Cosine(peak=float("nan"), steps=10), "peak"),
        (lambda: Cosine(peak=1.0, steps=0), "steps"),
        (lambda: Cosine(peak=1.0, steps=10, warmup=10), "warmup must be .* not 10"),
        (lambda: Cosine(peak=1.0, steps=10, floor=1.5), "floor .* 1.5"),
        (lambda: HomeworkCosine(peak=1.0, final_tokens=10_000), "warmup_tokens 10240 must be fewer"),
    ],
)
def test_what_makes_no_schedule_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()
