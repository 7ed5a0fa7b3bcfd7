"""Faults as a client sees them, and what the cluster behind the proxy gets."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from starlette.datastructures import Headers

from lab.prove.faults import (
    Failure,
    during,
    half_answer,
    is_write,
    limited,
    no_answer,
    operations,
    partly,
    refused,
    reset_after,
    reset_before,
    stored_but,
)
from lab.prove.http import BrokenOffError, Request, Response

BODY = b'{"index":{"_id":"a"}}\n{"n":1}\n{"delete":{"_id":"b"}}\n{"create":{"_id":"c","_index":"other"}}\n{"n":3}\n'
FULL = Failure(429, "es_rejected_execution_exception", "full")


class Cluster:
    """Takes every operation, and keeps the bodies that it got."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, request: Request) -> Response:
        """Answer a bulk request."""
        self.bodies.append(request.body)
        items = [{each.action: {"_id": each.names["_id"], "status": 201}} for each in operations(request.body)]
        return Response(orjson.dumps({"took": 7, "errors": False, "items": items}))


def bulk(body: bytes = BODY) -> Request:
    """A bulk request of three operations."""
    return Request("POST", "/books/_bulk?filter_path=errors", Headers(), body, 0.0)


def answered(fault: Any, cluster: Cluster, request: Request | None = None) -> Response:
    """The answer to a bulk request, or to another one."""
    response = asyncio.run(fault(request or bulk(), cluster))
    assert isinstance(response, Response)
    return response


def items(response: Response) -> list[Mapping[str, Any]]:
    """Items of an answer."""
    return list(orjson.loads(response.body)["items"])


def test_refused_items_do_not_reach_the_cluster_and_stand_in_their_places() -> None:
    """The others keep their order, and an operation its own index."""
    cluster = Cluster()
    response = answered(partly(FULL, lambda at, _: at != 1), cluster)
    assert [(*each, each[next(iter(each))]["status"]) for each in items(response)] == [
        ("index", 429),
        ("delete", 201),
        ("create", 429),
    ]
    assert items(response)[2]["create"]["_index"] == "other"
    assert cluster.bodies == [b'{"delete":{"_id":"b"}}\n']


def test_a_request_without_a_chosen_operation_is_handed_on_as_it_is() -> None:
    """Byte for byte."""
    cluster = Cluster()
    answered(partly(FULL, lambda _, content: b"nowhere" in content), cluster)
    assert cluster.bodies == [BODY]


def test_a_single_document_is_refused_as_a_request() -> None:
    """Its answer has no items."""
    single = Request("PUT", "/books/_doc/a", Headers(), b"{}", 0.0)
    response = answered(partly(FULL, lambda *_: True), Cluster(), single)
    assert (response.status, orjson.loads(response.body)["error"]["type"]) == (429, FULL.type)


@pytest.mark.parametrize(
    ("fault", "stored"),
    [(refused(Response(b"", 502)), 0), (stored_but(Response(b"", 504)), 1), (limited(10, Response(b"", 413)), 0)],
    ids=["refused", "stored but", "too large"],
)
def test_an_answer_of_a_proxy_says_nothing_of_what_is_stored(fault: Any, stored: int) -> None:
    """A 504 may come after the cluster has stored all."""
    cluster = Cluster()
    assert answered(fault, cluster).status >= 400
    assert len(cluster.bodies) == stored


@pytest.mark.parametrize(
    ("fault", "stored", "has_part"),
    [(reset_before, 0, False), (reset_after, 1, False), (half_answer, 1, True), (no_answer, 1, False)],
)
def test_an_answer_breaks_off_before_or_after_the_cluster_has_stored(
    fault: Any, stored: int, *, has_part: bool
) -> None:
    """A part of the answer may have come."""
    cluster = Cluster()
    with pytest.raises(BrokenOffError) as broken:
        asyncio.run(fault(bulk(), cluster))
    assert (len(cluster.bodies), bool(broken.value.part)) == (stored, has_part)


def test_faults_of_a_schedule_take_turns() -> None:
    """Before and after the schedule the cluster answers."""
    schedule = during(3, 5, reset_before, reset_after)
    assert [schedule(number) for number in range(2, 7)] == [None, reset_before, reset_after, reset_before, None]


@pytest.mark.parametrize(
    ("method", "target", "writes"),
    [
        ("POST", "/_bulk", True),
        ("PUT", "/books/_doc/1", True),
        ("GET", "/books/_doc/1", False),
        ("POST", "/books/_search", False),
    ],
)
def test_only_writes_are_counted(method: str, target: str, *, writes: bool) -> None:
    """A pipeline's questions do not move the schedule."""
    assert is_write(Request(method, target, Headers(), b"", 0.0)) is writes
