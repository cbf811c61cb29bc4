"""The pages of homeworks: questions, answers and their evidence, in the order of the course."""

from collections.abc import Iterator

from attnlab_theory import inputs
from attnlab_theory.answers import sheet
from attnlab_theory.book.catalogue import Item, slug
from attnlab_theory.book.desk import Desk
from attnlab_theory.book.markdown import page, raw, words
from attnlab_theory.claims import Findings, Verdict


def written(desk: Desk) -> Iterator[tuple[str, str]]:
    """The page of each homework, and the list of them."""
    every = desk.all
    by_homework: dict[str, list[sheet.Answer]] = {}
    for answer in _answers(desk):
        by_homework.setdefault(answer.id.split("/")[0], []).append(answer)
    listed = []
    for homework, answers in by_homework.items():
        about = desk.documents.moved(every.sources[homework].text, "docs/sources.md", f"homeworks/{homework}.md")
        parts = [about, words(sheet.reason(answers)) + "."]
        for answer in answers:
            entry = every.questions[answer.id]
            rows = [(e, item := every.evidence(entry, e.name), _said(desk, e.name, item)) for e in answer.evidence]
            told = {"status_text": sheet.status_text(answer), "contradicted": answer.contradicted}
            told |= {"question": answer.question, "texts": answer.submitted or {"": answer.answer}}
            number = answer.id.split("/", 1)[1]
            parts.append(f"({slug(answer.id)})=\n## {words(number)}\n\n" + raw(desk.parts.answer(told, rows)))
        yield f"homeworks/{homework}.md", page(homework, *parts, orphan=True)
        listed.append(f"* [{homework}]({homework}.md): {words(sheet.reason(answers))}")
    about = "Questions, answers and the evidence of each, in the order of the course."
    yield "homeworks/index.md", page("Homeworks", about, "\n".join(listed))


def _answers(desk: Desk) -> list[sheet.Answer]:
    every = desk.all
    labs = [run for name, run in every.runs.every.items() if name in every.labs]
    known = {item.name: item for item in every.items if item.claim is not None}
    return list(
        sheet.answered(
            every.questions.values(),
            lambda name: known[name].findings or None,
            recorded=Findings(f for run in labs for f in run.findings),
            fresh=Findings(f for run in labs for f in run.fresh),
            undecidable=every.undecidable,
            tried_before=_tried(desk),
            options={name: lab.option for name, lab in every.labs.items()},
        )
    )


def _tried(desk: Desk) -> dict[str, Verdict]:
    """The verdicts of identities, from the committed answers: to try them here would take half a minute."""
    path = desk.all.root / "figures" / "answers" / "answers.json"
    told = inputs.json_of(path) if path.is_file() else []
    identities = [each for answer in told for each in answer["evidence"] if each["kind"] == "identity"]
    return {each["name"]: Verdict(each["verdict"]) for each in identities}


def _said(desk: Desk, name: str, item: Item | None) -> str:
    if item is not None:
        return item.statement
    return desk.all.identities[name].statement if name in desk.all.identities else ""
