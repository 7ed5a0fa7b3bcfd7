"""Verification of a sink that is to store nothing: it has read every record, and the index is empty."""

from collections.abc import Iterator

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.records import Documents, Verification
from lab.run.verify.books import dead_letter_reasons, delivery_problems, distinct_letters, recorded
from lab.run.verify.verify import Subject


def verify_consumed(
    subject: Subject, topic: str, consumer_group: str, kafka: KafkaTopics, cluster: ElasticsearchClient
) -> tuple[Documents, Verification]:
    """Compare what the sink has committed with what the topic holds.

    Returns:
        The books, and whether they balance. Nothing of a document is compared: none is stored.
    """
    end_offsets = kafka.end_offsets(topic)
    committed = sum(kafka.committed_offsets(topic, consumer_group).values())
    letters = distinct_letters(kafka.dead_letters(subject.dead_letter_topic))
    stored = cluster.count(subject.index)
    documents = Documents(
        produced=subject.produced,
        delivered=subject.delivered,
        failed=subject.failed,
        indexed=0,
        already_there=0,
        dead_lettered=len(letters),
        dropped=max(0, committed - len(letters)),
        missing=0,
        unexpected=stored,
        sampled=0,
        sample_mismatches=0,
    )
    in_topic = sum(end_offsets.values())
    problems = (
        *delivery_problems(documents, in_topic, subject.failures),
        *consumption_problems(committed, in_topic, stored),
    )
    verification = Verification(
        verified=not problems,
        expect="consumed",
        problems=problems,
        dead_letters=dead_letter_reasons(letters),
        delivery_failures=recorded(subject.failures),
    )
    return documents, verification


def consumption_problems(committed: int, in_topic: int, stored: int) -> Iterator[str]:
    """One sentence for each law between topic, sink and index that does not hold."""
    if committed != in_topic:
        yield f"the sink has committed {committed} records, but the topic holds {in_topic}"
    if stored:
        yield f"{stored} documents are in the index, although the sink was to store none"
