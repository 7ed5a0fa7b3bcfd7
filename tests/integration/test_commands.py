"""The command that stands beside a run: producing on its own."""

import re
import time
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from tests.integration.conftest import COMMAND_TIMEOUT_S, Sluice, warm_launcher

DOCUMENTS = 10_007
SHARED = 5003


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


def test_two_shares_send_the_whole_dataset_once(sluice: Sluice, tmp_path: Path) -> None:
    """From an agreed start, on one schedule; together they are one load, and one of them alone is none."""
    bootstrap = sluice.stack.endpoints().kafka_bootstrap
    start = datetime.fromtimestamp(time.time() + 8, UTC).isoformat(timespec="milliseconds")
    path = tmp_path / "books.ndjson"
    path.write_text("".join(f'{{"isbn": "{number}", "pages": {number % 997}}}\n' for number in range(SHARED)))
    records = [tmp_path / f"{share}.json" for share in (1, 2)]

    words = ("produce", "produced-in-shares", "--bootstrap-servers", bootstrap, "--path", str(path), "--key", "isbn")
    load = ("--rate", "2000", "--partitions", "2", "--start-at", start)
    drivers = [
        sluice.start(*words, *load, "--share", f"{share}/2", "--record", str(record))
        for share, record in enumerate(records, 1)
    ]
    assert [driver.wait(60) for driver in drivers] == [0, 0]
    whole, half = sluice("gather", *map(str, records), "--json"), sluice("gather", str(records[0]))

    from lab.clients.kafka import KafkaTopics  # noqa: PLC0415 - only this test looks into Kafka itself

    assert whole.status == 0, whole.errors
    delivered = orjson.loads(whole.output)["delivered"]
    assert sum(KafkaTopics(bootstrap).end_offsets("produced-in-shares").values()) == SHARED
    assert (delivered["delivered"], delivered["failed"]) == (SHARED, 0)
    # The last document is due 2.5 s after the first: a schedule of each for itself would last half as long, or twice.
    lasted_s = delivered["last_acknowledged_s"] - delivered["first_intended_s"]
    assert (SHARED - 1) / 2000 <= lasted_s < (SHARED - 1) / 2000 + 1
    assert (half.status, "share 2/2: got no delivery record" in half.errors) == (2, True)


@pytest.mark.parametrize(
    ("words", "status"), [(("profiles", "--json"), 0), (("run", "quickstart", "--set", "dataset.documents=none"), 2)]
)
def test_a_warm_command_ends_as_the_launchers_does(sluice: Sluice, words: tuple[str, ...], status: int) -> None:
    """With the same words; most calls of these tests spare themselves an interpreter of their own."""
    by_launcher = sluice(*words, through=("env",))
    assert by_launcher.status == status
    assert warm_launcher()(words, sluice.environment, COMMAND_TIMEOUT_S) == by_launcher
