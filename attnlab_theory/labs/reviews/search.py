"""attnlab reviews search: a random search over batch size, learning rate and epochs, with a declared budget."""

import dataclasses
import functools
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.engine.run import tell
from attnlab_theory.labs.options import Folder
from attnlab_theory.labs.reviews.arms import PRESETS, PresetName
from attnlab_theory.labs.reviews.data import Data
from attnlab_theory.labs.reviews.divergence import Ended, trained
from attnlab_theory.labs.reviews.trials import Space, budget, declared
from attnlab_theory.labs.training import refuse_no_time

if TYPE_CHECKING:
    from attnlab_theory.labs.reviews.lab import Reviews
    from attnlab_theory.labs.reviews.outcomes import Outcome

QUESTION = "Which batch size, rate and number of epochs are best on validation, and how lucky is the winner?"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search(Folder):
    """Train with random batch sizes, learning rates and epochs: which trial is best, and how much of that is luck?

    A trial is one training. The number of trials is printed before anything is trained. Without files, reviews are
    drawn from the built-in grammar.
    """

    preset: PresetName = "tiny"
    """Model, and the space that is searched. minilm: the homework's space."""
    data: Data = dataclasses.field(default_factory=Data)
    trials: int | None = None
    """How many trials to train. By default 8, or the homework's 4 for minilm."""
    batches: tuple[int, ...] | None = None
    """Batch sizes to search among. By default those of the preset."""
    rates: tuple[float, ...] | None = None
    """Highest learning rates to search among. By default those of the preset."""
    epochs: tuple[int, ...] | None = None
    """Numbers of epochs to search among. By default those of the preset."""
    seed: int = 0
    """The seed of the trials, of reviews that are drawn, of first weights and of dropout."""
    out: Path = Path("lab/reviews.search")
    """Folder for models, JSON and the figure. It is made if it does not exist."""

    def run(self) -> int:
        """Search and write; 130 after Ctrl-C."""
        from attnlab_theory.labs import page
        from attnlab_theory.labs.reviews.outcomes import outcomes
        from attnlab_theory.report import provenance, record

        refuse_no_time(self.save_every)
        began, about = time.monotonic(), provenance.of_this_process()
        lab = self._lab()
        tell(declared(lab.trials))
        with folders.begun(self.out, "reviews", "search"):
            if not self.resume:
                lab.refuse_left_over()
            for unit in lab.search():
                for run, path in lab.stages(*unit):
                    if trained(run, self.checkpoints(path)) is Ended.STOPPED:
                        return 130
            told = self._told(outcomes(lab))
            about = {"question": QUESTION, **about, "seconds": round(time.monotonic() - began, 2)}
            files.write_text(self.out / "search.run.json", record.to_text(about))
            page.write(self.out)
        print(json.dumps(told, indent=1) if self.json else _page(told))
        return 0

    def _space(self) -> Space:
        """The space of the preset, changed by the options."""
        given = {"batches": self.batches, "rates": self.rates, "epochs": self.epochs}
        changed = {name: numbers for name, numbers in given.items() if numbers is not None}
        return dataclasses.replace(PRESETS[self.preset].space, **changed)

    def _lab(self) -> "Reviews":
        from attnlab_theory.labs.reviews.lab import Reviews

        preset = PRESETS[self.preset]
        trials = self._space().drawn(preset.trials if self.trials is None else self.trials, self.seed)
        reviews, start = self.data.beginning(preset)
        first = reviews(self.seed)
        return Reviews(
            preset=preset,
            seeds=(self.seed,),
            material=lambda _: first,
            start=start,
            folder=self.out / "models",
            trials=trials,
        )

    def _told(self, found: "tuple[Outcome, ...]") -> dict[str, Any]:
        """The report, which is also written to the folder."""
        from attnlab_theory.labs.engine.record import draw
        from attnlab_theory.labs.reviews import figures
        from attnlab_theory.labs.reviews.outcomes import epochs_trained, winner, worth
        from attnlab_theory.labs.verdicts import ERROR_RATE
        from attnlab_theory.report import record

        estimates = worth(found, ERROR_RATE)
        told = {
            "seed": self.seed,
            "space": dataclasses.asdict(self._space()),
            # One rung: every trial is trained to its end. The key stays as it is in runs that are committed.
            "budget": {"trials": len(found), "rungs": 1, "epochs": budget([each.trial for each in found])},
            "epochs_trained": epochs_trained(found),
            "winner": winner(found).as_json(),
            "trials": [outcome.as_json() for outcome in found],
            "estimates": [estimate.as_json() for estimate in estimates],
        }
        files.write_text(self.out / "search.json", record.to_text(told))
        if any(estimate.quantity == "optimism" for estimate in estimates):
            draw({"search": functools.partial(figures.searches, estimates)}, self.out)
        return told


def _page(told: dict[str, Any]) -> str:
    best, spent = told["winner"], told["budget"]
    lines = [
        f"{'batch':>6} {'rate':>8} {'epochs':>7} {'trained':>8} {'validation':>11} {'test':>7}",
        *(
            f"{t['batch']:>6} {t['rate']:>8g} {t['epochs']:>7} {t['epochs_trained']:>8} "
            f"{_number(t['validation']):>11} {_number(t['test']):>7}" + ("  diverged" if t["diverged"] else "")
            for t in told["trials"]
        ),
        f"best on validation: batch {best['batch']}, rate {best['rate']:g}, {best['epochs']} epochs: "
        f"{best['validation']:.4f} on validation, {best['test']:.4f} on test",
        f"trained {told['epochs_trained']} of {spent['epochs']} epochs that were declared",
    ]
    for name in ("best of n", "optimism"):
        chosen = [e for e in told["estimates"] if e["quantity"] == name]
        if chosen:
            last = chosen[-1]
            low, high = (f"{end:.4f}" for end in last["interval"])
            lines.append(f"{name}, n = {last['setting']['n']}: {last['value']:.4f}, interval {low} to {high}")
    return "\n".join(lines)


def _number(accuracy: float | None) -> str:
    return "–" if accuracy is None else f"{accuracy:.4f}"
