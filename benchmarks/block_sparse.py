"""BigBird's block-sparse attention against the one in transformers.

Eight heads of width 64, blocks of 64, a window of three, two global blocks, three random ones, float32, forward.
The peer's global blocks are the first and the last, ours the first two: the same work.
"""

from collections.abc import Callable

from benchmarks import programs
from benchmarks.memory import extra_peak
from benchmarks.ratios import Benchmark, Row, Target, memory_row, raced

HEADS, WIDTH, BLOCK, WINDOW, GLOBAL, RANDOM = 8, 64, 64, 3, 2, 3
SCALE = WIDTH**-0.5
PEER = "transformers"
LENGTHS, QUICK_LENGTHS = (1024, 4096, 8192), (1024,)
LEAD = Target(2, 4)


def ours(length: int) -> Callable[[], object]:
    """A callable that runs ours once, every head with links of its own."""
    import jax

    from attnlab_theory.attention import bigbird_attention, bigbird_links

    layout = {"block": BLOCK, "window": WINDOW, "global_blocks": GLOBAL}

    def heads(q, k, v, links):
        return jax.lax.map(lambda x: bigbird_attention(*x, scale=SCALE, **layout), (q, k, v, links))

    def inputs(size):
        size = max(size, 16 * BLOCK)
        keys = jax.random.split(jax.random.key(1), HEADS)
        links = jax.vmap(lambda key: bigbird_links(key, size, random_blocks=RANDOM, **layout))(keys)
        return [*programs.normals(3, HEADS, size, WIDTH), links]

    return programs.in_jax(heads, inputs, length)


def theirs(length: int) -> Callable[[], object]:
    """A callable that runs the block-sparse part of transformers' BigBird once, projections left out."""
    import torch
    from transformers import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

    config = BigBirdConfig(
        hidden_size=HEADS * WIDTH,
        num_attention_heads=HEADS,
        block_size=BLOCK,
        num_random_blocks=RANDOM,
        max_position_embeddings=max(length, 4096),
    )
    attention = BigBirdBlockSparseAttention(config, seed=0).eval()

    def run(q, k, v):
        size = q.shape[2]
        blocked, band, rows, columns = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, size), BLOCK)
        with torch.no_grad():
            return attention.bigbird_block_sparse_attention(
                *(q, k, v, band, rows, columns, blocked, blocked),
                *(HEADS, RANDOM, WIDTH, BLOCK, BLOCK, 1, size, size),
                seed=0,
                plan_from_length=None,
                plan_num_rand_blocks=None,
            )[0]

    def tensors(size):
        return [torch.randn(1, HEADS, max(size, 16 * BLOCK), WIDTH) for _ in range(3)]

    return programs.in_torch(run, tensors, length)


def memory_case(who: str, length: int) -> Callable[[], object]:
    """What the child of `benchmarks.memory` runs."""
    return (ours if who == "ours" else theirs)(length)


def measure(quick: bool) -> list[Row]:
    """Time and extra memory at every length."""
    rows = []
    for length in QUICK_LENGTHS if quick else LENGTHS:
        target = LEAD if length >= 4096 else None
        race = raced(ours=ours(length), peers={PEER: theirs(length)}, rounds=3 if quick else 7)
        rows.append(race.time_row("BigBird attention", f"{length:,}", target=target))
        used = {
            who: extra_peak("benchmarks.block_sparse:memory_case", who=who, length=length) for who in ("ours", PEER)
        }
        rows.append(
            memory_row(
                "extra memory, BigBird attention",
                f"{length:,}",
                ours=used["ours"],
                peer=used[PEER],
                peer_name=PEER,
            )
        )
    return rows


BENCHMARK = Benchmark("block-sparse-attention", ("torch", "transformers"), measure)
