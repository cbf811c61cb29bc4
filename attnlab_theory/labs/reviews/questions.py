"""attnlab reviews evaluate, predict, explain: how often a classifier is right, what it says of lines, and why."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from attnlab_theory import files
from attnlab_theory.labs.options import WithJson
from attnlab_theory.plurals import several

if TYPE_CHECKING:
    from attnlab_theory.labs.estimates import Estimate
    from attnlab_theory.labs.reviews.evaluation import Evaluation
    from attnlab_theory.labs.reviews.material import Encoded
    from attnlab_theory.language.checkpoint import Saved
    from attnlab_theory.language.corpora.labelled_grammar import LabelledGrammar
    from attnlab_theory.language.corpora.reviews import Reviews

MANY = 200
"""If there are this many tokens, a line says that leave-one-out takes a while."""

Model = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL", help="File of a model that reviews train wrote.")
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate(WithJson):
    """Count the reviews of a file that a model labels as the file does, with an interval.

    For several models, the mean is printed too.
    """

    models: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="MODEL ...", help="Files of models that reviews train wrote."),
    ]
    test: Path | None = None
    """File of reviews, a line LABEL text for each, or a table as GLUE has it. Without it, reviews are drawn."""
    seed: int = 0
    """The seed of the reviews that are drawn."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["--outputs-path", "--findings-path"])] = None
    """File for the labels that one model gives, one a line; or for the finding about the mean of several models."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""

    def run(self) -> int:
        """Ask, count, print."""
        from attnlab_theory.labs.reviews.answers import labels
        from attnlab_theory.labs.reviews.evaluation import judged_over_models, over_models
        from attnlab_theory.language.corpora.reviews import has_labels
        from attnlab_theory.report import record

        self._refuse_unfit()
        if self.test is not None and not has_labels(self.test):
            return self._predicted(self.test)
        found = [self._tested(path) for path in self.models]
        if len(found) == 1:
            (test, rules) = found[0]
            if self.out is not None:
                files.write_text(self.out, labels(test.answers))
            print(json.dumps(test.as_json() | rules, indent=1) if self.json else test.words + _page_of(rules))
            return 0
        whole = over_models([test.accuracy.value for test, _ in found])
        if self.out is not None:
            verdicts = judged_over_models(whole, len(found[0][0].answers), found[0][0].majority)
            files.write_text(self.out, record.to_text([record.as_json(f) for f in verdicts.findings]))
            if verdicts.unjudged:
                print(*verdicts.sentences(), sep="\n", file=sys.stderr)
        named = dict(zip(map(str, self.models), found, strict=True))
        print(json.dumps(_together(named, whole), indent=1) if self.json else _page_of_all(named, whole))
        return 0

    def _predicted(self, test: Path) -> int:
        """Print one model's answers about reviews without labels. Nothing is counted."""
        from attnlab_theory.labs.reviews.answers import labels, probabilities
        from attnlab_theory.labs.reviews.starts import read_model

        if len(self.models) > 1:
            raise ValueError(f"{test} has no labels to compare with: name one model, and its answers are written")
        saved = read_model(next(iter(self.models)))
        texts, asked = lines_for(saved, test)
        page = labels(probabilities(saved.model, asked.rows))
        if self.out is not None:
            files.write_text(self.out, page)
        print(
            f"{test} has no labels: {several(len(texts), 'review is', 'reviews are')} labelled, and none is scored",
            file=sys.stderr,
        )
        if self.json:
            unknown = dict.fromkeys(("right", "accuracy", "interval", "error_rate", "majority"))
            told = {"reviews": len(texts), **unknown, "cut": asked.cut, "labels": list(map(int, page.split()))}
            print(json.dumps(told, indent=1))
        elif self.out is None:
            print(page, end="")
        return 0

    def _tested(self, path: Path) -> "tuple[Evaluation, dict[str, float]]":
        """The answers of a model, and the known accuracies of rules on the same reviews."""
        from attnlab_theory.labs.reviews.evaluation import evaluation
        from attnlab_theory.labs.reviews.starts import read_model

        saved = read_model(path)
        reviews, language = self._asked(path, saved)
        return evaluation(saved.model, saved.text, reviews), _rules(language)

    def _refuse_unfit(self) -> None:
        if not self.models:
            raise ValueError("name at least one model that reviews train wrote")
        for path in self.models:
            if self.models.count(path) > 1:
                raise ValueError(f"{path} is named twice; once is enough")
        if self.out is not None:
            form = files.Form.FINDINGS if len(self.models) > 1 else files.Form.LINES
            files.refuse_unwritable(self.out, *self.models, self.test, form=form)

    def _asked(self, path: Path, saved: "Saved") -> tuple["Reviews", "LabelledGrammar | None"]:
        from attnlab_theory import refuse
        from attnlab_theory.labs.reviews.material import Sizes, generated
        from attnlab_theory.language.corpora.reviews import read_reviews

        if self.test is not None:
            return read_reviews(self.test), None
        refuse.not_a_seed(self.seed)
        drawn = generated(self.seed, Sizes())
        if saved.text.as_json() != drawn.text.as_json():
            raise ValueError(f"{path} was not trained on the embedded grammar: name reviews with --test")
        return drawn.test, drawn.grammar


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(WithJson):
    """Label the lines of a file: a label and the probability of label 1 for each line, in their order.

    If the file has labels already, the model does not read them. Nor does it read headings or an index.
    """

    model: Model
    lines: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="LINES", help="File with a text on each line.")
    ]
    out: Annotated[Path | None, tyro.conf.arg(aliases=["--outputs-path"])] = None
    """File for the answers, LABEL, a tab and the probability of label 1. By default they are printed."""
    force: bool = False
    """Write over files that attnlab has not written, but never over a file that is read."""

    def run(self) -> int:
        """Ask and write."""
        from attnlab_theory.labs.reviews.answers import probabilities
        from attnlab_theory.labs.reviews.starts import read_model
        from attnlab_theory.language.corpora.reviews import NAMES

        if self.out is not None:
            files.refuse_unwritable(self.out, self.model, self.lines, form=files.Form.LINES)
        saved = read_model(self.model)
        texts, asked = lines_for(saved, self.lines)
        found = probabilities(saved.model, asked.rows)
        answers = "".join(f"{int(p > 0.5)}\t{p:.4f}\n" for p in found)
        if self.out is not None:
            files.write_text(self.out, answers)
        if self.json:
            rows = [{"label": int(p > 0.5), "name": NAMES[int(p > 0.5)], "probability": p} for p in found.tolist()]
            print(json.dumps({"cut": asked.cut, "answers": rows}, indent=1))
            return 0
        if self.out is None:
            print(answers, end="")
        else:
            print(f"{several(len(texts), 'line is', 'lines are')} labelled in {self.out}")
        return 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explain(WithJson):
    """Score every token: gradient times input, attention rollout, and the log-odds that are lost without it.

    A positive gradient, or a positive loss of log-odds, speaks for label 1. For each method stars mark one
    fifth of the tokens: those with the largest scores, whatever their sign. The last row has the probability of
    label 1 if these tokens are replaced by one without meaning, and if as many random tokens are.
    """

    model: Model
    lines: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="LINES", help="File with a text on each line.")
    ]
    seed: int = 0
    """The seed that chooses the random tokens to replace."""

    def run(self) -> int:
        """Ask and print."""
        from attnlab_theory import refuse
        from attnlab_theory.labs.reviews.lines import explain
        from attnlab_theory.labs.reviews.starts import read_model

        refuse.not_a_seed(self.seed)
        saved = read_model(self.model)
        texts, asked = lines_for(saved, self.lines)
        tokens = int((asked.lengths - 2).sum())
        if tokens >= MANY:
            print(
                f"{several(tokens, 'token is', 'tokens are')} left out one by one: long lines take minutes",
                file=sys.stderr,
            )
        found = explain(saved.model, saved.text, texts, asked, seed=self.seed)
        if self.json:
            print(json.dumps([each.as_json() for each in found], indent=1, ensure_ascii=False))
        else:
            print("\n\n".join(each.page() for each in found))
        return 0


def lines_for(saved: "Saved", path: Path) -> "tuple[Sequence[str], Encoded]":
    """The lines of a file, and their tokens. Standard error says how many did not fit.

    Raises:
        ValueError: if the file is missing or broken, or a line has no token.
    """
    from attnlab_theory.labs.reviews.material import encoded
    from attnlab_theory.language.corpora.reviews import Reviews, read_unlabelled

    found = read_unlabelled(path)
    texts = found.texts
    asked = encoded(Reviews(texts, (0,) * len(texts), str(path)), saved.text, saved.model.config.encoder.block)
    for note in (*filter(None, [found.left_out]), *asked.notes("lines")):
        print(note, file=sys.stderr)
    return texts, asked


def _rules(language: "LabelledGrammar | None") -> dict[str, float]:
    """The exact accuracies of rules, if the language is known."""
    if language is None:
        return {}
    return {"bayes_accuracy": language.bayes_accuracy, "counting_accuracy": language.counting_accuracy}


def _page_of(rules: dict[str, float]) -> str:
    if not rules:
        return ""
    return f"\nBayes's rule: {rules['bayes_accuracy']:.2%}; counting words: {rules['counting_accuracy']:.2%}"


def _together(found: "dict[str, tuple[Evaluation, dict[str, float]]]", whole: "Estimate") -> dict[str, Any]:
    from attnlab_theory.report import record

    every = [{"model": name, **test.as_json(), **rules} for name, (test, rules) in found.items()]
    mean = {"accuracy": whole.value, "interval": record.ends(whole.interval), "error_rate": whole.error_rate}
    return {"models": every, "over_models": mean}


def _page_of_all(found: "dict[str, tuple[Evaluation, dict[str, float]]]", whole: "Estimate") -> str:
    return "\n".join(
        [
            *(f"{name}: {test.words}{_page_of(rules)}" for name, (test, rules) in found.items()),
            f"mean over {several(len(found), 'model')}: {whole.value:.2%}, interval {whole.interval.low:.2%} to "
            f"{whole.interval.high:.2%} ({1 - whole.error_rate:.0%}, for more models of the kind)",
        ]
    )
