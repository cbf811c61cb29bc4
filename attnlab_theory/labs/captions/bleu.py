"""attnlab captions score and sweep: BLEU both ways, of files and of models."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import tyro

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.captions.arms import HOMEWORK, DecodingName
from attnlab_theory.labs.engine.run import tell
from attnlab_theory.labs.options import WithJson
from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


GENERATIONS = 3
"""Independent generations of each model and decoding, from which intervals come."""

ScoreUnit = Literal["words", "bpe", "characters"]
"""What a token of scored sentences is."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score(WithJson):
    """Compare generated sentences with real ones, both ways, or with each other.

    Forward BLEU is the mean over HYPOTHESES of each one's BLEU-4 against all REFERENCES. Backward BLEU is the mean
    over REFERENCES against all HYPOTHESES. Self-BLEU is the mean over HYPOTHESES of each one's BLEU-4 against all
    others: how little they differ. All use nltk's smoothing method 1, as the homework does. An empty hypothesis
    scores 0.
    """

    hypotheses: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="HYPOTHESES")]
    """File of generated sentences, one a line."""
    references: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[REFERENCES]")] = None
    """File of real sentences, one a line."""
    among_themselves: Annotated[bool, tyro.conf.arg(name="self")] = False
    """Compare each hypothesis with the others, instead of REFERENCES. Its copies are among the others."""
    unit: ScoreUnit = "words"
    """What a token is.
    words: what stands between spaces.
    bpe: GPT-2's byte pairs.
    characters: every character but spaces, for languages that put no spaces between words."""

    def run(self) -> int:
        """Read, compare, print."""
        from attnlab_theory.labs.sentences import read_lines, read_sentences
        from attnlab_theory.language.corpora import spaces

        if (self.references is None) != self.among_themselves:
            raise ValueError(
                "name REFERENCES to compare with, or say --self to compare each hypothesis with the others: "
                f"{'both were' if self.among_themselves else 'neither was'} given"
            )
        lines = read_lines(self.hypotheses)
        real = () if self.references is None else read_sentences(self.references)
        if self.unit == "words":
            for path, read in ((self.hypotheses, lines), (self.references, real)):
                told = spaces.remark(list(filter(None, read)), str(path), "--unit characters compares characters")
                if told:
                    tell(told)
        if self.references is None:
            return self._told(self._of_themselves(lines))
        if tuple(filter(None, lines)) == real:
            same = f"{self.hypotheses} and {self.references} hold the same lines"
            tell(f"{same}; --self compares each with the others")
        return self._told(self._both_ways(lines, real))

    def _told(self, told: "Mapping[str, tuple[str, float]]") -> int:
        """Print numbers by name, each with its line for people."""
        from attnlab_theory.report import record

        if self.json:
            print(record.to_text({name: number for name, (_, number) in told.items()}), end="")
            return 0
        for line, _ in told.values():
            if line:
                print(line)
        return 0

    def _both_ways(self, lines: "Sequence[str]", real: "Sequence[str]") -> "Mapping[str, tuple[str, float]]":
        from attnlab_theory.language.text.bleu import References, corpus_bleu, forward_backward

        generated = self._all_tokens(lines, self.hypotheses)
        references = self._all_tokens(real, self.references)
        both, empty = forward_backward(generated, references), sum(not sentence for sentence in generated)
        corpus = corpus_bleu(generated, References(references))
        counted = several(len(generated), "hypothesis", "hypotheses")
        counted += f", {several(len(real), 'reference')}, tokens are {self.unit}"
        return {
            "hypotheses": (counted, len(generated)),
            "references": ("", len(real)),
            "empty_hypotheses": (_empty(empty), empty),
            "forward": (f"forward BLEU-4:  {both.forward:.4f}", both.forward),
            "backward": (f"backward BLEU-4: {both.backward:.4f}", both.backward),
            "harmonic": (f"harmonic mean:   {both.harmonic:.4f}", both.harmonic),
            "corpus": (
                f"corpus BLEU-4 of the hypotheses (sacrebleu's, exponential smoothing): {corpus:.4f}",
                corpus,
            ),
        }

    def _of_themselves(self, lines: "Sequence[str]") -> "Mapping[str, tuple[str, float]]":
        import numpy as np

        from attnlab_theory.language.text.bleu import self_bleu

        generated = self._all_tokens(lines, self.hypotheses)
        empty, different = sum(not sentence for sentence in generated), len(set(generated))
        mean = float(np.mean(self_bleu(generated)))
        return {
            "hypotheses": (
                f"{several(len(generated), 'hypothesis', 'hypotheses')}, tokens are {self.unit}",
                len(generated),
            ),
            "empty_hypotheses": (_empty(empty), empty),
            "different": (f"different ones: {different}", different),
            "self": (f"self-BLEU-4, each against all others: {mean:.4f}", mean),
        }

    def _all_tokens(self, lines: "Sequence[str]", source: Path | None) -> list[tuple[int | str, ...]]:
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(self._tokens(line))
            except ValueError as error:
                raise ValueError(f"sentence {number} of {source}: {error}") from None
        return found

    def _tokens(self, sentence: str) -> tuple[int | str, ...]:
        match self.unit:
            case "words":
                return tuple(sentence.split())
            case "characters":
                return tuple("".join(sentence.split()))
            case "bpe":
                from attnlab_theory.language.text.bpe import BPE

                return tuple(BPE().encode_text(sentence).tolist())
            case _:
                assert_never(self.unit)


def _empty(count: int) -> str:
    return f"empty hypotheses, which score 0: {count}" if count else ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep(WithJson):
    """Let every model write captions with every decoding, and compare them with real sentences.

    A decoding is a way to choose the next token. Intervals come from independent repetitions.
    """

    models: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MODEL ...")]
    """Model files written by `captions train` or `captions run`."""
    test: Path | None = None
    """File of real sentences, one a line. By default they are drawn from the built-in grammar of captions."""
    decodings: tuple[DecodingName, ...] = HOMEWORK
    """Ways to choose the next token; t is the temperature."""
    count: int = 1000
    """Captions of one generation. The homework has 5,000."""
    out: Path = Path("lab/captions_sweep")
    """Folder for captions, JSON and figures. It is made if it does not exist."""

    def run(self) -> int:
        """Generate, compare, draw."""
        from attnlab_theory.labs.captions.lab import Model
        from attnlab_theory.labs.captions.measure import figures_of
        from attnlab_theory.labs.captions.starts import read_model, refuse_other_grammar
        from attnlab_theory.labs.captions.sweep import about_real, compare, sweep, table
        from attnlab_theory.labs.engine.record import draw
        from attnlab_theory.labs.estimates import Estimates
        from attnlab_theory.labs.sentences import Sizes, generated, read_sentences
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show

        if not self.models:
            raise ValueError("MODEL ... is missing: name at least one file that captions train wrote")
        for path in self.models:
            if self.models.count(path) > 1:
                raise ValueError(f"{path} is named twice; once is enough")
        clear = len({path.stem for path in self.models}) == len(self.models)
        names = [path.stem if clear else str(path).replace("/", "_") for path in self.models]
        models = [Model(name, 0, read_model(path)) for name, path in zip(names, self.models, strict=True)]
        if self.test is None:
            drawn = generated(0, Sizes())
            for path, model in zip(self.models, models, strict=True):
                refuse_other_grammar(path, model.saved, drawn)
            real = drawn.test
        else:
            real = read_sentences(self.test)
        if self.test is not None and self.out.resolve() in self.test.resolve().parents:
            raise ValueError(f"{self.test} lies in {self.out}, whose texts are written over: choose another --out")
        folders.make_folder(self.out, "captions")
        rows, samples = [], []
        with files.held(self.out):
            for each in sweep(models, real, self.decodings, count=self.count, generations=GENERATIONS):
                rows.append(each.row)
                tell(f"{each.row.arm}: {each.row.decoding}, generation {each.row.generation + 1}")
                if each.row.generation == 0:
                    files.write_text(self.out / f"{each.name}.txt", each.lines)
                    samples.append(each.sample)
            tokens = [tuple(models[0].saved.text.encode_text(sentence).tolist()) for sentence in real]
            estimates = Estimates((*compare(rows), *about_real(tokens)))
            scored = record.to_text([row.as_json() for row in rows])
            files.write_text(self.out / "samples.txt", "\n".join(samples))
            files.write_text(self.out / "estimates.json", record.to_text([e.as_json() for e in estimates]))
            files.write_text(self.out / "sweep.json", scored)
            draw(figures_of(estimates, []), self.out)
        if self.json:
            print(scored, end="")
        else:
            show(table(estimates))
            show(f"\nCaptions, data and figures: {self.out}/")
        return 0
