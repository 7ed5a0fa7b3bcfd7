"""Authentication: which header is sent, to whom, and that a secret shows itself nowhere."""

import pytest

from lab.endpoints import OPEN, Access, Endpoints, HttpAccess, api_key, basic, without_secrets
from tests.unit.clients.rest_server import rest_with_headers


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (OPEN, None),
        (HttpAccess(basic("sluice", "päss:word")), "Basic c2x1aWNlOnDDpHNzOndvcmQ="),
        (HttpAccess(api_key("aWQ6a2V5")), "ApiKey aWQ6a2V5"),
    ],
)
def test_a_client_says_who_it_is(access: HttpAccess, expected: str | None) -> None:
    """Each request carries the header, and none where nobody asks for one."""
    with rest_with_headers() as (url, headers), access.client() as client:
        client.get(url)
        client.post(url, content=b"{}")
    assert [found.get("Authorization") for found in headers] == [expected, expected]


def test_a_client_keeps_its_own_headers() -> None:
    """Credentials come on top of what the client sends anyway."""
    with rest_with_headers() as (url, headers), HttpAccess("Basic eA==").client({"X-Own": "7"}) as client:
        client.get(url)
    assert (headers[0]["X-Own"], headers[0]["Authorization"]) == ("7", "Basic eA==")


def test_no_credential_is_part_of_a_representation() -> None:
    """What a traceback or a log line shows of these objects holds no secret."""
    access = Access(
        elasticsearch=HttpAccess(basic("sluice", "hunter2")),
        kafka={"sasl.password": "hunter3"},
        sink={"connection.password": "hunter2"},
        secrets=frozenset({"hunter2", "hunter3"}),
    )
    shown = repr(access)
    assert not [secret for secret in ("hunter", basic("sluice", "hunter2")) if secret in shown]


def test_a_secret_is_hidden_wherever_somebody_repeats_it() -> None:
    """The longer one first, so that none leaves its rest behind."""
    access = Access(secrets=frozenset({"hunter", "hunter2"}))
    assert access.hide("got hunter2, then hunter; hunters") == "got (hidden), then (hidden); (hidden)s"


def test_endpoints_without_elasticsearch_are_refused() -> None:
    """There is nothing to measure."""
    with pytest.raises(ValueError, match="endpoints: elasticsearch_urls: got none, expected at least one URL"):
        Endpoints("127.0.0.1:9", "http://127.0.0.1:9", (), None)


def test_a_switch_is_no_secret_whatever_its_name() -> None:
    """`true` tells nothing; a number may be a password."""
    settings = {"xpack.security.authc.token.enabled": False, "connection.password": 1009}
    assert without_secrets(settings) == {"xpack.security.authc.token.enabled": False, "connection.password": "(hidden)"}
