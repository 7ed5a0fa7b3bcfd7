"""Records of queries, asked one after the other or sent side by side."""

from typing import Final

from lab.records.base import Count, Record


class QuestionAnswers(Record):
    """Answers to one question.

    Attributes:
        question: In words.
        model: The document model whose requests were sent.
        fingerprint: Two runs share it exactly when they asked the same and the same was right.
        answers: How often it was asked, warm-up not counted; the other figures are over these.
        wrong: Answers that differ from what the dataset says.
        expected_wrong: Whether the profile is there to show that they are.
        first_wrong: How the first of them differs.
        requests: Requests that the answers took together.
        ids_joined: Ids that went from one request into the next.
        books: Books in all right answers together.
        service_time: Base64 of a compressed HdrHistogram in µs: first request sent → last response read.
        took: The same in µs: Elasticsearch's own time, summed over the requests of an answer; it tells whole ms.
        not_computed: Why no right answer could be computed: then answers are compared with the first one to the same
            request, `wrong` counts those that differ from it, and none is called right.
        left_out: Rejected documents (dead letters) that the right answers leave out.
    """

    name: str
    question: str
    model: str
    fingerprint: str
    answers: Count
    wrong: Count
    expected_wrong: bool
    first_wrong: str | None
    requests: Count
    ids_joined: Count
    books: Count
    service_time: str
    took: str
    not_computed: str | None = None
    left_out: Count = 0

    @property
    def as_expected(self) -> bool:
        """Check that answers are wrong only where the profile expects it, and there at least one."""
        return (self.wrong > 0) == self.expected_wrong


class RampStep(Record):
    """One step of a ramp.

    Attributes:
        rate_per_s: Queries or documents due per second.
        answered: Queries answered, or documents acknowledged by Elasticsearch.
        latency_ms: Due → answered, percentile name → ms; empty where nothing was.
    """

    rate_per_s: float
    started_s: float
    ended_s: float
    answered: Count
    errors: Count
    latency_ms: dict[str, float]


class DocumentRamp(Record):
    """A rate of documents that rose until one of them took too long, end to end.

    Attributes:
        p99_bound_ms: Of the end-to-end latency.
        steps: Each with the documents that were due in it.
    """

    p99_bound_ms: float
    steps: tuple[RampStep, ...]


class QueryTimes(Record):
    """Answers to one question of a query load, warm-up not counted.

    Attributes:
        question: In words.
        fingerprint: Two runs share it exactly when they asked the same kind of question about the same documents.
        requests: Queries sent; those with an error are in no figure of time.
        errors: Kind of error (`429 es_rejected_execution_exception`, `no answer`) → queries.
        checked: Answers that were compared with the dataset.
        wrong: Those of them that differ from what the dataset says.
        rows_right: Share of the rows of the checked answers that are right: of `top`, names wherever they stand.
        values_right: Share of them whose value (a count) is right, too.
        hits_mean: Documents that matched, on average.
        response_bytes: Size of all answers.
        service_time: Base64 of a compressed HdrHistogram in µs: sent → answer read.
        service_time_s: Sum of them.
        latency: The same from the due time; `None` in a closed loop, whose queries are due when they are sent.
        took: The same of Elasticsearch's own time, in whole ms.
        not_computed: As of `QuestionAnswers`.
    """

    name: str
    question: str
    model: str
    fingerprint: str
    requests: Count
    errors: dict[str, Count]
    checked: Count
    wrong: Count
    expected_wrong: bool
    first_wrong: str | None
    rows_right: float | None
    values_right: float | None
    hits_mean: float | None
    response_bytes: Count
    service_time: str
    service_time_s: float
    latency: str | None
    took: str
    not_computed: str | None = None

    @property
    def answers(self) -> int:
        """Queries that were answered."""
        return self.requests - sum(self.errors.values())


ANSWERS_EVERY_S: Final = 0.1


class QueryLoadResult(Record):
    """A query load: what was asked for, and what came of it between two instants, warm-up not counted.

    Attributes:
        rate_per_s: Queries due per second; `None` in a closed loop.
        window_s: Length of the windows asked about, in the documents' own time; `None` for all of the data.
        window_documents_mean: Documents in a window, on average.
        started_s: First instant after the warm-up.
        ended_s: When the last answer was read, or the end of the load, whichever is later.
        clients_busy_mean: Clients with a query under way, on average, by Little's law: Σ service times, those of errors
            included, ÷ duration.
        clients_expected: What that must be in a closed loop: clients × service time ÷ (service time + think time);
            `None` in an open one, and where nothing was answered.
        late_starts: Queries that were sent more than 10 ms after they were due although a client was free.
        sender_cpu_s: CPU time of the sending process over the same time.
        answers_read: Answers read in each `ANSWERS_EVERY_S` from `started_s` on, also between steps of a ramp.
        searchable_lag_s: How far the newest searchable document was behind the newest in Kafka, on average, where
            documents streamed meanwhile.
        steps: Of a ramp; empty without one.
        p99_bound_ms: That of the ramp.
    """

    clients: Count
    rate_per_s: float | None
    think_time_s: float
    request_cache: bool
    window_s: float | None
    window_place: str | None
    window_within: float | None
    window_documents_mean: float | None
    warm_up_s: float
    started_s: float
    ended_s: float
    clients_busy_mean: float
    clients_expected: float | None
    late_starts: Count
    sender_cpu_s: float
    answers_read: tuple[Count, ...]
    searchable_lag_s: float | None
    questions: tuple[QueryTimes, ...]
    steps: tuple[RampStep, ...] = ()
    p99_bound_ms: float | None = None

    @property
    def requests(self) -> int:
        """Queries sent, of all questions."""
        return sum(question.requests for question in self.questions)

    @property
    def answers(self) -> int:
        """Queries answered, of all questions."""
        return sum(question.answers for question in self.questions)

    @property
    def is_open_loop(self) -> bool:
        """Check that queries have due times of their own, and so a latency."""
        return self.rate_per_s is not None or bool(self.steps)

    @property
    def times_metric(self) -> str:
        """Beginning of the metrics of its times: latency where queries had due times, else service time."""
        return "query_latency_ms" if self.is_open_loop else "query_service_time_ms"

    @property
    def measured_s(self) -> float:
        """Seconds in which queries count: of a ramp, not the first ones of each step."""
        return sum(step.ended_s - step.started_s for step in self.steps) or self.ended_s - self.started_s

    @property
    def answers_per_s(self) -> float | None:
        """Queries answered per second of the measured part; `None` where that has no length."""
        return self.answers / self.measured_s if self.measured_s > 0 else None
