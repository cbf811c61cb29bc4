"""Training: one gradient however a batch is cut, AdamW as written down, and runs that go on where they stopped."""

import dataclasses
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab_theory.language import train as loop
from attnlab_theory.language.corpora.batches import Batch, by_length, by_packing, in_file_order
from attnlab_theory.language.meshes import of_this_process
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixers import Softmax
from attnlab_theory.language.models.positions import Rotary
from attnlab_theory.language.optimizers import AdamW
from attnlab_theory.language.schedules import Constant, Cosine
from attnlab_theory.language.text.characters import PAD_ID
from attnlab_theory.language.train import LONGEST, Diverged, Training, started, train
from tests.language.models import BLOCK, VOCABULARY, compiled, config, stirred

DRY = {"embedding_dropout": 0.0, "residual_dropout": 0.0, "attention_dropout": 0.0}
DRY_MODEL = stirred(config(Softmax(), Rotary(), **DRY))
WET_MODEL = stirred(config(Softmax(), Rotary()))
SCHEDULE = Cosine(peak=1e-2, steps=20)
PLAIN = Training(schedule=SCHEDULE, epochs=2)

ORDERS_OF_SUMMATION = 2e-5
"""Relative error of a loss: some hundred roundings of 6e-8 in each number of a gradient, over four steps."""

EIGHT_BITS = 0.03
"""Relative error of a loss: bfloat16 rounds by 2^-9, and a loss near 3 has a dozen roundings of logits near 4."""


def documents(count: int, seed: int = 0) -> Batch:
    """Rows of random length with PAD after them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, VOCABULARY, (count, BLOCK + 1)).astype(np.int32)
    x[np.arange(BLOCK + 1) >= rng.integers(3, BLOCK + 2, count)[:, None]] = PAD_ID
    return Batch(x[:, :-1], x[:, 1:])


def epochs(number: int):
    """Two batches of six, others in every epoch."""
    return in_file_order(documents(12, seed=number), 6)


def run(training: Training, model=DRY_MODEL, data=epochs, mesh=None):
    return list(train(started(model, training), data, training, mesh=mesh))


@functools.cache
def plain_losses() -> tuple[float, ...]:
    return tuple(metrics.loss for _, metrics in run(PLAIN))


CUTS = {
    "two rows each": lambda batch: list(in_file_order(batch, 2)),
    "sorted by length": functools.partial(by_length, rows=2, step=4),
    "packed": functools.partial(by_packing, rows=2),
}


@pytest.mark.slow("packed rows of four members stay inside", but=("packed",))
@pytest.mark.parametrize("name", CUTS)
def test_a_batch_has_one_gradient_however_it_is_cut(name):
    """Trains the model with this cut and without any."""
    losses = [metrics.loss for _, metrics in run(dataclasses.replace(PLAIN, split=CUTS[name]))]
    np.testing.assert_allclose(losses, plain_losses(), rtol=ORDERS_OF_SUMMATION)


def test_loss_falls():
    many = dataclasses.replace(PLAIN, schedule=Cosine(peak=3e-2, steps=80), epochs=40)
    losses = [metrics.loss for _, metrics in run(many, data=lambda number: epochs(0))]
    assert losses[-1] < 0.6 * losses[0]


def test_loss_is_minus_the_log_probability_of_targets_that_are_not_pad():
    batch = documents(3)
    logits = np.asarray(compiled(lambda model, x: model.rows(x))(DRY_MODEL, jnp.asarray(batch.x)), np.float64)
    log_p = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    expected = 0.0
    for row, place in zip(*np.nonzero(batch.y), strict=True):
        expected -= log_p[row, place, batch.y[row, place]]
    assert float(compiled(GPT.summed_loss)(DRY_MODEL, batch)) == pytest.approx(expected, rel=1e-6)


def test_the_loss_of_a_step_is_the_mean_over_targets_and_not_over_pad():
    batch = next(epochs(0))
    assert batch.targets < batch.y.size
    expected = float(compiled(GPT.summed_loss)(DRY_MODEL, batch)) / batch.targets
    assert plain_losses()[0] == pytest.approx(expected, rel=ORDERS_OF_SUMMATION)


def test_updates_are_adamw_with_clipped_gradients():
    """Compiles a training, and the gradient by itself."""
    optimizer = AdamW(betas=(0.8, 0.9), epsilon=1e-6, decay=0.3, clip=0.7)
    training = Training(schedule=SCHEDULE, epochs=1, optimizer=optimizer)
    loss = compiled(jax.value_and_grad(lambda model, batch: model.summed_loss(batch) / batch.y.size))
    held, moments = DRY_MODEL, [(0.0, 0.0)] * len(jax.tree.leaves(DRY_MODEL))
    shrunk = jax.tree.leaves(DRY_MODEL.decayed())
    # Rows without PAD: the mean over targets is the mean over all.
    batches = [Batch(x, y) for x, y in np.random.default_rng(5).integers(1, VOCABULARY, (2, 2, 3, 4), np.int32)]
    for t, ((state, metrics), batch) in enumerate(
        zip(train(started(DRY_MODEL, training), lambda _: batches, training), batches, strict=True), 1
    ):
        value, gradient = loss(held, batch)
        leaves, structure = jax.tree.flatten(held)
        flat = [np.asarray(g, np.float64) for g in jax.tree.leaves(gradient)]
        length = np.sqrt(sum(np.sum(g * g) for g in flat))
        assert metrics.loss == pytest.approx(float(value), rel=1e-6)
        assert metrics.gradient == pytest.approx(length, rel=1e-5)
        assert length > optimizer.clip
        new = []
        for i, (x, g) in enumerate(zip(leaves, flat, strict=True)):
            g = g * optimizer.clip / length
            m, v = 0.8 * moments[i][0] + 0.2 * g, 0.9 * moments[i][1] + 0.1 * g * g
            moments[i] = m, v
            step = (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.9**t)) + optimizer.epsilon)
            new.append(np.asarray(x) - metrics.rate * (step + optimizer.decay * shrunk[i] * np.asarray(x)))
        for ours, theirs in zip(jax.tree.leaves(state.model), new, strict=True):
            # A step is at most about rate long; where a gradient is as small as epsilon, rounding shows in it.
            assert np.max(np.abs(np.asarray(ours) - theirs)) <= 1e-3 * metrics.rate
        held = jax.tree.unflatten(structure, [jnp.asarray(x, leaves[0].dtype) for x in new])


def test_an_update_writes_no_squares_of_the_gradient_down():
    optimizer, large = AdamW(clip=math.inf), dataclasses.replace(config(Softmax(), Rotary()), vocabulary=10_000)
    model = jax.eval_shape(lambda: GPT(large, key=jax.random.key(0)))
    moments = jax.eval_shape(optimizer.transformation(model).init, model)
    rate = jax.ShapeDtypeStruct((), np.float32)
    update = loop._update.lower(model, moments, model, rate, optimizer=optimizer).compile()
    assert update.memory_analysis().temp_size_in_bytes < 4 * model.tokens.size


def test_dropout_drops_other_places_in_every_step():
    """Compiles steps of training with dropout and without."""
    # The rate is too small to move a loss.
    training = Training(schedule=Constant(always=1e-12), epochs=1)
    batches = [next(epochs(0))] * 3
    for model, different in ((WET_MODEL, 3), (DRY_MODEL, 1)):
        losses = {metrics.loss for _, metrics in train(started(model, training), lambda _: batches, training)}
        assert len(losses) == different


@functools.cache
def wet_run():
    """Every state of a run with dropout, on the host, and the losses."""
    pairs = [
        (jax.device_get(state), metrics.loss) for state, metrics in train(started(WET_MODEL, PLAIN), epochs, PLAIN)
    ]
    return [state for state, _ in pairs], [loss for _, loss in pairs]


@pytest.mark.slow("two of three members stay inside", but=2)
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_run_goes_on_bit_for_bit_where_it_stopped(stop):
    """Compiles steps of training with dropout."""
    states, losses = wet_run()
    resumed = [(jax.device_get(state), metrics) for state, metrics in train(states[stop - 1], epochs, PLAIN)]
    assert [metrics.step for _, metrics in resumed] == list(range(stop + 1, 5))
    assert [metrics.loss for _, metrics in resumed] == losses[stop:]
    for ours, theirs in zip(jax.tree.leaves(resumed[-1][0]), jax.tree.leaves(states[-1]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_dropout_follows_from_seed_and_step():
    def losses(seed):
        training = dataclasses.replace(PLAIN, seed=seed, schedule=Cosine(peak=1e-30, steps=4))
        return [m.loss for _, m in run(training, WET_MODEL, data=lambda number: epochs(0))]

    first, again, other = losses(0), losses(0), losses(1)
    assert first == again
    assert first[0] != first[2]
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_metrics_count_what_was_read():
    for (state, metrics), (number, place) in zip(run(PLAIN), itertools.product(range(2), range(2)), strict=True):
        batch = list(epochs(number))[place]
        assert (metrics.epoch, metrics.targets, metrics.documents) == (number, batch.targets, batch.documents)
        assert (state.epoch, state.batch, state.step) == (number, place + 1, metrics.step)
        assert state.tokens == metrics.step * 6 * BLOCK
        assert metrics.rate == SCHEDULE.rate(metrics.step - 1, 0)


def test_half_precision_is_near_and_keeps_its_parameters_in_single():
    half = run(dataclasses.replace(PLAIN, precision="bfloat16", epochs=1))
    np.testing.assert_allclose([m.loss for _, m in half], plain_losses()[:2], rtol=EIGHT_BITS)
    assert [m.loss for _, m in half] != list(plain_losses()[:2])
    assert {x.dtype for x in jax.tree.leaves(half[-1][0].model)} == {DRY_MODEL.tokens.dtype}


def test_a_model_that_was_trained_is_still_there():
    before = jax.device_get(DRY_MODEL)
    run(dataclasses.replace(PLAIN, epochs=1))
    for ours, theirs in zip(jax.tree.leaves(DRY_MODEL), jax.tree.leaves(before), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("longest", "said", "good"),
    [
        (LONGEST, r"parameters of length inf after it, at step 1, in epoch 0", []),
        (math.inf, "loss nan .* step 2", [1]),
    ],
    ids=["parameters", "loss"],
)
def test_what_is_no_number_stops_the_run_with_step_and_rate(longest, said, good, monkeypatch):
    monkeypatch.setattr(loop, "LONGEST", longest)
    wild = dataclasses.replace(PLAIN, schedule=Cosine(peak=1e30, steps=20))
    steps = []

    def all_steps():
        for state, _ in train(started(DRY_MODEL, wild), epochs, wild):
            steps.append(state.step)

    with pytest.raises(Diverged, match=said + r".* at learning rate .*e\+(29|30)"):
        all_steps()
    assert steps == good


def test_a_mesh_with_other_axes_is_refused():
    with pytest.raises(ValueError, match='"data"'):
        run(PLAIN, mesh=jax.make_mesh((1,), ("model",)))


def test_a_process_has_a_mesh_if_it_sees_several_devices_and_may_use_them(monkeypatch):
    monkeypatch.setattr(jax, "local_device_count", lambda: 1)
    assert of_this_process() is None
    monkeypatch.setattr(jax, "local_device_count", lambda: 2)
    mesh = of_this_process()
    assert mesh is not None
    assert mesh.axis_names == ("data",)
    with jax.default_device(jax.devices()[0]):
        assert of_this_process() is None


def test_a_mesh_of_one_device_changes_nothing():
    """Compiles steps of training for a mesh and without one."""
    losses = [metrics.loss for _, metrics in run(PLAIN, mesh=jax.make_mesh((1,), ("data",)))]
    assert losses == list(plain_losses())


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Training(schedule=SCHEDULE, epochs=0), "epochs"),
        (lambda: dataclasses.replace(PLAIN, precision="float16"), "precision .* 'float16'"),
        (lambda: AdamW(clip=0.0), "clip"),
        (lambda: AdamW(betas=(0.9, 1.0)), "betas"),
        (lambda: AdamW(decay=float("nan")), "decay .* nan"),
    ],
)
def test_what_makes_no_training_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()
