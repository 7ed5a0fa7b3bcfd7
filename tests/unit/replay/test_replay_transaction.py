"""Dead letters and their marks in one transaction, with a producer that a test decides."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from lab.errors import StackError
from lab.replay import transaction
from lab.replay.transaction import MarkedWriter
from tests.unit.messages import Naming


class AwayProducer:
    """A producer whose brokers have gone once its transaction was begun."""

    def __init__(self, *_: object) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def ask(*_: object) -> None:
            self.asked.append(name)
            if name in {"commit_transaction", "abort_transaction"}:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

        return ask


class Nobody:
    """A consumer that is asked for nothing."""

    def __init__(self, *_: object) -> None:
        """Of no group."""

    def close(self) -> None:
        """Nothing is open."""


def test_brokers_that_go_away_end_a_replay_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """They cannot be told that the transaction is given up either."""
    monkeypatch.setattr(transaction, "Producer", AwayProducer)
    monkeypatch.setattr(transaction, "Consumer", Nobody)
    with MarkedWriter("127.0.0.1:9", "letters") as writer, pytest.raises(StackError) as error:
        writer.write((), {})
    assert str(error.value) == Naming("Kafka", "dead letters", "cannot be sent")
