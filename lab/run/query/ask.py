"""Asks one question over one connection and reads the answer out of the responses."""

import heapq
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
import orjson
from pydantic import JsonValue

from lab.clients.elasticsearch import error_reason
from lab.clients.http import HttpService
from lab.endpoints import OPEN, HttpAccess
from lab.errors import ProfileError, StackError
from lab.profiles.questions import IDS, Reading, Step
from lab.run.query.truth import Answer, Values

IDS_AT_ONCE: Final = 10_000
"""Ids in one request: within `index.max_terms_count` (65,536), and one hit for each within `max_result_window`."""
TIMEOUT_S: Final = 120
NO_ID: Final = "0"

Response = Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer and what it took.

    Attributes:
        service_time_ns: First request sent → last response read; between them, the ids are read and sent on.
        took_ms: Elasticsearch's own time, summed over the requests.
        requests: How many there were.
        ids_joined: Ids that went from one step to the next.
    """

    answer: Answer
    service_time_ns: int
    took_ms: int
    requests: int
    ids_joined: int


class Asker:
    """One connection to one node; the request cache is not used."""

    def __init__(
        self, url: str, index: str, clock_ns: Callable[[], int] = time.perf_counter_ns, access: HttpAccess = OPEN
    ) -> None:
        self._path = f"/{index}/_search?request_cache=false"
        self._clock_ns = clock_ns
        self._http = HttpService("Elasticsearch", [url], access, timeout_s=TIMEOUT_S, patience_s=0)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def ask(self, steps: Sequence[Step], values: Values) -> Reply:
        """Take the steps, one after the other.

        Raises:
            ProfileError: Elasticsearch refuses a request.
            StackError: It does not answer, or only for a part of the index.
        """
        sent_ns: list[int] = []
        read_ns: list[int] = []
        took_ms: list[int] = []

        def send(body: Mapping[str, JsonValue]) -> Response:
            content = orjson.dumps(body)
            sent_ns.append(self._clock_ns())
            response = self._post(content)
            read_ns.append(self._clock_ns())
            parsed = parsed_response(response)
            took_ms.append(parsed["took"])
            return parsed

        ids: list[str] | None = None
        joined = 0
        for step in steps:
            responses = list(responses_of(step, values, ids, send))
            if step.ids is not None:
                ids = [entry_id for response in responses for entry_id in read_ids(step.ids, response)]
                joined += len(ids)
        answer = read_answer(steps[-1], responses)
        return Reply(answer, read_ns[-1] - sent_ns[0], sum(took_ms), len(sent_ns), joined)

    def try_out(self, steps: Sequence[Step], values: Values) -> None:
        """Send every step once, as of an id that there is not.

        Raises:
            ProfileError: Elasticsearch refuses a request.
            StackError: It does not answer.
        """
        for step in steps:
            parsed_response(self._post(orjson.dumps(filled(step.request, {**values, IDS: [NO_ID]}))))

    def _post(self, content: bytes) -> httpx.Response:
        return self._http.send("POST", self._path, content)


def parsed_response(response: httpx.Response) -> Response:
    """The response as JSON.

    Raises:
        ProfileError: Elasticsearch refuses the request.
        StackError: It cannot answer, or only for a part of the index.
    """
    try:
        parsed = orjson.loads(response.content)
    except orjson.JSONDecodeError as error:
        raise StackError(f"Elasticsearch: got no JSON with status {response.status_code} for a question") from error
    if response.status_code == httpx.codes.BAD_REQUEST:
        raise ProfileError(f"Elasticsearch refuses the request: {cause_of(parsed)}")
    if not response.is_success:
        raise StackError(f"Elasticsearch: status {response.status_code} for a question: {error_reason(parsed)}")
    if parsed["timed_out"] or parsed["_shards"]["failed"]:
        raise StackError(f"Elasticsearch: {parsed['_shards']['failed']} shards did not answer a question")
    return dict(parsed)


def cause_of(answer: Any) -> str:
    """Why a search is refused: the first cause, which says more than `all shards failed`."""
    causes = answer.get("error", {}).get("root_cause") if isinstance(answer, dict) else None
    return str(causes[0].get("reason")) if causes else error_reason(answer)


def responses_of(
    step: Step, values: Values, ids: list[str] | None, send: Callable[[Mapping[str, JsonValue]], Response]
) -> Iterator[Response]:
    """Every response of a step: for each lot of ids, page by page. Without an id there is nothing to ask."""
    lots = [None] if ids is None else [ids[at : at + IDS_AT_ONCE] for at in range(0, len(ids), IDS_AT_ONCE)]
    for lot in lots:
        body = filled(step.request, {**values, IDS: lot})
        response = send(body)
        yield response
        while step.pages and len(hits := response["hits"]["hits"]) == body["size"]:
            response = send({**body, "search_after": hits[-1]["sort"]})
            yield response


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with the value of each `$parameter`."""
    if isinstance(template, Mapping):
        return {name: filled(part, values) for name, part in template.items()}
    if isinstance(template, list):
        return [filled(part, values) for part in template]
    if isinstance(template, str) and template.startswith("$"):
        return values[template[1:]]
    return template


# --- responses ------------------------------------------------------------------------------------------------------


def read_ids(reading: Reading, response: Response) -> list[str]:
    """The ids that stand in a response, in its order."""
    assert reading.entries is not None and reading.id is not None  # noqa: S101, PT018 - as the model has checked
    return [str(at(entry, reading.id)) for entry in at(response, reading.entries)]


def read_answer(step: Step, responses: Sequence[Response]) -> Answer:
    """The answer that the responses of the last step hold together."""
    reading = step.answer
    assert reading is not None  # noqa: S101 - a question whose last step has none is not loaded
    if reading.number is not None:
        return sum(int(at(response, reading.number)) for response in responses)
    if reading.number_of is not None:
        return sum(len(at(response, reading.number_of)) for response in responses)
    if reading.values is not None:
        return {name: values for response in responses for name, values in read_values(reading, response)}
    if reading.by is None:
        return [name for response in responses for name in read_ids(reading, response)]
    return merged_best(reading, responses, int(str(step.request["size"])))


def read_values(reading: Reading, response: Response) -> Iterator[tuple[str, list[Any]]]:
    """The values of each entry, by its id."""
    for name, entry in zip(read_ids(reading, response), at(response, reading.entries or ""), strict=True):
        yield name, [at(entry, path) for path in reading.values or ()]


def merged_best(reading: Reading, responses: Sequence[Response], most: int) -> list[str]:
    """The best ids of all responses, at most so many; a single response stays in its order."""
    ranked = [
        [
            (-at(entry, reading.by or ""), name)
            for name, entry in zip(read_ids(reading, response), at(response, reading.entries or ""), strict=True)
        ]
        for response in responses
    ]
    return [name for _, name in heapq.merge(*ranked)][:most]


def at(tree: Any, path: str) -> Any:
    """What stands under a dotted path; a number is a place in a list.

    Raises:
        ProfileError: Nothing stands there.
    """
    for name in path.split("."):
        try:
            tree = tree[int(name)] if isinstance(tree, list) else tree[name]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise ProfileError(f"the response has nothing under {path}") from error
    return tree
