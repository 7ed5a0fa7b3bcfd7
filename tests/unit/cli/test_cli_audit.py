"""What `sluice audit` and `sluice trace` print."""

from pathlib import Path
from typing import cast

import pytest

from lab.audit.audit import Outcome
from lab.audit.findings import finding_file
from lab.audit.judge import Fate
from lab.audit.pipeline import Pipeline
from lab.cli.audit import print_line, refuse_target, verdict
from lab.clients.kafka import KafkaTopics
from lab.console import shown
from lab.errors import ProfileError
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("책 [a] é\u202f1", "책 [a] é\u202f1"),
        ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
        ("a\nb\rc\x9b2J", r"a\nb\rc\x9b2J"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
    ],
)
def test_ids_and_headers_of_others_do_not_control_the_terminal(
    capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    """Rich lets escape sequences through."""
    assert shown(text) == expected
    print_line(text)
    assert capsys.readouterr().out == f"{expected}\n"


class Kafka:
    """A cluster whose group `sink` reads `books` and `more`."""

    def names(self) -> set[str]:
        """Of all topics."""
        return {"books", "more", "again", "queue", "shop.books"}

    def committed_offsets(self, topic: str, _: str) -> dict[int, int]:
        """Of the group."""
        return {0: 5 if topic in {"books", "more"} else 0}


@pytest.mark.parametrize("into", ["books", "none", "queue", "more", "shop.books"])
def test_a_repair_does_not_write_what_the_pipeline_reads(into: str, message: MakeMessage) -> None:
    """The audited topic, an unknown one, the queue, one of the group, one of the connector's pattern."""
    pipeline = Pipeline("sink", "queue", config={"topics.regex": "shop[.].*"})
    with pytest.raises(ProfileError) as error:
        refuse_target(cast("KafkaTopics", Kafka()), "books", into, pipeline)
    assert str(error.value) == message(into)
    refuse_target(cast("KafkaTopics", Kafka()), "books", "again", pipeline)


def test_a_folder_that_cannot_be_made_is_invalid_input(tmp_path: Path, message: MakeMessage) -> None:
    """Exit status 2, and no error of the audit itself is taken for it."""
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ProfileError) as error, finding_file(file):
        pass
    assert str(error.value) == message(file)


def test_tombstones_that_deleted_nothing_are_in_the_verdict() -> None:
    """Only the connector's keeper knows whether they should have."""
    outcome = Outcome(records=3)
    outcome.fates.update({Fate.DOCUMENT: 2, Fate.IGNORED: 1})
    assert verdict(outcome) == "all other records are in the index; 1 tombstone deleted nothing"
