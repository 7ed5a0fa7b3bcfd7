"""The command that stands beside a run: producing on its own."""

import re

from tests.integration.conftest import Sluice

DOCUMENTS = 10_007


def test_produce_works_on_its_own_against_any_kafka(sluice: Sluice) -> None:
    """Every document asked for is in the topic, over all partitions, and the command says how fast."""
    bootstrap = sluice.stack.endpoints().kafka_bootstrap

    done = sluice(
        "produce", "produced-alone", "--bootstrap-servers", bootstrap, "--documents", str(DOCUMENTS),
        "--processes", "2", "--partitions", "3", "--option", "model=flat", "--client", "linger.ms=20",
    )  # fmt: skip

    from lab.clients.kafka import KafkaTopics  # noqa: PLC0415 - only this test looks into Kafka itself

    assert (done.status, done.errors) == (0, "")
    ends = KafkaTopics(bootstrap).end_offsets("produced-alone")
    delivered = int(re.search(r"delivered\D+([\d,]+) documents", done.output)[1].replace(",", ""))  # type: ignore[index]
    assert len(ends) == 3
    assert sum(ends.values()) == delivered >= DOCUMENTS
    assert "delivery rate" in done.output
