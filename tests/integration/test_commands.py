"""The commands that stand beside a run: producing on its own, showing profiles."""

import re

import pytest

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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--dataset", "aladdin"), "sluice: dataset: aladdin: unknown dataset, did you mean `aladin`?"),
        (
            ("--option", "modell=flat"),
            "sluice: dataset: modell: unknown option of dataset aladin, did you mean `model`?",
        ),
        (("--option", "shops_max=many"), "sluice: --option shops_max: got many, expected a number"),
        (("--client", "acks"), "sluice: --client acks: got no value, expected NAME=VALUE"),
    ],
)
def test_produce_refuses_what_it_does_not_know(sluice: Sluice, arguments: tuple[str, ...], sentence: str) -> None:
    """One sentence, exit status 2."""
    bootstrap = sluice.stack.endpoints().kafka_bootstrap

    done = sluice("produce", "never-made", "--bootstrap-servers", bootstrap, *arguments)

    assert (done.status, done.errors.startswith(sentence)) == (2, True), done.errors


def test_profiles_are_listed_and_shown_with_where_each_value_comes_from(sluice: Sluice) -> None:
    """The list has the quickstart with its question; `show` names file, line and command line."""
    listed = sluice("profiles")
    shown = sluice("show", "quickstart", "--set", "topic.partitions=7")

    assert listed.status == shown.status == 0
    assert "quickstart" in listed.output
    assert re.search(r"dataset\.name +│ aladin +│ .*quickstart\.yaml:\d+", shown.output)
    assert re.search(r"topic\.partitions +│ 7 +│ --set", shown.output)
