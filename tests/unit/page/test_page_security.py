"""Who may ask for what: each refusal by its whole sentence."""

import base64

import pytest
from starlette.datastructures import Headers

from lab.page.security import METRICS, Access, refusal
from tests.unit.messages import MakeMessage

HERE = Access("127.0.0.1", 41833, "token-of-this-page")
ELSEWHERE = Access("192.168.1.7", 8000, "token-of-this-page", password="correct horse battery")
OWN = {"Host": "127.0.0.1:41833"}
WRITES = {**OWN, "Origin": "http://127.0.0.1:41833", "X-Sluice-Token": "token-of-this-page"}


def refused(access: Access, method: str, headers: dict[str, str]) -> tuple[int, str] | None:
    """Status and sentence of a refusal."""
    found = refusal(access, method, Headers(headers))
    return (found.status, found.sentence) if found else None


def basic(password: str) -> str:
    """The header of a user with this password."""
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


@pytest.mark.parametrize("host", ["127.0.0.1:41833", "localhost:41833", "LOCALHOST:41833"])
def test_a_browser_on_this_machine_may_read(host: str) -> None:
    """By either of its names."""
    assert refused(HERE, "GET", {"Host": host}) is None


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("evil.example:41833", "evil.example:41833"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:41834", "127.0.0.1:41834"),
        ("127.0.0.1.evil.example:41833", "127.0.0.1.evil.example:41833"),
        ("evil\nexample", "evil\\nexample"),
        ("", "none"),
    ],
)
def test_a_site_that_has_its_own_name_for_this_machine_is_refused(host: str, shown: str) -> None:
    """Or it could read what runs here, by DNS rebinding."""
    expected = f"Host: got {shown}, expected 127.0.0.1:41833 or localhost:41833"
    assert refused(HERE, "GET", {"Host": host}) == (403, expected)


def test_two_hosts_are_none() -> None:
    """Proxies do not agree on which of them counts."""
    headers = Headers(raw=[(b"host", b"127.0.0.1:41833"), (b"host", b"evil.example")])
    found = refusal(HERE, "GET", headers)
    assert found is not None
    assert found.status == 403


def test_whoever_writes_comes_from_the_page_and_has_its_token() -> None:
    """Then it passes."""
    assert refused(HERE, "POST", WRITES) is None


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        ("http://evil.example", "http://evil.example"),
        ("null", "null"),
        ("https://127.0.0.1:41833", "https://127.0.0.1:41833"),
        ("http://127.0.0.1:41833.evil.example", "http://127.0.0.1:41833.evil.example"),
        ("", "none"),
    ],
)
def test_a_forged_origin_is_refused(origin: str, shown: str) -> None:
    """With or without the token."""
    expected = f"Origin: got {shown}, expected http://127.0.0.1:41833"
    assert refused(HERE, "POST", {**WRITES, "Origin": origin}) == (403, expected)


def test_the_origin_is_that_of_the_name_that_was_called() -> None:
    """A page at localhost is another origin than one at 127.0.0.1."""
    at_localhost = {**WRITES, "Host": "localhost:41833"}
    assert refused(HERE, "POST", at_localhost) == (
        403,
        "Origin: got http://127.0.0.1:41833, expected http://localhost:41833",
    )
    assert refused(HERE, "POST", {**at_localhost, "Origin": "http://localhost:41833"}) is None


@pytest.mark.parametrize("token", ["", "token-of-this-pagf", "token-of-this-page ", "tökén"])
def test_without_the_token_nothing_is_started(token: str) -> None:
    """It is not repeated in the answer."""
    expected = "X-Sluice-Token: got no valid token, expected the one in the address that was printed at the start"
    assert refused(HERE, "POST", {**WRITES, "X-Sluice-Token": token}) == (403, expected)


@pytest.mark.parametrize(
    "path", ["/api/profiles", "/api/profiles/quickstart", "/api/suites/a-a", "/api/other", "/api/now/", "/api/NOW"]
)
def test_what_is_asked_of_the_page_needs_the_token_unless_it_is_a_look(path: str) -> None:
    """All but three addresses."""
    found = refusal(HERE, "GET", Headers(OWN), path)
    assert found is not None
    assert (found.status, found.sentence.partition(":")[0]) == (403, "X-Sluice-Token")
    assert refusal(HERE, "GET", Headers({**OWN, "X-Sluice-Token": "token-of-this-page"}), path) is None


@pytest.mark.parametrize(
    "path", ["/", "/static/page.js", "/api/now", "/api/events", "/api/history", "/runs/a/report.html"]
)
def test_a_look_needs_no_token(path: str) -> None:
    """A tab without it shows everything."""
    assert refusal(HERE, "GET", Headers(OWN), path) is None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS"])
def test_no_other_method_is_known(method: str, message: MakeMessage) -> None:
    """No preflight is answered: nobody else's page may ask for anything."""
    assert refused(HERE, method, WRITES) == (405, message("method", method))


@pytest.mark.parametrize(
    "authorization", ["", basic("wrong"), basic(""), "Bearer correct horse battery", "Basic %%%", "Basic /w=="]
)
def test_a_page_that_others_can_reach_wants_its_password_for_everything(authorization: str) -> None:
    """Reading included."""
    expected = "Authorization: got no valid password, expected the one that this page was started with"
    headers = {"Host": "192.168.1.7:8000", "Authorization": authorization}
    assert refused(ELSEWHERE, "GET", headers) == (401, expected)


def test_with_the_password_it_may_be_read_and_with_the_token_written() -> None:
    """The password alone starts nothing."""
    headers = {"Host": "192.168.1.7:8000", "Authorization": basic("correct horse battery")}
    assert refused(ELSEWHERE, "GET", headers) is None
    written = {**headers, "Origin": "http://192.168.1.7:8000"}
    assert refused(ELSEWHERE, "POST", written) is not None
    assert refused(ELSEWHERE, "POST", {**written, "X-Sluice-Token": "token-of-this-page"}) is None


def test_the_token_is_behind_the_hash() -> None:
    """No browser sends that part, and no log holds it; an address of IPv6 stands in brackets."""
    assert HERE.address == "http://127.0.0.1:41833/#token=token-of-this-page"
    six = Access("::1", 7, "t")
    assert six.address == "http://[::1]:7/#token=t"
    assert refused(six, "GET", {"Host": "[::1]:7"}) is None


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_has_nothing_computed_here(site: str) -> None:
    """An image of it could have runs compared, on a machine that may be measuring; a link to the page itself works."""
    headers = Headers({**OWN, "Sec-Fetch-Site": site})
    found = refusal(HERE, "GET", headers, "/api/compare")
    assert found is not None
    expected = "Sec-Fetch-Site: got a request of another site, expected one of this page"
    assert (found.status, found.sentence) == (403, expected)
    assert refusal(HERE, "GET", headers, "/") is None


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_page_itself_and_whoever_types_an_address_may_ask(site: str) -> None:
    """Tools that say nothing of a site, too."""
    assert refusal(HERE, "GET", Headers({**OWN, "Sec-Fetch-Site": site}), "/api/now") is None
    assert refusal(HERE, "GET", Headers(OWN), "/api/now") is None


def test_at_the_port_of_http_browsers_name_none() -> None:
    """Origins, too."""
    access = Access("127.0.0.1", 80, "token-of-this-page")
    writes = {"Host": "127.0.0.1", "Origin": "http://127.0.0.1", "X-Sluice-Token": "token-of-this-page"}
    assert refused(access, "POST", writes) is None


def test_a_scraper_needs_no_token_and_no_site_can_ask() -> None:
    """`/metrics` has no more than what anybody here may see; to other machines it needs the password."""
    other_site = Headers({**OWN, "Sec-Fetch-Site": "cross-site"})
    assert refusal(HERE, "GET", Headers(OWN), METRICS) is None
    assert (found := refusal(HERE, "GET", other_site, METRICS)) is not None
    assert found.status == 403
    elsewhere = {"Host": "192.168.1.7:8000"}
    assert (found := refusal(ELSEWHERE, "GET", Headers(elsewhere), METRICS)) is not None
    assert found.status == 401
    known = {**elsewhere, "Authorization": basic("correct horse battery")}
    assert refusal(ELSEWHERE, "GET", Headers(known), METRICS) is None
