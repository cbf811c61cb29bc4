"""attnlab captions train, evaluate and generate: one model."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory import files
from attnlab_theory.labs.captions.arms import PRESETS, PresetName
from attnlab_theory.labs.options import ModelSizes, RecipeChanges, WithJson
from attnlab_theory.labs.texts import Texts
from attnlab_theory.labs.training import Checkpoints, train_and_report
from attnlab_theory.plurals import agree, several

if TYPE_CHECKING:
    from attnlab_theory.labs.sentences import Material
    from attnlab_theory.labs.starts import Start
    from attnlab_theory.language.decode import Choosing

Model = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL", help="File of a model that captions train wrote.")
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Changes(RecipeChanges):
    """How the model is trained. Options that you leave out take the preset's values."""

    epochs: int | None = None
    """The largest number of passes over the training data."""
    seed: int = 0
    """Initial weights, dropout, the order of sentences and, without files, the sentences follow from the seed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train:
    """Train a model to continue captions. Training ends when the validation loss no longer falls.

    The model of the best epoch is written. Without files, captions are drawn from the built-in grammar.
    """

    checkpoint: Checkpoints
    preset: PresetName = "tiny"
    """Model size and recipe. tiny: a small model, trained in seconds.
    homework: the homework's 3 layers of width 768."""
    texts: Texts = dataclasses.field(default_factory=Texts)
    reading_params_path: Path | None = None
    """File of a model of this lab to start from. Its size is kept."""
    gpt2: Path | None = None
    """File of GPT-2's weights, .safetensors, to start from. For --unit bpe. Its first --layers layers are taken."""
    recipe: Changes = dataclasses.field(default_factory=Changes)
    model: ModelSizes = dataclasses.field(default_factory=ModelSizes)

    def run(self) -> int:
        """Train and write."""
        from attnlab_theory.labs.captions.lab import training

        read = (*self.texts.paths, self.reading_params_path, self.gpt2)
        files.refuse_unwritable(self.checkpoint.writing_params_path, *read, form=files.Form.MODEL)
        material = self.texts.material(self.recipe.seed)
        recipe = self.recipe.of(PRESETS[self.preset].recipe)
        start = self._start(material)
        arm = "scratch" if self.reading_params_path is None and self.gpt2 is None else "pretrained"
        run = training(material, start, recipe, arm=arm)
        return train_and_report(run, self.checkpoint)

    def _start(self, material: "Material") -> "Start":
        from attnlab_theory.labs.captions.starts import cut_gpt2, read_model
        from attnlab_theory.language.models.config import GPTConfig

        if self.reading_params_path is not None and self.gpt2 is not None:
            raise ValueError("a model starts from one file: name --reading-params-path or --gpt2, not both")
        sizes = self.model.given
        if self.reading_params_path is not None:
            return read_model(self.reading_params_path, **sizes)
        preset = PRESETS[self.preset]
        chosen = dataclasses.replace(preset, **sizes)
        if self.gpt2 is not None:
            return cut_gpt2(self.gpt2, layers=chosen.layers, block=chosen.block, dropout=chosen.dropout)
        return GPTConfig(vocabulary=len(material.text), **chosen.model)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate(WithJson):
    """Measure the perplexity of a model on test sentences.

    Two perplexities are printed. The homework's is exp of the mean over sentences of each sentence's mean loss. The
    usual one is exp of the mean loss over all tokens.
    """

    model: Model
    test: Path | None = None
    """File of sentences, one a line. By default they are drawn from the built-in grammar of captions."""
    seed: int = 0
    """The seed of the sentences that are drawn."""

    def run(self) -> int:
        """Measure and print."""
        from attnlab_theory.labs.captions.starts import read_model, refuse_other_grammar
        from attnlab_theory.labs.perplexity import floor, losses
        from attnlab_theory.labs.sentences import Sizes, encoded, generated, read_sentences
        from attnlab_theory.report import record

        saved = read_model(self.model)
        block = saved.model.config.block
        if self.test is None:
            drawn = generated(self.seed, Sizes())
            refuse_other_grammar(self.model, saved, drawn)
            sentences, source, language = drawn.test, drawn.source, drawn.grammar
        else:
            sentences, source, language = read_sentences(self.test), str(self.test), None
        read = encoded(sentences, saved.text, block, source=source)
        found = losses(saved.model, read)
        told: dict[str, Any] = {
            "sentences": len(sentences),
            "tokens": int(found.targets.sum()),
            "cut": read.cut,
            "perplexity_of_sentences": found.perplexity_of_sentences,
            "perplexity_of_tokens": found.perplexity_of_tokens,
        }
        above = floor(found, sentences, language, block)
        if above:
            told["above_the_grammar"] = above[0].as_json()
        if self.json:
            print(record.to_text(told), end="")
            return 0
        print(
            f"{several(len(sentences), 'sentence')} of {source}, {several(told['tokens'], 'token')} with their ends"
        )
        if read.cut:
            said = several(read.cut, "sentence is", "sentences are")
            print(f"{said} longer than the block of {block} and {agree(read.cut, 'was', 'were')} cut")
        print(f"perplexity, mean of sentence means: {found.perplexity_of_sentences:.4f}")
        print(f"perplexity, mean over tokens:       {found.perplexity_of_tokens:.4f}")
        for each in above:
            low, high = each.interval.low, each.interval.high
            print(f"loss above the grammar's own: {each.value:.4f} nats per token")
            print(f"({low:.4f} to {high:.4f}; the interval errs with probability {each.error_rate:g})")
        return 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Generate:
    """Let a model write captions."""

    model: Model
    count: int = 10
    """How many captions."""
    greedy: bool = False
    """Take the likeliest token each time. Then all captions are the same."""
    temperature: float = 1.0
    """What the logits are divided by. Below 1, likely tokens become likelier."""
    top_k: int | None = None
    """Draw only from this many likeliest tokens."""
    top_p: float | None = None
    """Draw from the smallest set of likeliest tokens that has at least this probability."""
    seed: int = 0
    """All that is drawn follows from the seed."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["--outputs-path"])] = None
    """File for the captions, one a line. By default they are printed."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Generate and write."""
        from attnlab_theory.labs.captions.generate import as_lines, captions
        from attnlab_theory.labs.captions.starts import read_model
        from attnlab_theory.seeds import key_for

        choosing = self._choosing()
        if self.out is not None:
            files.refuse_unwritable(self.out, self.model, form=files.Form.LINES)
        saved = read_model(self.model)
        drawn = captions(key_for(self.seed, "captions"), saved.model, saved.text, self.count, choosing=choosing)
        lines = as_lines(drawn, saved.text)
        if self.out is not None:
            files.write_text(self.out, "".join(f"{line}\n" for line in lines))
        if self.json:
            print(json.dumps({"captions": lines}, indent=1, ensure_ascii=False))
        elif self.out is None:
            print("\n".join(lines))
        else:
            print(f"{several(len(lines), 'caption is', 'captions are')} in {self.out}")
        return 0

    def _choosing(self) -> "Choosing":
        from attnlab_theory.language.decode import Greedy, Sampling

        if self.temperature == 0:
            raise ValueError("--temperature 0 is --greedy: the likeliest token each time")
        sampling = Sampling(temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)
        if self.greedy and sampling != Sampling():
            raise ValueError("--greedy draws nothing: say it without temperature and cuts")
        return Greedy() if self.greedy else sampling
