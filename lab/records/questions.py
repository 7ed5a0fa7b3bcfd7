"""What the answers to a question were like."""

from lab.records.base import Count, Record


class QuestionAsked(Record):
    """What the answers to one question were like.

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

    @property
    def as_expected(self) -> bool:
        """Whether there are wrong answers exactly where the profile is there to show some."""
        return (self.wrong > 0) == self.expected_wrong
