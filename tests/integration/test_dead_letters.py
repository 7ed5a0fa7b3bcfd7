"""Refused records on the real servers: shown by reason, replayed once the mapping is fixed, each stored once."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
import pytest
from confluent_kafka import Producer

from lab.clients.target import topics_of
from lab.errors import ProfileError
from lab.records.run import Run
from lab.replay.dead_letters import DeadLetterTopic
from lab.replay.mapping import update_mapping
from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice, write_ndjson

BOOKS = 211
REFUSED = (7, 101, 197)
MENDED = {"properties": {"pages": {"type": "long", "ignore_malformed": True}}}
BY_OFFSET = ("--set", "sink.config={key.ignore: true, behavior.on.null.values: ignore, id.prefix: 'east:'}")


def run_with_refusals(sluice: Sluice, folder: Path, *options: str) -> Run:
    """A run in which three books are refused; one of them has a later, good version."""
    lines = [{"isbn": str(n), "pages": "secret" if n in REFUSED else n} for n in range(BOOKS)]
    path = write_ndjson(folder / "books.ndjson", [*lines, {"isbn": "101", "pages": 101}])
    done = sluice.run("file", "--path", str(path), "--key", "isbn", *options)
    assert (done.status, done.errors) == (0, "")
    return Run.model_validate_json((sluice.latest() / "run.json").read_bytes())


def dead_letters(sluice: Sluice, command: str, *arguments: str) -> tuple[int, str, str]:
    """`./sluice dead-letters …`, its status, output and errors."""
    done = sluice("dead-letters", command, *arguments, "--runs", str(sluice.runs))
    return done.status, done.output, done.errors


def write_a_letter_again(sluice: Sluice, topic: str) -> None:
    """The first letter of the topic once more at its end, as a sink does that is not sure of the first.

    Each has the time of their record (`report` of `DeadLetterQueueReporter` in Kafka Connect).
    """
    endpoints = sluice.stack.endpoints()
    first = next(topics_of(endpoints).records(topic))
    producer = Producer({"bootstrap.servers": endpoints.kafka_bootstrap})
    producer.produce(topic, first.value(), first.key(), headers=first.headers(), timestamp=first.timestamp()[1])
    assert producer.flush(30) == 0


def stored(elasticsearch: httpx.Client, index: str) -> dict[str, int]:
    """Version by id of everything in the index."""
    elasticsearch.post(f"/{index}/_refresh").raise_for_status()
    found = elasticsearch.post(f"/{index}/_search", json={"size": 1000, "version": True}).json()["hits"]["hits"]
    return {hit["_id"]: hit["_version"] for hit in found}


def test_refused_records_are_shown_and_replayed_once_the_mapping_is_mended(
    sluice: Sluice, tmp_path: Path, elasticsearch: httpx.Client
) -> None:
    """One written twice counts once. Accepted, they are stored with their own versions, and a newer one wins."""
    topic = run_with_refusals(sluice, tmp_path).topic
    write_a_letter_again(sluice, f"{topic}-dead-letters")

    status, output, _ = dead_letters(sluice, "show", "--json")
    shown = orjson.loads(output)
    (group,) = shown["groups"]
    assert (status, shown["records"], group["status"], group["records"]) == (0, 3, 400, 3)
    assert group["first"] == [f"{topic}-0@{offset}" for offset in REFUSED]
    assert "secret" not in output
    _, content, _ = dead_letters(sluice, "show", topic, "--documents", "1")
    assert content.count("secret") == 2  # in the document, and in the reason that quotes it

    too_early = dead_letters(sluice, "replay")
    assert too_early[0] == 4
    assert (
        too_early[2]
        == "sluice: 3 dead letters of 3 not accepted; fix the mapping as the reasons say, and replay again\n"
    )
    assert "secret" not in too_early[1]

    elasticsearch.put("/sluice-file/_mapping", json=MENDED).raise_for_status()
    fixed = dead_letters(sluice, "replay")
    assert fixed == (0, "3 dead letters sent again: 2 indexed, 1 stale\n", "")
    once = stored(elasticsearch, "sluice-file")
    assert sorted(once) == sorted(str(number) for number in range(BOOKS))
    assert [once[str(number)] for number in REFUSED] == [7, BOOKS, 197]

    nothing = dead_letters(sluice, "replay")
    assert nothing == (0, "nothing to replay: no such dead letter, or each was sent again or discarded before\n", "")
    forced = dead_letters(sluice, "replay", "--again")
    assert forced == (0, "3 dead letters sent again: 2 already there, 1 stale\n", "")
    assert stored(elasticsearch, "sluice-file") == once
    assert httpx.get(f"{sluice.stack.endpoints().connect_url}/connectors").json() == []


def test_a_corrected_mapping_file_is_brought_into_the_index_before_letters_are_sent_again(
    sluice: Sluice, tmp_path: Path, elasticsearch: httpx.Client
) -> None:
    """What the server cannot change in place is one sentence of its own; the mark of the run stays in the mapping."""
    run = run_with_refusals(sluice, tmp_path)
    unchanged = dead_letters(sluice, "replay", "--update-mapping")
    assert unchanged[0] == 4
    assert unchanged[1].splitlines()[0] == "index sluice-file: mapping updated from mappings/dynamic.json"
    _, shown, _ = dead_letters(sluice, "show")
    assert shown.splitlines()[0] == f"{run.topic}-dead-letters: 3 dead letters; 3 records sent again"

    mapping = tmp_path / "mappings" / "books.json"
    mapping.parent.mkdir()
    mapping.write_text('{"mappings": {"properties": {"pages": {"type": "keyword"}}}}')
    with pytest.raises(ProfileError) as refused:
        update_mapping(run, "books", sluice.stack.endpoints(), tmp_path)
    assert str(refused.value) == (
        "index sluice-file: Elasticsearch refuses this change of a mapping in use: mapper [pages] cannot be changed "
        "from type [long] to [keyword]; run the profile again to load a new index"
    )

    mapping.write_bytes(orjson.dumps({"mappings": MENDED}))
    update_mapping(run, "books", sluice.stack.endpoints(), tmp_path)
    replayed = dead_letters(sluice, "replay")
    assert replayed == (0, "3 dead letters sent again: 2 indexed, 1 stale\n", "")
    stored_mapping = elasticsearch.get("/sluice-file/_mapping").json()["sluice-file"]["mappings"]
    assert stored_mapping["_meta"] == {"sluice": {"run": run.run_id}}


def test_a_killed_replay_stores_each_letter_once_under_the_id_of_its_record(
    sluice: Sluice, tmp_path: Path, elasticsearch: httpx.Client
) -> None:
    """Killed as soon as the letters are marked as sent: the next one waits for the sink, and each is stored once.

    Under its id, with its prefix, also when all are sent again.
    """
    run = run_with_refusals(sluice, tmp_path, *BY_OFFSET)
    elasticsearch.put("/sluice-file/_mapping", json=MENDED).raise_for_status()
    letters = DeadLetterTopic(topics_of(sluice.stack.endpoints()), f"{run.topic}-dead-letters")
    command = sluice.start("dead-letters", "replay", "--runs", str(sluice.runs))
    deadline = time.monotonic() + 60
    while letters.sent_up_to()[0] < len(REFUSED) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()

    status, output, errors = dead_letters(sluice, "replay")

    assert (status, errors) == (0, ""), output
    ids = {f"east:{run.topic}+0+{offset}" for offset in range(BOOKS + 1)}
    assert stored(elasticsearch, "sluice-file").keys() == ids
    assert httpx.get(f"{sluice.stack.endpoints().connect_url}/connectors").json() == []
    forced = dead_letters(sluice, "replay", "--again")
    assert forced == (0, "3 dead letters sent again: 3 already there\n", "")
    assert stored(elasticsearch, "sluice-file").keys() == ids


@dataclass(frozen=True)
class Replayed:
    """A run of whose letters one was written twice, and what its replay, `show` and the next replay have said."""

    run: Run
    said: list[tuple[int, str, str]]


@pytest.fixture(scope="module")
def replayed(sluice: Sluice, tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Such a run, replayed once its mapping is mended."""
    sluice.stack.ensure(StackShape(), kept=True)
    run, endpoints = run_with_refusals(sluice, tmp_path_factory.mktemp("twice")), sluice.stack.endpoints()
    write_a_letter_again(sluice, f"{run.topic}-dead-letters")
    httpx.put(f"{endpoints.elasticsearch_urls[0]}/sluice-file/_mapping", json=MENDED).raise_for_status()
    return Replayed(run, [dead_letters(sluice, command) for command in ("replay", "show", "replay")])


def test_a_replay_takes_both_of_a_letter_that_was_written_twice(replayed: Replayed) -> None:
    """Also if the second one is the last of the topic: the next replay has nothing to send."""
    assert replayed.said == [
        (0, "3 dead letters sent again: 2 indexed, 1 stale\n", ""),
        (0, f"{replayed.run.topic}-dead-letters: 0 dead letters; 3 records sent again\n", ""),
        (0, "nothing to replay: no such dead letter, or each was sent again or discarded before\n", ""),
    ]


def test_letters_are_exported_with_their_lines_and_discarded_ones_stay_out_of_a_replay(
    sluice: Sluice, tmp_path: Path, elasticsearch: httpx.Client
) -> None:
    """Until that is taken back. Lines are those of the run's file, counted from 1."""
    run = run_with_refusals(sluice, tmp_path)
    file = tmp_path / "letters.ndjson"
    assert dead_letters(sluice, "export", "-o", str(file)) == (0, f"{file}: 3 dead letters\n", "")
    letters = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert [each["line"] for each in letters] == [f"{tmp_path / 'books.ndjson'}:{number + 1}" for number in REFUSED]
    assert [(each["field"], each["value"], each["document"]["isbn"]) for each in letters] == [
        ("pages", "secret", str(number)) for number in REFUSED
    ]
    assert dead_letters(sluice, "export", "-o", str(file))[0] == 2

    discarded = dead_letters(sluice, "discard", "--place", f"{run.topic}-0@{REFUSED[0]}", "--yes")
    assert discarded[1].splitlines()[-1] == "1 dead letter discarded; take them back with --undo"
    elasticsearch.put("/sluice-file/_mapping", json=MENDED).raise_for_status()
    assert dead_letters(sluice, "replay") == (0, "2 dead letters sent again: 1 indexed, 1 stale\n", "")
    _, shown, _ = dead_letters(sluice, "show")
    assert shown == f"{run.topic}-dead-letters: 0 dead letters; 2 records sent again; 1 discarded\n"
    assert str(REFUSED[0]) not in stored(elasticsearch, "sluice-file")

    assert dead_letters(sluice, "discard", "--all", "--undo", "--yes")[0] == 0
    assert dead_letters(sluice, "replay") == (0, "1 dead letter sent again: 1 indexed\n", "")
    assert len(stored(elasticsearch, "sluice-file")) == BOOKS


def test_a_run_whose_topics_are_gone_is_one_sentence(sluice: Sluice, replayed: Replayed, tmp_path: Path) -> None:
    """A later run of the same profile has removed them."""
    run_with_refusals(sluice, tmp_path)

    status, _, errors = dead_letters(sluice, "replay", replayed.run.run_id)

    assert status == 2
    assert errors == (
        f"sluice: run {replayed.run.run_id}: its topic {replayed.run.topic}-dead-letters is gone: the run used other "
        "servers, or a later run of its profile removed it; run it again\n"
    )
