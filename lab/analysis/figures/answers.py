"""What the questions of a run came to, as figures."""

from collections.abc import Iterable

from lab.analysis.figures.definitions import metric
from lab.analysis.figures.latency import percentiles_ms
from lab.records import Metric, QuestionAsked, Run


def answers(run: Run) -> list[Metric]:
    """The figures of each question, under its name."""
    return [found for asked in run.questions for found in figures(asked)]


def figures(asked: QuestionAsked) -> Iterable[Metric]:
    """The figures of one question."""
    service, took = percentiles_ms(asked.service_time), percentiles_ms(asked.took)
    for name in ("p50", "p90", "p99"):
        yield metric(f"query_service_time_ms_{name}", service.get(name), asked.name)
    for name in ("p50", "p99"):
        yield metric(f"query_took_ms_{name}", took.get(name), asked.name)
    for name, total in (
        ("requests_per_answer", asked.requests),
        ("ids_joined_per_answer", asked.ids_joined),
        ("books_per_answer", asked.books),
    ):
        yield metric(name, total / asked.answers if asked.answers else None, asked.name)
    yield metric("answers", asked.answers, asked.name)
    yield metric("answers_wrong", asked.wrong, asked.name)
