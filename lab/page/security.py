"""Who may ask the page's server for what."""

import base64
import binascii
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "X-Sluice-Token"  # noqa: S105 - its name, not a token
OPEN = frozenset({"/api/now", "/api/events", "/api/history"})
"""What may be read without the token: it costs little, and is shared by all who ask at the same time."""
METRICS = "/metrics"
"""For Prometheus: no more than what may be read without the token; with `--bind`, by HTTP Basic."""
HERE = ("127.0.0.1", "localhost")
HTTP = 80
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
OF_THE_PAGE = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
"""No text is run as code, not even by Vega, whose interpreter the page uses."""
POLICY = {"Content-Security-Policy": OF_THE_PAGE}
OF_A_REPORT = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; frame-ancestors 'self'"
)
"""A report is a page by itself, with scripts in it, which may not act in the name of this one."""


@dataclass(frozen=True)
class Access:
    """Secrets and names that a request must carry.

    Attributes:
        host: The address that the server is bound to.
        port: Its port.
        token: For whatever changes something, or costs more than a look.
        password: For every request, where the server is reached from other machines; `None` on this one.
    """

    host: str
    port: int
    token: str
    password: str | None = None

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which a browser may call the server: no other, or any site could have its own name for it."""
        names = {*HERE, self.host}
        written = {f"[{name}]" if ":" in name else name for name in names}
        # Browsers leave out the port of HTTP itself.
        return frozenset({f"{name}:{self.port}" for name in written} | (written if self.port == HTTP else set()))

    @property
    def address(self) -> str:
        """The address for a browser; the token is behind the `#`, which no browser sends and no log holds."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/#token={self.token}"


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused."""

    status: int
    sentence: str

    def response(self) -> Response:
        """As every error of the server is given."""
        asks = {"WWW-Authenticate": 'Basic realm="Sluice", charset="UTF-8"'} if self.status == 401 else {}
        return JSONResponse({"error": self.sentence}, self.status, headers={**HEADERS, **POLICY, **asks})


def refusal(access: Access, method: str, headers: Headers, path: str = "/") -> Refusal | None:
    """Why a request is refused; `None` if it may pass."""
    host = headers.get("host", "")
    if len(headers.getlist("host")) != 1 or host.lower() not in access.hosts:
        return Refusal(403, f"Host: got {shown(host)}, expected {' or '.join(sorted(access.hosts))}")
    if access.password is not None and not has_password(access.password, headers.get("authorization", "")):
        return Refusal(401, "Authorization: got no valid password, expected the one that this page was started with")
    if method not in {"GET", "HEAD", "POST"}:
        return Refusal(405, f"method: got {shown(method)}, expected GET or POST")
    if path.startswith(("/api/", METRICS)) and headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        # It could read no answer, but what is asked costs time on a machine that may be measuring.
        return Refusal(403, "Sec-Fetch-Site: got a request of another site, expected one of this page")
    if method == "POST" and (found := of_another_origin(host, headers)) is not None:
        return found
    is_open = not path.startswith("/api/") or path in OPEN
    return None if is_open and method != "POST" else without_token(access, headers)


def of_another_origin(host: str, headers: Headers) -> Refusal | None:
    """Why a request that changes something is refused: it must come from the page itself."""
    origin = headers.get("origin", "")
    if urlsplit(origin).scheme != "http" or origin.lower() != f"http://{host.lower()}":
        return Refusal(403, f"Origin: got {shown(origin)}, expected http://{host.lower()}")
    return None


def without_token(access: Access, headers: Headers) -> Refusal | None:
    """Why a request is refused that needs the page's token."""
    if same(access.token, headers.get(TOKEN_HEADER, "")):
        return None
    return Refusal(
        403, f"{TOKEN_HEADER}: got no valid token, expected the one in the address that was printed at the start"
    )


def shown(text: str) -> str:
    """Text of a stranger, as a message may repeat it."""
    return ascii(text[:80])[1:-1] or "none"


def same(secret: str, given: str) -> bool:
    """Compare a text with the secret in a time that does not depend on the place of a difference."""
    return secrets.compare_digest(secret.encode(), given.encode("utf-8", "surrogateescape"))


def has_password(password: str, authorization: str) -> bool:
    """Check that HTTP Basic carries the password, under any name of a user."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    return same(password, given.partition(":")[2])


class Guard:
    """Lets only those requests through that `refusal` has nothing against; no answer is for another origin."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        refused = refusal(self._access, scope["method"], Headers(scope=scope), scope["path"])
        if refused is not None:
            await refused.response()(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, **POLICY}.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, guarded)
