"""The answer sheet as one page to hand in: homeworks, questions, answers, and the evidence of each."""

from collections.abc import Sequence

from attnlab_theory.answers.sheet import Answer, Evidence, reason, status_text
from attnlab_theory.files import Form
from attnlab_theory.report.webpage import document, escaped


def page(answers: Sequence[Answer], command: str) -> str:
    """The page.

    Args:
        answers: in the order of the sheet.
        command: that makes the page again.
    """
    parts = [f"<p>{escaped(reason(answers))}</p>", f"<pre>{escaped(command)}</pre>"]
    homework = ""
    for answer in answers:
        if (now := answer.id.split("/")[0]) != homework:
            homework = now
            parts.append(f"<h2>{escaped(homework)}</h2>")
        parts += _answer(answer)
    return document("Answers, with evidence", "\n".join(parts), Form.ANSWERS)


def _answer(answer: Answer) -> list[str]:
    number = answer.id.split("/", 1)[1]
    lines = [f'<h3 id="{escaped(answer.id)}">{escaped(number)}: {escaped(status_text(answer))}</h3>']
    lines.append(f"<p><em>{escaped(answer.question)}</em></p>")
    for label, text in (answer.submitted or {"": answer.answer}).items():
        lines.append(f"<p>{f'<strong>{escaped(label)}:</strong> ' if label else ''}{escaped(text)}</p>")
    rows = "".join(map(_evidence, answer.evidence))
    return [*lines, f"<table><tr><th>evidence</th><th>kind</th><th>verdict</th></tr>{rows}</table>"]


def _evidence(evidence: Evidence) -> str:
    verdict = "not judged" if evidence.verdict is None else str(evidence.verdict)
    note = "" if evidence.as_expected or evidence.undecidable else ", not as expected"
    cells = (evidence.name, evidence.kind, verdict + note)
    return f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in cells)}</tr>"
