"""attnlab captions score and sweep: BLEU both ways, of files and of models."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from attnlab_theory import files
from attnlab_theory.labs import folders
from attnlab_theory.labs.captions.rules import HOMEWORK, DecodingName
from attnlab_theory.labs.judged_again import JudgeAgain
from attnlab_theory.labs.options import Unit

if TYPE_CHECKING:
    from attnlab_theory.labs.captions.sweep import Named


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """Compare generated sentences with real ones, both ways.

    Forward BLEU is the mean over HYPOTHESES of each one's BLEU-4 against all REFERENCES. Backward BLEU is the mean
    over REFERENCES against all HYPOTHESES. Both use nltk's smoothing method 1, as the homework does. An empty
    hypothesis scores 0.
    """

    hypotheses: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="HYPOTHESES")]
    """File of generated sentences, one a line."""
    references: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="REFERENCES")]
    """File of real sentences, one a line."""
    unit: Unit = "words"
    """What a token is. words: what stands between spaces. bpe: GPT-2's byte pairs."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Read, compare, print."""
        from attnlab_theory.labs.sentences import read_lines, read_sentences
        from attnlab_theory.language.text.bleu import References, corpus_bleu, forward_backward
        from attnlab_theory.report import record

        generated = [self._tokens(line) for line in read_lines(self.hypotheses)]
        real = [self._tokens(line) for line in read_sentences(self.references)]
        both = forward_backward(generated, real)
        told = {
            "hypotheses": len(generated),
            "references": len(real),
            "empty_hypotheses": sum(not sentence for sentence in generated),
            "forward": both.forward,
            "backward": both.backward,
            "harmonic": both.harmonic,
            "corpus": corpus_bleu(generated, References(real)),
        }
        if self.json:
            print(record.to_text(told), end="")
            return 0
        print(f"{len(generated)} hypotheses, {len(real)} references, tokens are {self.unit}")
        if told["empty_hypotheses"]:
            print(f"empty hypotheses, which score 0: {told['empty_hypotheses']}")
        print(f"forward BLEU-4:  {both.forward:.4f}")
        print(f"backward BLEU-4: {both.backward:.4f}")
        print(f"harmonic mean:   {both.harmonic:.4f}")
        print(f"corpus BLEU-4 of the hypotheses (sacrebleu's, exponential smoothing): {told['corpus']:.4f}")
        return 0

    def _tokens(self, sentence: str) -> tuple[int | str, ...]:
        if self.unit == "words":
            return tuple(sentence.split())
        from attnlab_theory.language.text.bpe import BPE

        return tuple(BPE().encode_text(sentence).tolist())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep:
    """Generate with every model in every way, and compare with real sentences.

    Intervals come from independent generations.
    """

    models: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MODEL ...")]
    """Files of models that captions train or captions run wrote."""
    test: Path | None = None
    """File of real sentences, one a line. By default they are drawn from the embedded grammar of captions."""
    decodings: tuple[DecodingName, ...] = HOMEWORK
    """Ways to choose the next token; t is the temperature."""
    count: int = 1000
    """Captions of one generation. The homework has 5,000."""
    generations: int = 3
    """Independent generations of each model and decoding."""
    out: Path = Path("lab/captions_sweep")
    """Folder for captions, JSON and figures. It is made if it does not exist."""
    json: bool = False
    """Print one JSON value and nothing else."""

    def run(self) -> int:
        """Generate, compare, draw."""
        from attnlab_theory.labs.captions import drawing, findings, results
        from attnlab_theory.labs.captions.starts import read_model, refuse_other_grammar
        from attnlab_theory.labs.captions.sweep import Named, sweep
        from attnlab_theory.labs.estimates import Estimates
        from attnlab_theory.labs.sentences import Sizes, generated, read_sentences
        from attnlab_theory.report import record
        from attnlab_theory.report.table import show

        if not self.models:
            raise ValueError("MODEL ... is missing: name at least one file that captions train wrote")
        names = [
            str(path.stem)
            if len({p.stem for p in self.models}) == len(self.models)
            else str(path).replace("/", "_")
            for path in self.models
        ]
        for path in self.models:
            if self.models.count(path) > 1:
                raise ValueError(f"{path} is named twice; once is enough: --generations repeats it")
        models = [
            Named(arm=name, seed=0, saved=read_model(path)) for name, path in zip(names, self.models, strict=True)
        ]
        if self.test is None:
            drawn = generated(0, Sizes())
            for path, model in zip(self.models, models, strict=True):
                refuse_other_grammar(path, model.saved, drawn)
            real = drawn.test
        else:
            real = read_sentences(self.test)
        folders.make_folder(self.out, "captions")
        rows, samples = [], []
        with files.held(self.out):
            for each in sweep(models, real, self.decodings, count=self.count, generations=self.generations):
                rows.append(each.row)
                _tell(f"{each.row.arm}: {each.row.decoding}, generation {each.row.generation + 1}")
                if each.row.generation == 0:
                    text = _of(models, each.row.arm).saved.text
                    name = f"{each.row.arm}.{each.row.decoding}"
                    lines = results.as_lines(each.captions, text)
                    files.write_text(self.out / f"{name}.txt", "".join(f"{line}\n" for line in lines))
                    samples.append(results.side(name, each.captions[: results.SHOWN], text))
            text = models[0].saved.text
            tokens = [tuple(text.encode_text(sentence).tolist()) for sentence in real]
            estimates = Estimates((*findings.compare(rows), *findings.about_real(tokens)))
            files.write_text(self.out / "samples.txt", "\n".join(samples))
            files.write_text(self.out / "estimates.json", record.to_text([e.as_json() for e in estimates]))
            files.write_text(self.out / "sweep.json", record.to_text([row.as_json() for row in rows]))
            drawing.draw(estimates, (), self.out)
        if self.json:
            print(record.to_text([row.as_json() for row in rows]), end="")
        else:
            show(results.table(estimates))
            show(f"\nCaptions, data and figures: {self.out}/")
        return 0


def _of(models: "list[Named]", arm: str) -> "Named":
    return next(model for model in models if model.arm == arm)


def _tell(text: str) -> None:
    import sys

    print(text, file=sys.stderr)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judge(JudgeAgain):
    """Judge a finished run again, from the numbers in its folder. Nothing is trained or generated.

    Findings are written anew, and the numbers over seeds that they rest on. The record of the run keeps the commit
    that trained it, and names the one that judged it.
    """

    def run(self) -> int:
        """Read, judge, write; 1 if a verdict is not the expected one."""
        from attnlab_theory.labs.captions.results import again

        return self.judge("captions", again)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw the figures of a run again, from the JSON files in its folder. Nothing is trained or measured."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder that `captions run` or `captions sweep` wrote."""

    def run(self) -> int:
        """Read and draw."""
        from attnlab_theory.labs.captions import drawing

        drawing.redraw(self.folder)
        print(f"figures are in {self.folder}/")
        return 0
