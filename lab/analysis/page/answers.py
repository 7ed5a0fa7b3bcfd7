"""What the questions of a run came to: their section of the report."""

from html import escape

from lab.analysis.figures.metrics import answers
from lab.analysis.page.markup import paragraph, table
from lab.analysis.text import count, figure, number
from lab.records import QuestionAsked, Run

NOTE = (
    "Service time: first request of an answer sent until the last response was read, one question after the other over"
    " one connection, other values each time, the request cache not used; while nothing is indexed. Took: the part of"
    " it that Elasticsearch gives for its own work. Books, requests and ids joined are means per answer. Every answer"
    " was compared with the one worked out from the dataset."
)


COLUMNS = (
    "question",
    "answers",
    "wrong",
    "books each",
    "requests each",
    "ids joined each",
    "p50",
    "p90",
    "p99",
    "took",
)


def section(run: Run) -> str:
    """The questions with their figures; nothing where none was asked."""
    if not run.questions:
        return ""
    rows = [row(asked) for asked in run.questions]
    words = "".join(
        f"<p><strong>{escape(asked.name)}</strong> {escape(asked.question)} {escape(verdict(asked))}</p>"
        for asked in run.questions
    )
    return (
        f'<section><h2>What it answers, and how fast</h2>{words}<div class="card">{table(COLUMNS, rows)}</div>'
        f"{paragraph(NOTE, 'note')}</section>"
    )


def row(asked: QuestionAsked) -> tuple[str, ...]:
    """One line of the table."""
    values = {found.name: found.value for found in answers(asked)}
    times = [figure(values[f"query_service_time_ms_{name}"], "ms") for name in ("p50", "p90", "p99")]
    means = [number(values[f"{name}_per_answer"]) for name in ("books", "requests", "ids_joined")]
    return (
        asked.name,
        count(asked.answers),
        count(asked.wrong),
        *means,
        *times,
        figure(values["query_took_ms_p50"], "ms"),
    )


def verdict(asked: QuestionAsked) -> str:
    """Whether the answers can be believed, in one sentence."""
    if not asked.wrong:
        return f"All {count(asked.answers)} answers are right."
    said = f"{count(asked.wrong)} of {count(asked.answers)} answers are wrong, such as {asked.first_wrong}"
    return f"{said}; the profile expects that." if asked.expected_wrong else f"{said}."
