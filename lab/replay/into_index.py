"""Dead letters straight into the index, by bulk requests; what is refused again becomes a dead letter again."""

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lab.access import Access
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import Endpoints
from lab.errors import ProfileError
from lab.replay.dead_letters import REASON, WORKERS_HEADERS, DeadLetterTopic, Letter, Place, groups_of
from lab.replay.outcome import Replay, chunks, mark_after
from lab.replay.sink_operations import Operation, SinkRules, UnfitLetterError
from lab.replay.transaction import MarkedWriter, Outgoing

BULK_BYTES = 5_000_000
ATTEMPTS = 7
RETRY_S = 0.5
AGAIN = frozenset({429, 502, 503, 504})
CURRENT_VERSION = re.compile(r"current version \[(\d{1,18})\]")
LONGEST_REASON = 1_000


class IndexReplay:
    """Sends dead letters to the index by bulk requests; what is refused again goes back to the dead letters."""

    def __init__(
        self,
        endpoints: Endpoints,
        letters: DeadLetterTopic,
        rules: SinkRules,
        *,
        access: Access | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoints = endpoints
        self._access = access or Access()
        self._letters = letters
        self._rules = rules
        self._sleep = sleep

    def run(self, *, again: bool) -> Replay:
        """Send the letters and say what became of them."""
        cluster = ElasticsearchClient(self._endpoints.elasticsearch_urls, access=self._access.elasticsearch)
        fates: Counter[str] = Counter()
        refused: list[Letter] = []
        sent = 0
        try:
            if not cluster.exists(self._rules.index):
                raise ProfileError(
                    f"index {self._rules.index}: is not there; make it with a mapping that takes the documents, or "
                    "name another one with --set index.name=NAME"
                )
            mark = self._letters.sent_up_to()
            with MarkedWriter(self._endpoints.kafka_bootstrap, self._letters.topic, self._access.kafka) as writer:
                for chunk in chunks(self._letters.to_send(again=again)):
                    back = self.send(cluster, chunk, fates)
                    mark = mark_after(chunk, mark)
                    # A kill before this line sends the chunk once more: the same ids and versions are already there.
                    writer.write([dead_letter_again(letter, self._letters.topic) for letter in back], mark)
                    refused += [replace(letter, value=None) for letter in back]
                    sent += len(chunk)
            cluster.refresh(self._rules.index)
        finally:
            cluster.close()
        return Replay(sent, 0, fates, groups_of(refused))

    def send(self, cluster: ElasticsearchClient, letters: Sequence[Letter], fates: Counter[str]) -> list[Letter]:
        """Send these letters; those that were refused, with the reason. The others are counted in `fates`."""
        refused: list[Letter] = []
        operations: list[Operation] = []
        for letter in letters:
            try:
                operations.append(self._rules.operation(letter))
            except UnfitLetterError as error:
                refused.append(refused_letter(letter, str(error)))
        for attempts_left in reversed(range(ATTEMPTS)):
            later: list[Operation] = []
            for operation, item in self.answers(cluster, operations):
                if item["status"] in AGAIN and attempts_left:
                    later.append(operation)
                elif (fate := fate_of(operation, item)) is None:
                    refused.append(refused_letter(operation.letter, reason_in(item)))
                else:
                    fates[fate] += 1
            if not later:
                break
            operations = later
            self._sleep(RETRY_S * 2 ** (ATTEMPTS - attempts_left))
        fates["refused"] += len(refused)
        return refused

    def answers(
        self, cluster: ElasticsearchClient, operations: Sequence[Operation]
    ) -> list[tuple[Operation, dict[str, Any]]]:
        """Each operation with the answer to it; so many in a request as are below its bound."""
        answered: list[tuple[Operation, dict[str, Any]]] = []
        request: list[Operation] = []
        size_bytes = 0
        for place, operation in enumerate(operations, start=1):
            request.append(operation)
            size_bytes += len(operation.lines)
            if size_bytes >= BULK_BYTES or place == len(operations):
                body = b"".join(part.lines for part in request)
                items = cluster.bulk(self._rules.index, body, self._rules.pipeline)
                answered += zip(request, items, strict=True)
                request, size_bytes = [], 0
        return answered


def fate_of(operation: Operation, item: Mapping[str, Any]) -> str | None:
    """What became of the document, as the sink counts it; `None` if it was refused."""
    status = item["status"]
    if status == 201:
        return "indexed"
    if status == 200:
        return "deleted" if operation.kind == "delete" else "updated"
    if status == 404 and operation.kind == "delete":
        return "already there"
    if status != 409 or operation.kind == "update":
        return None
    current = CURRENT_VERSION.search(str(item.get("error", {}).get("reason", "")))
    newer = operation.version is not None and current is not None and int(current[1]) > operation.version
    return "stale" if newer else "already there"


def reason_in(item: Mapping[str, Any]) -> str:
    """The reason for a refusal, as the sink writes it."""
    error = item.get("error", {})
    return f"status {item['status']} {error.get('type', 'unknown')}: {error.get('reason', 'no reason given')}"


def refused_letter(letter: Letter, reason: str) -> Letter:
    """The letter with the newest reason."""
    text = reason[:LONGEST_REASON] + ("…" if len(reason) > LONGEST_REASON else "")
    return replace(letter, refused_at=letter.origin, reason=f"{letter.origin}: {text}")


def dead_letter_again(letter: Letter, topic: str) -> Outgoing:
    """The dead letter of a record that was refused once more."""
    place: Place = letter.refused_at
    told = {"topic": place.topic, "partition": str(place.partition), "offset": str(place.offset)}
    headers = [(WORKERS_HEADERS + name, text.encode()) for name, text in told.items()]
    return Outgoing(
        topic,
        letter.at.partition,
        letter.key,
        letter.value,
        (*letter.headers, *headers, (REASON, letter.reason.encode())),
        letter.timestamp_ms,
    )
