"""attnlab recurrent run: train, measure, judge and draw everything."""

import dataclasses
import functools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.options import ParallelRun
from attnlab_theory.labs.recurrent.presets import ARMS, PARTS, TINY, ActivationName, Part, Preset
from attnlab_theory.labs.recurrent.texts import Texts

if TYPE_CHECKING:
    from attnlab_theory.labs.recurrent.lab import Lab
    from attnlab_theory.labs.recurrent.results import Results

QUESTION = "What do an RNN, a W-RNN and a GPT of one size learn of one language?"

WINDOWS = 2000
"""Windows of a tuning run, if nothing else is said."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunLab(ParallelRun):
    """Train RNNs, W-RNNs and GPTs. Then compare losses, gradients and texts, judge and draw.

    Without files, sentences are drawn from an embedded grammar of captions, whose entropy is known exactly.
    """

    texts: Texts = dataclasses.field(default_factory=Texts)
    parts: tuple[Part, ...] = PARTS
    """What is measured.
    equal: RNN, W-RNN and GPT at equal parameters and equally many tokens; their gradients by distance.
    growth: RNN and W-RNN by hidden size.
    rates: words that an RNN of characters garbles, by learning rate.
    tuning: the homework's tuning runs."""
    epochs: int | None = None
    """Passes over the sentences, by default 6, of each of the models at equal parameters. For the part equal."""
    activation: ActivationName = "tanh"
    """f1 and f2 of the recurrent networks. The tuning runs keep the homework's sigmoid."""
    windows: int | None = None
    """Windows of text that each of the homework's tuning runs reads. By default 2000. For the part tuning."""
    seeds: int = 5
    """How many seeds to run. Sentences that are drawn and first weights follow from the seed.
    Five take about two minutes on two cores. Fewer than three decide nothing."""
    out: Path = Path("lab/recurrent")
    """Folder for models, JSON and figures. It is made if it does not exist."""

    def run(self) -> int:
        """Train, measure, write; 1 if a verdict is not the expected one, 130 after Ctrl-C."""
        from attnlab_theory.labs.processes import all_trained, workers
        from attnlab_theory.labs.recurrent import results
        from attnlab_theory.report import record

        began = time.monotonic()
        windows = self._windows()
        lab = self.lab()
        processes = workers(self.processes, small=True, tell=_tell)
        results.refuse_unmeasurable(lab)
        about = self._about(lab, windows)
        with folders.begun(self.out, "recurrent"):
            if not self.resume:
                lab.refuse_left_over()
            if not all_trained(self, lab, processes):
                return 130
            found = results.results(lab, windows=windows, tell=_tell)
            results.write(found, self.out)
            about["seconds"] = round(time.monotonic() - began, 2)
            about |= found.verdicts.as_json()
            files.write_text(self.out / results.ABOUT, record.to_text(about))
        self._report(found, about)
        return 0 if found.as_expected else 1

    def _windows(self) -> int:
        from attnlab_theory import refuse

        if self.windows is None:
            return WINDOWS
        if "tuning" not in self.parts:
            raise ValueError("--windows is for the tuning runs: add tuning to --parts, or leave it out")
        refuse.not_a_size(windows=self.windows)
        return self.windows

    def _preset(self) -> Preset:
        from attnlab_theory import refuse

        preset = dataclasses.replace(TINY, activation=self.activation)
        if self.epochs is None:
            return preset
        if "equal" not in self.parts:
            raise ValueError("--epochs is for models at equal parameters: add equal to --parts, or leave it out")
        refuse.not_a_size(epochs=self.epochs)
        return dataclasses.replace(preset, recipe=dataclasses.replace(preset.recipe, epochs=self.epochs))

    def lab(self) -> "Lab":
        """What is trained on what.

        Raises:
            ValueError: of bad input, before anything is written.
        """
        from attnlab_theory.labs.recurrent.lab import Lab
        from attnlab_theory.labs.recurrent.letters import by_letters

        if len(set(self.parts)) != len(self.parts) or not self.parts:
            raise ValueError(f"--parts are some of {' '.join(PARTS)}, each at most once")
        seeds = self.every_seed()
        first = self.texts.material(self.seed)  # Complains of bad input before anything is written.
        material = functools.cache(self.texts.material) if self.texts.train is None else (lambda _: first)
        spelled = self.texts.unit == "characters"
        return Lab(
            preset=self._preset(),
            seeds=seeds,
            material=material,
            letters=material if spelled else functools.cache(lambda seed: by_letters(material(seed))),
            folder=self.out / "models",
            parts=self.parts,
            longer=self.texts.longer,
        )

    def _about(self, lab: "Lab", windows: int) -> dict[str, Any]:
        """What was run; asked for before anything is written, which may be a change to the checkout."""
        from attnlab_theory.labs.recurrent.findings import ERROR_RATE
        from attnlab_theory.report import provenance

        told = {"question": QUESTION, "seed": self.seed, "seeds": self.seeds, "parts": list(self.parts)}
        told |= {"unit": self.texts.unit, "activation": self.activation}
        if "equal" in self.parts:
            read = [lab.read(seed) for seed in lab.seeds]
            told["equal"] = {
                "arms": list(ARMS),
                "epochs": lab.preset.recipe.epochs,
                "tokens_read_by_each_arm": [each.tokens for each in read],
                "training_sentences_cut": [each.cut for each in read],
            }
        if "tuning" in self.parts:
            told["windows"] = windows
        return {**told, **provenance.of_this_process(), "error_rate": ERROR_RATE}

    def _report(self, found: "Results", about: dict[str, Any]) -> None:
        from attnlab_theory.labs.verdicts import report

        report(found.verdicts, found.estimates, about, self.out, json=self.json)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
