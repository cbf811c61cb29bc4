"""Options for the reviews that are read."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab_theory.labs.reviews.arms import Preset

if TYPE_CHECKING:
    from attnlab_theory.labs.reviews.material import Material, Sizes
    from attnlab_theory.labs.reviews.starts import Start
    from attnlab_theory.language.text.vocabulary import OfSentences


@dataclasses.dataclass(frozen=True, kw_only=True)
class Data:
    """Files of reviews, a line LABEL text for each, or tables with tabs as GLUE has them."""

    train: Path | None = None
    """Reviews to learn."""
    validation: Path | None = None
    """Reviews for validation: `train` prints the accuracy on them, `run` and `search` choose by it."""
    test: Path | None = None
    """Reviews to test with at the end."""
    least: int = 3
    """Words that the training file holds less often are read as <UNK>. A pretrained model has its own words."""

    def material(self, seed: int, text: "OfSentences | None" = None, sizes: "Sizes | None" = None) -> "Material":
        """The reviews: of the files, or drawn from the grammar by the seed.

        Args:
            seed: of the reviews that are drawn.
            text: the vocabulary of a pretrained model. None: words.
            sizes: how many are drawn.

        Raises:
            ValueError: if some of the files are missing or broken, the seed is no seed, `least` is negative, or all
                training reviews have one label.
        """
        from attnlab_theory import refuse
        from attnlab_theory.labs.reviews.material import Sizes, generated, read

        refuse.not_a_seed(seed)
        if self.least < 0:
            raise ValueError(f"--least is a number of words, at least 0, not {self.least}")
        files = {"--train": self.train, "--validation": self.validation, "--test": self.test}
        missing = [name for name, path in files.items() if path is None]
        if self.train is None and self.validation is None and self.test is None:
            drawn = generated(seed, Sizes() if sizes is None else sizes)
            return drawn if text is None else dataclasses.replace(drawn, text=text)
        if self.train is None or self.validation is None or self.test is None:
            raise ValueError(f"data of your own are three files; missing: {', '.join(missing)}")
        return read(self.train, self.validation, self.test, text=text, least=self.least)

    def beginning(
        self, preset: Preset, drawn: "Sizes | None" = None
    ) -> tuple[Callable[[int], "Material"], Callable[["Material"], "Start"]]:
        """Two functions: one gives the reviews of a seed, the other the model before training on these reviews.

        Args:
            preset: whose model is trained.
            drawn: how many reviews are drawn from the grammar, if there are no files.

        Raises:
            ValueError: if a pretrained model is not installed.
        """
        from attnlab_theory.labs.reviews.starts import pretrained, scratch

        sizes = preset.model
        if sizes is not None:
            return lambda seed: self.material(seed, sizes=drawn), lambda material: scratch(sizes, material.text)
        start, text = pretrained()
        return lambda seed: self.material(seed, text, drawn), lambda _: start

    @property
    def paths(self) -> tuple[Path | None, ...]:
        """The files, which must not be written over."""
        return self.train, self.validation, self.test
