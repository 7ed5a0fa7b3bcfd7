"""A query load: the process that sends the queries, from its start to what its answers were like."""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from lab.errors import ProfileError, StackError
from lab.monitor import CLOCK
from lab.profiles.models import QueryLoad, QueryOnly
from lab.profiles.questions import load_question
from lab.records.queries import QueryLoadResult, QueryTimes, RampStep
from lab.records.samples import Sample
from lab.run.phases import RunContext
from lab.run.query.ask import own_index, requests_of
from producers.children import ChildError, Children

READY_WITHIN_S = 300.0
"""The columns of a large dataset are made meanwhile."""
GRACE_S = 5.0
POLL_S = 0.2
NEXT_COPY_S = 1.0
"""What a copy of a shard may be behind another one, beyond its own refreshes."""


class QuerySending:
    """The sending process of a run. Leaving the context ends it.

    Args:
        refresh_interval_s: That of the index, where documents stream meanwhile; `None` where they are all there.
        section: The section of the profile that asks for them.
    """

    def __init__(
        self,
        run: RunContext,
        load: QueryLoad,
        refresh_interval_s: float | None,
        section: Literal["load", "maintain"] = "load",
    ) -> None:
        self._run = run
        self._section = section
        self._load = load
        self._follows = refresh_interval_s is not None
        self._task = sending_task(run, load, refresh_interval_s)
        self._children = Children(
            "lab.run.query.sender",
            "the process that sends queries",
            environment=run.target.child_environment,
            grace_s=GRACE_S,
        )
        self._searchable: list[tuple[float, int]] = []
        self._done: dict[str, Any] | None = None
        self._checking = False

    def __enter__(self) -> Self:
        self._children.__enter__()
        self._run.children["queries"] = self._children.processes[0].pid
        with contextlib.ExitStack() as leaving:
            leaving.push(self)
            self._await_readiness()
            leaving.pop_all()
        return self

    def _await_readiness(self) -> None:
        self._tell(json.dumps(self._task))
        if self._answer(READY_WITHIN_S) is None:
            raise StackError(f"queries: the sending process was not ready after {READY_WITHIN_S:.0f} s")

    def __exit__(self, *_: object) -> None:
        self._run.children.pop("queries", None)
        self._children.__exit__(None, None, None)

    def go(self) -> None:
        """Let it begin."""
        self._tell("go")

    def stop(self) -> None:
        """Have it end, because no documents stream any more."""
        self._tell("stop")

    def follow(self) -> None:
        """Take note of what it has said by now; raises StackError if it has failed."""
        while (word := self._answer(0)) is not None:
            self._note(word)

    def result(self) -> QueryLoadResult:
        """Follow it to its last word; raises StackError if it has failed, or takes longer than the profile allows."""
        stated = self._run.profile.maintain if self._section == "maintain" else None
        timeout_s = (stated or self._run.profile.load).timeout_s
        deadline = time.monotonic() + timeout_s
        while self._done is None:
            if time.monotonic() > deadline:
                raise StackError(f"queries: still running after {timeout_s:.0f} s ({self._section}.timeout_s)")
            if (word := self._answer(POLL_S)) is not None:
                self._note(word)
                self._show(word)
        return self._record(self._done)

    def _tell(self, word: str) -> None:
        self._children.tell(0, word.encode() + b"\n")

    def _answer(self, timeout_s: float) -> dict[str, Any] | None:
        try:
            answered = self._children.answer(timeout_s)
        except ChildError as error:
            raise StackError(f"queries: {error}") from error
        return answered[1] if answered else None

    def _note(self, word: dict[str, Any]) -> None:
        if word["kind"] == "done":
            self._done = word
        elif word["kind"] == "progress" and word["searchable"] is not None:
            self._searchable.append((epoch_s(word["at_ns"]), word["searchable"]))

    def _show(self, word: Mapping[str, Any]) -> None:
        if word["kind"] == "progress":
            self._run.progress.update(word["sent"], progress_text(word))
        elif word["kind"] == "checking":
            if not self._checking:
                self._checking = True
                self._run.progress.begin(self._run.clock.current, "checking the answers", word["total"])
            self._run.progress.update(word["done"])

    def _record(self, done: Mapping[str, Any]) -> QueryLoadResult:
        queries, load = self._run.profile.queries, self._load
        assert queries is not None  # noqa: S101 - as the profile's checks have seen
        started_s, ended_s = epoch_s(done["started_ns"]), epoch_s(done["ended_ns"])
        window = queries.window
        return QueryLoadResult(
            clients=load.clients,
            rate_per_s=load.rate_per_s,
            think_time_s=load.think_time_s,
            request_cache=queries.request_cache,
            window_s=window and window.seconds,
            window_place=window and window.place,
            window_within=window and window.within,
            window_documents_mean=done["window_documents_mean"],
            warm_up_s=load.warm_up_s,
            started_s=started_s,
            ended_s=ended_s,
            clients_busy_mean=done["clients_busy_mean"],
            clients_expected=done["clients_expected"],
            late_starts=done["late_starts"],
            sender_cpu_s=done["sender_cpu_s"],
            answers_read=done["answers_read"],
            searchable_lag_s=self._lag_s(started_s, ended_s),
            questions=tuple(
                QueryTimes(**question, expected_wrong=question["name"] in queries.expect_wrong)
                for question in done["questions"]
            ),
            steps=tuple(ramp_step(step) for step in done["steps"]),
            p99_bound_ms=self._run.profile.load.ramp and self._run.profile.load.ramp.p99_ms,
        )

    def _lag_s(self, started_s: float, ended_s: float) -> float | None:
        if not self._follows:
            return None
        in_kafka = [(sample.at_s, sample.kafka.end_offset) for sample in samples_of(self._run) if sample.kafka]
        return searchable_lag_s(in_kafka, [(at_s, n) for at_s, n in self._searchable if started_s <= at_s <= ended_s])


def progress_text(word: Mapping[str, Any]) -> str:
    """How far the sending process is, how long it will take still, and what became of its queries."""
    parts = [f"{word['elapsed_s']:.0f} s" + (f" of {word['lasts_s']:.0f} s" if word["lasts_s"] is not None else "")]
    if word["rate_per_s"] is not None:
        parts.append(f"at {word['rate_per_s']:,.1f}/s")
    parts.append(f"{word['sent']:,} queries sent")
    if word["errors"]:
        parts.append(f"{word['errors']:,} errors")
    return ", ".join(parts)


def wrong_answers(questions: Iterable[QueryTimes], section: str = "load") -> Iterator[str]:
    """One sentence for each question whose answers are not as the profile expects.

    Args:
        section: Of the profile that asked for them.
    """
    questions = list(questions)
    if not any(question.requests for question in questions):
        yield (
            f"{section}.queries: no query was sent after the warm-up ({section}.queries.warm_up_s); send them, or "
            "stream documents, for longer"
        )
    for question in questions:
        if question.requests and not question.answers:
            kinds = ", ".join(sorted(question.errors))
            yield f"question {question.name}: none of {question.requests} queries was answered ({kinds})"
        elif question.answers and not question.checked:
            yield f"question {question.name}: none of {question.answers} answers was checked"
        elif question.wrong and not question.expected_wrong and question.not_computed:
            yield (
                f"question {question.name}: {question.wrong} of {question.checked} answers differ from the first one "
                f"to the same request, such as {question.first_wrong}; its times do not count"
            )
        elif question.wrong and not question.expected_wrong:
            yield (
                f"question {question.name}: {question.wrong} of {question.checked} answers are wrong, such as "
                f"{question.first_wrong}; its times do not count"
            )
        elif question.checked and not question.wrong and question.expected_wrong:
            yield (
                f"question {question.name}: all {question.checked} answers are right, expected wrong ones "
                "(queries.expect_wrong); remove it from that list"
            )


def samples_of(run: RunContext) -> list[Sample]:
    """The samples so far; the last line may still be under way."""
    lines = run.folder.samples.read_bytes().split(b"\n")[:-1]
    return [Sample.model_validate_json(line) for line in lines]


def searchable_lag_s(in_kafka: Sequence[tuple[float, int]], searchable: Sequence[tuple[float, int]]) -> float | None:
    """How long ago, on average, the newest searchable document was the newest in Kafka.

    Args:
        in_kafka: Instants and how many documents were in the topic; between two of them it grew evenly.
        searchable: Instants and how many documents searches found then.
    """
    if not in_kafka or not searchable:
        return None
    instants_s, offsets = (np.array(column) for column in zip(*in_kafka, strict=True))
    offsets, first = np.unique(offsets, return_index=True)
    read_s, documents = (np.array(column) for column in zip(*searchable, strict=True))
    return float(np.mean(np.maximum(0.0, read_s - np.interp(documents, offsets, instants_s[first]))))


def epoch_s(monotonic_ns: int) -> float:
    """An instant of the monotonic clock, which all processes of a machine share, as this run's clock has it."""
    return CLOCK.now_s() - time.monotonic() + monotonic_ns / 1e9


def ramp_step(step: Mapping[str, Any]) -> RampStep:
    """A step as it is written down."""
    named = {name: value for name, value in step.items() if not name.endswith("_ns")}
    return RampStep(started_s=epoch_s(step["started_ns"]), ended_s=epoch_s(step["ended_ns"]), **named)


def sending_task(run: RunContext, load: QueryLoad, refresh_interval_s: float | None) -> dict[str, Any]:
    """What the sending process must know."""
    profile, access = run.profile, run.target.access.elasticsearch
    if profile.queries is None:
        raise ProfileError("load.queries: no questions are listed; add `queries.questions`")
    dataset = profile.dataset
    books = {} if dataset.books is None else {"books": dataset.books}
    copies_differ = refresh_interval_s is not None and profile.number_of_replicas > 0
    questions = {name: load_question(name, run.root) for name in profile.queries.questions}
    return {
        "urls": run.target.endpoints.elasticsearch_urls,
        "index": run.names.index,
        "dataset": {
            "name": dataset.name,
            "documents": dataset.documents,
            "seed": dataset.seed,
            **dataset.options,
            **books,
        },
        "root": str(run.root),
        "queries": profile.queries.model_dump(mode="json"),
        "load": load.model_dump(mode="json"),
        "ramp": profile.load.ramp.model_dump() if isinstance(profile.load, QueryOnly) and profile.load.ramp else None,
        "models": {name: requests_of(profile, question) for name, question in questions.items()},
        **(own_index(run) if any(question.is_about_a_file for question in questions.values()) else {}),
        "documents_stream": refresh_interval_s is not None,
        "hold_s": refresh_interval_s + NEXT_COPY_S if refresh_interval_s is not None and copies_differ else 0.0,
        "headers": access.headers(),
        "ca": None if access.ca is None else str(access.ca),
    }
