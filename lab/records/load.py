"""What the load did, as its producers, its direct connections and its sink tell it."""

from lab.records.base import Count, Record


class Delivery(Record):
    """What the producers did, over all of their processes.

    Attributes:
        source_bytes: Size of the documents delivered (keys and headers not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        rate_docs_per_s: The rate that was asked for; `None` for as fast as possible.
        first_intended_s: When the first document was due.
        last_acknowledged_s: When Kafka had acknowledged the last one.
        late_documents: Documents sent more than 100 ms after they were due.
        latency_ms: Due → acknowledged by Kafka, percentile name (`p50`, `p90`, `p99`, `p99_9`, `max`) → ms.
        latency_samples: How many documents `latency_ms` rests on; `None` in runs of older versions, as the next one.
        latencies_clamped: How many of them took longer than an hour and were counted as one.
        cpu_s: CPU time of all producer processes.
    """

    source_bytes: Count
    entities: Count
    rate_docs_per_s: float | None
    first_intended_s: float
    last_acknowledged_s: float
    late_documents: Count
    latency_ms: dict[str, float]
    latency_samples: Count | None = None
    latencies_clamped: Count | None = None
    cpu_s: float


class DeliveryFailure(Record):
    """Documents that the producers gave up for one reason.

    Attributes:
        code: Kafka's name of the error, such as `MSG_SIZE_TOO_LARGE`.
        reason: What Kafka said of the first of them.
    """

    code: str
    reason: str
    documents: Count


class DirectLoad(Record):
    """What a direct load did: ready-made bulk requests over several connections, sent as fast as they were answered.

    Attributes:
        source_bytes: Size of the documents (action lines not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        body_bytes: Size of all bulk bodies.
        prepared_s: Time that preparing the bodies took, before the load.
        started_s: When the connections were told to send.
        ended_s: When the last answer was read.
        bulk_documents: Documents in the bulk requests that were answered with 200.
        accepted: Documents that Elasticsearch answered with success.
        already_there: Documents of which it had the same or a later version.
        refused: Status and type of the refusal → documents; each of them makes the run void.
    """

    connections: Count
    source_bytes: Count
    entities: Count
    body_bytes: Count
    prepared_s: float
    started_s: float
    ended_s: float
    bulk_requests: Count
    bulk_requests_failed: Count
    bulk_retries: Count
    bulk_documents: Count
    bulk_bytes: Count
    item_retries: Count
    accepted: Count
    already_there: Count
    refused: dict[str, Count]


class SinkHistograms(Record):
    """The sink's histograms at the end of the load, summed over its tasks; of a direct load those of its connections.

    Attributes:
        record_age: Base64 of a compressed HdrHistogram in µs: intended send time → acknowledged by Elasticsearch.
        bulk_service_time: The same in µs: bulk request sent → response read.
        lost: Why those of our own sink could not be read; `None` where they were, or there are none.
    """

    record_age: str | None
    bulk_service_time: str | None
    lost: str | None = None
