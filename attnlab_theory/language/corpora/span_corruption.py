"""Span corruption: a document with a hole, and at its end the text that was in the hole.

"Ada was born in Rome." may become "Ada was b⁇ Rome.⁇orn in". The model predicts all of the rearranged text. After
the second mark it has to recall what fills the hole.

Source: Stanford CS224n, assignment 5 of 2021 (assignment 4 from 2024), `CharCorruptionDataset`, "Masking
Specification".
"""

import numpy as np
import scipy.special
from jaxtyping import Float, Int, Int32

from attnlab_theory import refuse
from attnlab_theory.language.corpora.batches import Batch
from attnlab_theory.language.corpora.corruption import SHORTEST, Corruption, MaskLengths
from attnlab_theory.language.text.characters import MASK_ID, PAD_ID, Characters


class CharCorruptionDataset:
    """Every line of a text, corrupted again in every epoch.

    What is drawn follows from (seed, epoch, index) alone. So a resumed run draws the same, and a document does not
    depend on the others. An empty line, such as the one after the last newline, is a document of two marks alone.

    Args:
        text: one document per line.
        block_size: characters of a padded document; documents keep at most 7/8 of it.
        how: the variant.
        characters: the vocabulary; by default that of the text.
        seed: of all that is drawn.
        source: the name of the text in error messages, as a rule its file.

    Raises:
        ValueError: if the block is too short, or a character is not in the vocabulary.
    """

    def __init__(
        self,
        text: str,
        block_size: int = 128,
        *,
        how: Corruption | None = None,
        characters: Characters | None = None,
        seed: int = 0,
        source: str = "the corpus",
    ):
        refuse.not_whole(block_size=block_size, seed=seed)
        self.how = how or Corruption()
        self.block_size = block_size
        self.padded = block_size + (self.how.year >= 2024)
        self.longest = block_size * 7 // 8
        if self.longest < SHORTEST or self.longest + 2 + self.how.closing > self.padded:
            raise ValueError(f"block_size {block_size} has no room for 7/8 of it and the marks; take at least 17")
        if not 0 <= seed < 2**63:
            raise ValueError(f"seed must be between 0 and 2**63 - 1, not {seed}")
        self.seed = seed
        self.characters = characters or Characters.of(text, where=source)
        self.documents = text.split("\n")
        encoded = self.characters.encode_lines(self.documents, where=source)
        self._lengths = np.array([len(document) for document in encoded])
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._tokens = np.concatenate([*encoded, [PAD_ID]]).astype(np.int32)

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> tuple[Int32[np.ndarray, " t"], Int32[np.ndarray, " t"]]:
        """x and y of one document in the first epoch."""
        return self.item(index, epoch=0)

    def item(self, index: int, *, epoch: int) -> tuple[Int32[np.ndarray, " t"], Int32[np.ndarray, " t"]]:
        """x and y of one document, as in the batch of that epoch.

        Raises:
            IndexError: if there is no such document.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"no document is numbered {index}, only 0 to {len(self) - 1}")
        masked = self._corrupted(np.array([index]), self._uniforms(epoch, first=index, count=1))[0]
        return masked[:-1], masked[1:]

    def epoch(self, epoch: int) -> Batch:
        """All documents in the order of the text.

        Raises:
            ValueError: if the epoch is not a whole number of at least 0.
        """
        masked = self._corrupted(np.arange(len(self)), self._uniforms(epoch, first=0, count=len(self)))
        return Batch(x=np.ascontiguousarray(masked[:, :-1]), y=np.ascontiguousarray(masked[:, 1:]))

    def _uniforms(self, epoch: int, *, first: int, count: int) -> Float[np.ndarray, "n 4"]:
        """Four numbers in [0, 1) for each document: Philox makes four for each value of its counter."""
        refuse.not_whole(epoch=epoch)
        if epoch < 0:
            raise ValueError(f"epoch must not be negative, but is {epoch}")
        source = np.random.Philox(key=np.array([self.seed, epoch], np.uint64), counter=first)
        return (source.random_raw(4 * count).reshape(count, 4) >> np.uint64(11)) * 2.0**-53

    def _corrupted(
        self, index: Int[np.ndarray, " n"], uniforms: Float[np.ndarray, " n 4"]
    ) -> Int32[np.ndarray, "n padded"]:
        """prefix ⁇ suffix ⁇ content, padded. Each character is gathered from its place in the document."""
        u_length, u_hole, u_place, u_window = uniforms.T
        whole = self._lengths[index]
        kept = np.minimum(whole, self.longest)
        if self.how.truncation != "none":
            kept = np.minimum(whole, _uniform(u_length, np.full_like(whole, SHORTEST), self.longest))
        start = self._starts[index]
        if self.how.truncation == "window":
            start = start + _uniform(u_window, 0, whole - kept)
        hole = mask_lengths(self.how.mask_lengths, kept, u_hole)
        before = _uniform(u_place, 0, kept - hole)

        kept, start, hole, before = (part[:, None] for part in (kept, start, hole, before))
        j = np.arange(self.padded)
        around = kept - hole
        content = before + j - around - 2
        source = np.where(j < before, j, np.where(j <= around, j - 1 + hole, content))
        masked = self._tokens[np.minimum(start + source, len(self._tokens) - 1)]
        marks = (j == before) | (j == around + 1)
        end = kept + 2
        if self.how.closing:
            marks |= j == end
            end = end + 1
        return np.where(marks, MASK_ID, np.where(j < end, masked, PAD_ID)).astype(np.int32)


def mask_lengths(
    variant: MaskLengths, length: Int[np.ndarray, " n"], uniforms: Float[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Lengths of holes in documents of these lengths, by inverting the distribution at numbers in [0, 1)."""
    if variant == "gauss":
        drawn = np.rint(length / 4 + 2 * scipy.special.ndtri(uniforms))
        return np.clip(drawn, 0, length).astype(length.dtype)
    low, high = {
        "eighths": (length // 8, 3 * length // 8),
        "twice-a-quarter": (np.ones_like(length), 2 * (length // 4) - 1),
        "half": (np.ones_like(length), length // 2),
    }[variant]
    high = np.minimum(np.maximum(low, high), length)
    return _uniform(uniforms, np.minimum(low, high), high)


def _uniform(
    uniforms: Float[np.ndarray, " n"], low: int | Int[np.ndarray, " n"], high: int | Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Whole numbers from low to high, both included."""
    return low + np.floor(uniforms * (high - low + 1)).astype(np.int64)
