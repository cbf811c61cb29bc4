"""attnlab recurrent tune: the homework's tuning runs on a text of one's own."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import tyro

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.recurrent.presets import ActivationName


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tune:
    """Repeat the homework's tuning runs on a text, character by character, with the right gradient."""

    text: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
    """File of any text."""
    windows: int = 10_000
    """Windows of text that each run reads."""
    activation: ActivationName = "sigmoid"
    """f1 and f2 of every network. The homework's are sigmoids."""
    seeds: int = 3
    """How many seeds to run. First weights follow from the seed."""
    out: Path = Path("lab/recurrent_tuning")
    """Folder for JSON and figure. It is made if it does not exist."""

    def run(self) -> int:
        """Train, write, print."""
        import numpy as np

        from attnlab_theory import refuse
        from attnlab_theory.labs.recurrent import results, tuning
        from attnlab_theory.language.corpora.reading import read_text
        from attnlab_theory.language.models.recurrent import Activation
        from attnlab_theory.report.table import show

        refuse.not_a_size(windows=self.windows, seeds=self.seeds)
        text = read_text(self.text)
        tuning.refuse_short(len(text), tuning.SETTINGS)
        numbers = {character: number for number, character in enumerate(sorted(set(text)))}
        tokens = np.array([numbers[character] for character in text], np.int32)
        settings = [dataclasses.replace(each, activation=Activation(self.activation)) for each in tuning.SETTINGS]
        folders.make_folder(self.out, "recurrent")
        rows: list[dict[str, Any]] = []
        with files.held(self.out):
            for seed in range(self.seeds):
                told = {"windows": self.windows, "seed": seed, "tell": _tell}
                rows += results.tuning_rows(settings, tokens, len(numbers), **told)
            found = results.write_tuning(rows, self.out, "tuning")
        for each in found:
            low, high = each.interval.low, each.interval.high
            told = each.setting
            show(f"{told['setting']}: {each.value:.3f} nats per character ({low:.3f} to {high:.3f})")
        show(f"Curves: {self.out}/")
        return 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
