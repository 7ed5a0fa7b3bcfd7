"""The Elasticsearch, or the Kibana, that a recorded run is sent to."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import httpx
import orjson

from lab.clients.http import HttpService, parsed
from lab.endpoints import HttpAccess
from lab.errors import StackError
from lab.publish.document import Document

ANSWER_WITHIN_S = 30.0
BULK_DOCUMENTS = 500
ADVICE = "; check the address, and --ca for https"
NDJSON = {"Content-Type": "application/x-ndjson"}


class Server:
    """An Elasticsearch somewhere. It is asked once: nobody is about to start it."""

    def __init__(self, url: str, access: HttpAccess) -> None:
        self._http = HttpService("the server", [url], access, timeout_s=ANSWER_WITHIN_S, patience_s=0, advice=ADVICE)
        self.url = self._http.urls[0]

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | bytes | None = None, *, accept: tuple[int, ...] = ()
    ) -> tuple[int, Any]:
        """Status and parsed answer of one request.

        Args:
            accept: Statuses beside 2xx that are answers and no errors.

        Raises:
            StackError: There is no answer, or it is an error.
        """
        response = self._http.send(method, path, body, headers=NDJSON if isinstance(body, bytes) else None)
        if response.is_success or response.status_code in accept:
            return response.status_code, parsed(response)
        raise StackError(f"{self.url}: {method} {path.partition('?')[0]}: {refusal(response)}")

    def send(self, index: str, documents: Iterable[Document]) -> int:
        """Store documents by their ids; how many.

        Raises:
            StackError: One of them is refused.
        """
        sent = 0
        for part in batches(documents, BULK_DOCUMENTS):
            lines = [
                orjson.dumps(line) for document in part for line in ({"index": {"_id": document.id}}, document.source)
            ]
            _, answer = self.request("POST", f"/{index}/_bulk", b"\n".join(lines) + b"\n")
            refused = [item["index"]["error"] for item in answer["items"] if "error" in item["index"]]
            if refused:
                raise StackError(
                    f"{self.url}: {index}: refused {len(refused)} of {len(part)} documents, the first for "
                    f"{refused[0].get('type')}; was the index made before its template? Delete it and publish again"
                )
            sent += len(part)
        return sent


def refusal(response: httpx.Response, expected: str = "an Elasticsearch") -> str:
    """What a server said instead of what was asked for, and what can be done about it."""
    if response.status_code in (401, 403):
        return (
            f"status {response.status_code}; give --api-key-env, or --user and --password-env, of one who may do that"
        )
    answer = parsed(response)
    told = answer if isinstance(answer, dict) else {}
    error = told.get("error")
    reason = error.get("type") if isinstance(error, dict) else told.get("message")  # Elasticsearch's, Kibana's
    return f"status {response.status_code}" + (f": {reason}" if reason else f"; is this {expected}?")


def batches(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """The documents, so many at a time."""
    rest = iter(documents)
    while part := list(islice(rest, size)):
        yield part
