"""The process that sends queries, and afterwards compares their answers with the dataset.

It is told a task, then `go`, a line of JSON each, and `stop` where documents stream meanwhile. It answers `ready`, then
`progress` twice a second, then `checking`, then `done`.
"""

import contextlib
import gc
import json
import math
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, Final

from lab.errors import SluiceError
from lab.profiles.models import Ramp
from lab.profiles.questions import load_question
from lab.records.queries import ANSWERS_EVERY_S
from lab.run.query.draw import BoundQuestion, bound_questions
from lab.run.query.right_answers import Outcome
from lab.run.query.searchable import Searchable, SearchableError, wait_for_every_key
from lab.run.query.traffic import (
    LATE_NS,
    NO_ANSWER,
    NO_ANSWER_PAUSE_S,
    QueryConnection,
    Reply,
    Stage,
    StageResult,
    Task,
    Traffic,
)
from lab.run.ramp import LEAST_ANSWERED, next_rate, ramp_rates
from producers.children import Answers, serve
from producers.dataset import Dataset
from producers.latency import Latencies
from producers.registry import make_dataset

FIRST_S: Final = 1.0
"""What a step of a ramp leaves out at its beginning."""
TOLD_EVERY: Final = 100


def ramp_stages(task: Task, ramp: Ramp, run: Callable[[Stage], StageResult]) -> Iterator[StageResult]:
    """The steps of a ramp; it ends, too, where a rate has no query in a step."""
    rates = ramp_rates(task.load.rate_per_s or 1.0, ramp.factor)
    rate: float | None = next(rates)
    warm_up_s = task.load.warm_up_s
    while rate is not None and rate * ramp.step_s >= 1:
        result = run(Stage(rate, warm_up_s, ramp.step_s))
        yield result
        rate, warm_up_s = next_rate(rates, is_broken=is_broken(result, ramp)), FIRST_S


def step_of(result: StageResult) -> dict[str, Any]:
    """A stage as a step of a ramp."""
    latencies = Latencies()
    for reply in result.answered:
        latencies.record(reply.read_ns - reply.due_ns)
    return {
        "rate_per_s": result.rate_per_s,
        "started_ns": result.started_ns,
        "ended_ns": result.ended_ns,
        "answered": len(result.answered),
        "errors": len(result.replies) - len(result.answered),
        "latency_ms": latencies.percentiles_ms(),
    }


def is_broken(result: StageResult, ramp: Ramp) -> bool:
    """Whether p99 is over its bound, or more than 1 % of the queries were not answered."""
    step = step_of(result)
    if step["answered"] < LEAST_ANSWERED * len(result.replies) or not step["answered"]:
        return True
    return bool(step["latency_ms"]["p99"] > ramp.p99_ms)


# --- what it comes to -----------------------------------------------------------------------------------------------


@dataclass
class AnswerCount:
    """How the checked answers to one question were."""

    checked: int = 0
    wrong: int = 0
    first_wrong: str | None = None
    rows_right: list[tuple[float, int]] = field(default_factory=list)
    values_right: list[tuple[float, int]] = field(default_factory=list)

    def add(self, outcome: Outcome, count: int) -> None:
        """Count an answer that came so often."""
        self.checked += count
        if not outcome.is_right:
            self.wrong += count
            self.first_wrong = self.first_wrong or outcome.difference
        if outcome.rows_right is not None:
            self.rows_right.append((outcome.rows_right, count))
        if outcome.values_right is not None:
            self.values_right.append((outcome.values_right, count))


def mean(weighed: Sequence[tuple[float, int]]) -> float | None:
    """The mean of values that came so often."""
    return sum(value * count for value, count in weighed) / sum(count for _, count in weighed) if weighed else None


def check(traffic: Traffic, tell: Callable[[int, int], None]) -> list[AnswerCount]:
    """Compare every answer that was kept with the dataset.

    Args:
        tell: Called now and then with how many are compared, and of how many.
    """
    counts = [AnswerCount() for _ in traffic.questions]
    total, done = sum(len(kept) for client in traffic.kept for kept in client), 0
    for client in traffic.kept:
        for question, kept, count in zip(traffic.questions, client, counts, strict=True):
            for drawn, answer, times in kept.answers():
                if not done % TOLD_EVERY:
                    tell(done, total)
                count.add(question.check(drawn, answer), times)
                done += 1
    return counts


def question_record(
    question: BoundQuestion, replies: Sequence[Reply], count: AnswerCount, *, is_open: bool
) -> dict[str, Any]:
    """What `QueryTimes` says of one question."""
    service_time, latency, took = Latencies(), Latencies(), Latencies()
    answered = [reply for reply in replies if reply.error is None]
    for reply in answered:
        service_time.record(reply.read_ns - reply.sent_ns)
        latency.record(reply.read_ns - reply.due_ns)
        took.record(reply.took_ms * 1_000_000)
    hits = [(float(reply.hits), 1) for reply in answered if reply.hits is not None]
    return {
        "name": question.name,
        "question": question.question.question,
        "model": question.model,
        "fingerprint": question.fingerprint,
        "requests": len(replies),
        "errors": Counter(reply.error for reply in replies if reply.error is not None),
        "checked": count.checked,
        "wrong": count.wrong,
        "first_wrong": count.first_wrong,
        "rows_right": mean(count.rows_right),
        "values_right": mean(count.values_right),
        "hits_mean": mean(hits),
        "response_bytes": sum(reply.size_bytes for reply in answered),
        "service_time": service_time.encoded(),
        "service_time_s": sum(reply.read_ns - reply.sent_ns for reply in answered) / 1e9,
        "latency": latency.encoded() if is_open else None,
        "took": took.encoded(),
        "not_computed": question.not_computed,
    }


def answers_read(read_ns: Iterable[int], started_ns: int, ended_ns: int) -> list[int]:
    """How many answers were read in each interval from the one instant to the other."""
    every_ns = int(ANSWERS_EVERY_S * 1e9)
    counts = [0] * math.ceil((ended_ns - started_ns) / every_ns)
    for instant_ns in read_ns:
        if started_ns <= instant_ns < ended_ns:
            counts[(instant_ns - started_ns) // every_ns] += 1
    return counts


def load_record(traffic: Traffic, stages: Sequence[StageResult], counts: Sequence[AnswerCount]) -> dict[str, Any]:
    """What `QueryLoadResult` says, instants by the monotonic clock. Of a ramp, all steps count together."""
    replies = [reply for stage in stages for reply in stage.replies]
    duration_s = sum(stage.ended_ns - stage.started_ns for stage in stages) / 1e9
    is_open = traffic.task.load.rate_per_s is not None
    clients = traffic.task.load.clients
    # Queries with an error keep a client busy, too.
    busy_s = sum(reply.read_ns - reply.sent_ns for reply in replies) / 1e9
    pauses_s = len(replies) * traffic.task.load.think_time_s
    pauses_s += sum(reply.error == NO_ANSWER for reply in replies) * NO_ANSWER_PAUSE_S
    return {
        "started_ns": stages[0].started_ns,
        "ended_ns": stages[-1].ended_ns,
        # Little's law, L = λ W: queries per second × mean time under way.
        "clients_busy_mean": busy_s / duration_s if duration_s else 0.0,
        "clients_expected": None if is_open or not replies else clients * busy_s / (busy_s + pauses_s),
        "window_documents_mean": mean([(float(reply.documents), 1) for reply in replies if reply.error is None]),
        "late_starts": sum(reply.was_free and reply.sent_ns - reply.due_ns > LATE_NS for reply in replies),
        "sender_cpu_s": sum(stage.cpu_s for stage in stages),
        "answers_read": answers_read(traffic.read_ns, stages[0].started_ns, stages[-1].ended_ns),
        "questions": [
            question_record(
                question, [reply for reply in replies if reply.question == place], counts[place], is_open=is_open
            )
            for place, question in enumerate(traffic.questions)
        ],
        "steps": [step_of(stage) for stage in stages] if traffic.task.ramp else [],
    }


# --- the process ----------------------------------------------------------------------------------------------------


def listen(commands: BinaryIO, stop: threading.Event) -> None:
    """Stop at the word `stop`; end this process, without another word, when its standard input closes."""

    def watch() -> None:
        if commands.readline():
            stop.set()
            commands.read()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def searchable_documents(task: Task, dataset: Dataset, stop: threading.Event) -> Iterator[Searchable | None]:
    """How many documents searches find, more than none and kept up to date; `None` where each key is there.

    Documents without a timeline are waited for: only updates of theirs stream while queries are sent.
    """
    if not task.documents_stream:
        yield None
        return
    with contextlib.closing(QueryConnection(task.urls[0], task)) as connection:
        if dataset.timeline is None:
            wait_for_every_key(dataset, connection, task, stop)
            yield None
            return
        with Searchable(dataset, connection, task) as searchable:
            searchable.wait(stop)
            yield searchable


def work(commands: BinaryIO, answers: Answers) -> None:
    """Do what the task says."""
    # Threads that have an answer must not wait 5 ms for the interpreter.
    sys.setswitchinterval(0.0005)
    # A million replies would stop all clients for 0.1 s and more, again and again.
    gc.disable()
    task = Task.of(json.loads(commands.readline()))
    dataset = make_dataset(**task.dataset)
    questions = {name: load_question(name, Path(task.root)) for name in task.queries.questions}
    bound = bound_questions(
        questions,
        dataset,
        task.queries,
        task.models,
        mappings=task.mappings,
        stored=task.stored,
        changed=task.changed,
    )
    answers.write("ready")
    commands.readline()
    stop = threading.Event()
    listen(commands, stop)
    with searchable_documents(task, dataset, stop) as searchable:
        traffic = Traffic(task, bound, (lambda: dataset.documents) if searchable is None else searchable.documents)

        def tell() -> None:
            answers.write(
                "progress",
                **traffic.progress(),
                at_ns=time.monotonic_ns(),
                searchable=None if searchable is None else searchable.documents(),
            )

        def run(stage: Stage) -> StageResult:
            return traffic.run(stage, stop, tell)

        if task.ramp:
            stages = list(ramp_stages(task, task.ramp, run))
        else:
            load = task.load
            stages = [run(Stage(load.rate_per_s, load.warm_up_s, load.duration_s, load.requests))]
        traffic.close()
    counts = check(traffic, lambda done, total: answers.write("checking", done=done, total=total))
    record = load_record(traffic, stages, counts)
    answers.write("done", **record)


ERRORS = (SluiceError, SearchableError, OSError, HTTPException, ValueError)

if __name__ == "__main__":
    sys.exit(serve(work, ERRORS))
