"""Records that were refused, counted by their reason."""

from lab.records.base import Count, Record


class DeadLetterReason(Record):
    """How many records were refused for one reason.

    Attributes:
        reason: Status, type and cause as Elasticsearch or the sink gives them.
        records: How many.
        first: One of them, as `topic-partition@offset`.
    """

    reason: str
    records: Count
    first: str


class DeadLetterGroup(Record):
    """Dead letters with one status and one reason, as `./sluice dead-letters show --json` gives them.

    Attributes:
        status: HTTP status of the item; `None` where Elasticsearch was never asked.
        type: The kind of error, as Elasticsearch names it; `None` likewise.
        cause: The reason in general words, without what it quotes of a document.
        first: The first of them, as `topic-partition@offset`.
    """

    status: int | None
    type: str | None
    cause: str
    records: Count
    first: tuple[str, ...]
