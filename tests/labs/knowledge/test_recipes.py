"""The homework's recipes and models, against the numbers that its authors' code comes to."""

import dataclasses

import jax
import pytest

from attnlab_theory.labs.knowledge.arms import FINETUNING, FINETUNING_FROM_SCRATCH, PRETRAINING
from attnlab_theory.labs.knowledge.corpora.birthplaces import Questions, vocabulary
from attnlab_theory.labs.knowledge.stages import Corpus, finetuning, pretraining
from attnlab_theory.labs.knowledge.variants import VARIANTS, configured, name_of, variant
from attnlab_theory.labs.recipes import Recipe
from attnlab_theory.language.corpora.corruption import Corruption

TEXT = "Ada was born in Bonn.\n" * 2937
CORPUS = Corpus(TEXT, vocabulary(TEXT))
QUESTIONS = Questions(("Where was Ada born?",) * 2000, ("Bonn",) * 2000)
VANILLA = configured("vanilla", vocabulary=len(CORPUS.characters))


def rate_at_end(run, places):
    """As a share of the peak, in the last of the steps that read `places` each."""
    steps = run.steps
    return run.training.schedule.rate(steps - 1, (steps - 1) * places) / run.training.schedule.peak


@pytest.mark.parametrize(("year", "end"), [(2021, 0.12), (2024, 0.1)])
def test_pretraining_is_the_homeworks(year, end):
    run = pretraining(CORPUS, VANILLA, PRETRAINING[year], Corruption(year=year))
    assert (run.steps, run.training.epochs, run.training.schedule.peak) == (14_950, 650, 6e-3)
    assert run.training.schedule.final_tokens == {2021: 200, 2024: 650}[year] * 2938 * 128
    assert rate_at_end(run, 128 * 127) == pytest.approx(end, abs=0.01)
    batches = list(run.epochs(0))
    assert [len(batch.x) for batch in batches] == [128] * 22 + [2938 - 22 * 128]
    assert batches[0].x.shape[1] == {2021: 127, 2024: 128}[year]


@pytest.mark.parametrize(
    ("recipe", "steps", "end"), [(FINETUNING_FROM_SCRATCH, 600, 0.85), (FINETUNING, 80, 0.996)], ids=["75", "10"]
)
def test_finetuning_is_the_homeworks(recipe, steps, end):
    run = finetuning(CORPUS, QUESTIONS, VANILLA, recipe)
    assert (run.steps, run.training.schedule.peak) == (steps, 6e-4)
    assert run.training.schedule.final_tokens == 200 * 2938 * 128
    assert rate_at_end(run, 256 * 127) == pytest.approx(end, abs=0.01)


def test_a_plain_cosine_spans_the_run_whatever_the_corpus():
    run = finetuning(CORPUS, QUESTIONS, VANILLA, dataclasses.replace(FINETUNING, fall=None))
    assert run.training.schedule.rate(run.steps, 0) == pytest.approx(0.1 * FINETUNING.rate)


def test_documents_come_in_the_order_of_the_file_in_every_epoch():
    few = Questions(("Where was Ada born?", "Where was Bob born?"), ("Bonn", "Ada"))
    run = finetuning(Corpus(TEXT + "Bob", vocabulary(TEXT + "Bob")), few, VANILLA, FINETUNING)
    for epoch in (0, 1):
        (batch,) = run.epochs(epoch)
        texts = [run.text.decode(row).rstrip("□") for row in batch.x]
        assert texts == ["Where was Ada born?⁇Bonn⁇", "Where was Bob born?⁇Ada⁇"]


def test_packed_rows_hold_every_document_once_and_batches_have_one_shape():
    lines = [f"Ada was born in Bonn {'n' * number}" for number in range(20)]
    corpus = Corpus("\n".join(lines), vocabulary(TEXT))
    recipe = Recipe(epochs=3, batch=4, rate=1e-3, fall=None, packed=True, shuffled=True)
    run = pretraining(corpus, configured("vanilla", block=64), recipe, Corruption(truncation="none"))
    epochs = [list(run.epochs(number)) for number in range(3)]
    assert run.steps == sum(map(len, epochs))
    for batches in epochs:
        assert {batch.x.shape for batch in batches} == {(4, 64)}
        assert sum(batch.documents for batch in batches) == 20
        assert all(run.training.split(batch) == (batch,) for batch in batches)
    assert (epochs[0][0].x != epochs[1][0].x).any()


def micro_batches_of_twenty(**changes):
    """A batch of documents of 22 to 41 characters, the longest alone in a row of 64, and its micro-batches."""
    lines = [f"Ada was born in Bonn {'n' * number}" for number in range(20)]
    recipe = dataclasses.replace(PRETRAINING[2024], batch=20, epochs=1, fall=None, **changes)
    how = Corruption(truncation="none")
    run = pretraining(Corpus("\n".join(lines), vocabulary(TEXT)), configured("vanilla", block=64), recipe, how)
    (batch,) = run.epochs(0)
    return batch, run.training.split(batch)


@pytest.mark.parametrize(
    ("backend", "micro_batches", "rows"),
    [("cpu", "sorted", 4), ("cpu", "packed", 4), ("gpu", "sorted", 20), ("gpu", "packed", 10)],
)
def test_micro_batches_have_the_rows_that_suit_the_device(monkeypatch, backend, micro_batches, rows):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    _, parts = micro_batches_of_twenty(micro_batches=micro_batches)
    assert {len(part.x) for part in parts} == {rows}


def test_questions_are_shorter_than_documents_and_more_of_them_make_a_micro_batch():
    run = finetuning(CORPUS, QUESTIONS, VANILLA, dataclasses.replace(FINETUNING, fall=None))
    assert run.origin["recipe"]["rows"] == 8
    assert len(run.training.split(next(iter(run.epochs(0))))[0].x) == 8


@pytest.mark.parametrize(("micro_batches", "rows"), [("sorted", 20), ("packed", 12)])
def test_micro_batches_hold_the_documents_of_their_batch_in_as_few_rows_as_asked(micro_batches, rows):
    batch, parts = micro_batches_of_twenty(rows=4, micro_batches=micro_batches)
    assert sum(part.documents for part in parts) == 20
    assert sum(part.targets for part in parts) == batch.targets
    assert {len(part.x) for part in parts} == {4}
    assert sum(len(part.x) for part in parts) == rows


def test_packed_micro_batches_are_refused_where_documents_cannot_be_kept_apart():
    recipe = dataclasses.replace(PRETRAINING[2024], micro_batches="packed")
    with pytest.raises(ValueError, match="features cannot keep apart the documents of a packed row"):
        pretraining(CORPUS, configured("features"), recipe)


@pytest.mark.slow("dropout that follows from the seed stays inside")
def test_the_seed_draws_weights_and_corruption():
    """Corrupts a text of 2,937 lines for three runs, and draws first weights four times."""
    small = dataclasses.replace(VANILLA, layers=1, heads=1, width=4)
    one, same, other = (
        pretraining(CORPUS, small, dataclasses.replace(PRETRAINING[2021], seed=seed)) for seed in (0, 0, 1)
    )
    assert (next(iter(one.epochs(0))).x == next(iter(same.epochs(0))).x).all()
    assert (next(iter(one.epochs(0))).x != next(iter(other.epochs(0))).x).any()
    assert (one.first().tokens == same.first().tokens).all()
    assert (one.first().tokens != other.first().tokens).any()
    assert one.training.seed != other.training.seed


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_model_that_knows_its_name(name):
    config = configured(name)
    assert name_of(config) == name
    assert config.attention_dropout == (0.0 if name == "features" else 0.1)


def test_an_unknown_variant_is_answered_with_the_nearest_and_all_others():
    with pytest.raises(ValueError, match=r"'rotary'.*there are|did you mean"):
        variant("rotary")
    with pytest.raises(ValueError, match=r"'synthesiser'; did you mean synthesizer\? There are vanilla, rope"):
        variant("synthesiser")


@pytest.mark.parametrize("change", [{"epochs": 0}, {"batch": 0}, {"rate": 0.0}, {"rate": float("nan")}], ids=str)
def test_a_recipe_that_trains_nothing_is_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        pretraining(CORPUS, VANILLA, dataclasses.replace(PRETRAINING[2021], **change))
