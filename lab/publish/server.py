"""The Elasticsearch that documents are sent to."""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

import httpx
import orjson

from lab.clients.http import UNAUTHORIZED, HttpService, parsed
from lab.endpoints import HttpAccess
from lab.errors import StackError
from lab.publish.document import Document

ANSWER_WITHIN_S = 30.0
BULK_DOCUMENTS = 500
ADVICE = "; check the address, and --ca for https"
NDJSON = {"Content-Type": "application/x-ndjson"}


class Server:
    """A client of an Elasticsearch that Sluice does not start, so it never repeats a request."""

    def __init__(self, url: str, access: HttpAccess) -> None:
        self._http = HttpService("Elasticsearch", [url], access, timeout_s=ANSWER_WITHIN_S, patience_s=0, advice=ADVICE)
        self.url = self._http.urls[0]

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | bytes | None = None, *, accept: Collection[int] = ()
    ) -> tuple[int, Any]:
        """Status and parsed answer of one request.

        Args:
            accept: Statuses beside 2xx that are answers and no errors.

        Raises:
            StackError: There is no answer, or it is an error.
        """
        response = self._http.send(method, path, body, headers=NDJSON if isinstance(body, bytes) else None)
        return response.status_code, answer_of(response, self.url, "an Elasticsearch", accept)

    def send(self, index: str, documents: Iterable[Document]) -> int:
        """Store documents by their ids; how many.

        Raises:
            StackError: It rejects one of them.
        """
        sent, rest = 0, iter(documents)
        while batch := list(islice(rest, BULK_DOCUMENTS)):
            lines = [orjson.dumps(line) for each in batch for line in ({"index": {"_id": each.id}}, each.source)]
            _, answer = self.request("POST", f"/{index}/_bulk", b"\n".join(lines) + b"\n")
            errors = [item["index"]["error"] for item in answer["items"] if "error" in item["index"]]
            if errors:
                raise StackError(
                    f"{self.url}: {index}: rejected {len(errors):,} of {len(batch):,} documents, the first because of "
                    f"{errors[0].get('type')}; was the index created before its template? Delete it and publish again"
                )
            sent += len(batch)
        return sent

    def prepare_index(self, index: str, types: Mapping[str, str]) -> None:
        """Create an index unless it exists, and refuse one whose fields are not of the types that Kibana needs.

        Raises:
            StackError: The index was created without its template.
        """
        self.request("PUT", f"/{index}", accept=(httpx.codes.BAD_REQUEST,))  # it may exist already
        _, answer = self.request("GET", f"/{index}/_mapping")
        mapping = next(iter(answer.values()))["mappings"]
        for name, expected in types.items():
            actual = field_type(mapping, name)
            if actual != expected:
                raise StackError(
                    f"{self.url}: {index}: {name}: got {actual or 'no such field'}, expected {expected}; the index was "
                    "created without its template, so Kibana would find nothing in it: delete it and publish again"
                )


def answer_of(response: httpx.Response, url: str, kind: str, accept: Collection[int] = ()) -> dict[str, Any]:
    """The JSON object of an answer.

    Args:
        url: Of the server, for messages.
        kind: What the server is expected to be, such as `a Kibana`.

    Raises:
        StackError: The answer is an error, or no JSON.
    """
    status, answer = response.status_code, parsed(response)
    request = f"{url}: {response.request.method} {response.request.url.path}"
    if status in UNAUTHORIZED:
        advice = "give --api-key-env, or --user and --password-env, with the privileges for it"
        raise StackError(f"{request}: rejected our credentials ({status}); {advice}")
    if not isinstance(answer, dict):
        raise StackError(f"{request}: status {status}: got no JSON; is this {kind}?")
    if response.is_success or status in accept:
        return answer
    error = answer.get("error")
    reason = error.get("type") if isinstance(error, dict) else answer.get("message")  # Elasticsearch's, Kibana's
    raise StackError(f"{request}: status {status}" + (f": {reason}" if reason else f"; is this {kind}?"))


def field_type(mapping: Mapping[str, Any], path: str) -> str | None:
    """The type of a field; `None` where the mapping does not have it."""
    for part in path.split("."):
        mapping = mapping.get("properties", {}).get(part, {})
    return mapping.get("type")
