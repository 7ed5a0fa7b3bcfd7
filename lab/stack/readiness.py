"""Seeing that a server is ready to work."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event

import httpx
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lab.errors import StackError
from lab.stack.ports import LOOPBACK, accepts_connections
from lab.stack.server import ServerProcess, daemon, died, last_log_lines, reap, session_lives

POLL_S = 0.1
READY_TIMEOUT_S = 180.0


def kafka_is_ready(port: int) -> bool:
    """Whether the broker answers a metadata request."""
    if not accepts_connections(port):
        return False
    try:
        AdminClient({"bootstrap.servers": f"{LOOPBACK}:{port}", "log_level": 0}).list_topics(timeout=2)
    except KafkaException:
        return False
    return True


def answers(url: str) -> bool:
    """Whether a GET is answered with 200."""
    try:
        # The servers of this machine are not behind the proxy that the downloads may need.
        return httpx.get(url, timeout=2, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def is_ready(server: ServerProcess) -> bool:
    """Whether the server is ready to work, by its kind."""
    ports = server.spec.ports
    match server.spec.kind:
        case "kafka":
            return kafka_is_ready(ports["client"])
        case "connect":  # it has joined its group
            return answers(f"http://{LOOPBACK}:{ports['http']}/connectors")
        case "elasticsearch":  # it is a member of a cluster that has a master
            return answers(f"http://{LOOPBACK}:{ports['http']}/_cluster/health?timeout=1s")


def wait_until_ready(
    launched: ServerProcess,
    on_daemon: Callable[[ServerProcess], None],
    timeout_s: float = READY_TIMEOUT_S,
    cancelled: Callable[[], bool] = lambda: False,
) -> ServerProcess:
    """The server once it is ready.

    Args:
        launched: What was started: the server, or the launcher of one that runs as a daemon.
        on_daemon: Told of the daemon as soon as it is known.
        cancelled: Asked now and then whether there is still any use in waiting.

    Raises:
        StackError: It ended, or was not ready in time; with the last lines of its log.
    """
    deadline = time.monotonic() + timeout_s
    server = None
    exit_status = None
    while not cancelled():
        if server is None and (server := daemon(launched)) is not None:
            on_daemon(server)
        exit_status = reap(launched.pid) if exit_status is None else exit_status
        if has_ended(launched, server, exit_status):
            exit_status = reap(launched.pid) if exit_status is None else exit_status
            # That a launcher ended well says nothing of the server.
            raise died(launched.spec, (exit_status or None) if launched.spec.pid_file else exit_status)
        if server is not None and is_ready(server):
            return server
        if time.monotonic() > deadline:
            raise StackError(
                f"{launched.spec.name}: not ready after {timeout_s:.0f} s; its log is {launched.spec.log_file}",
                last_log_lines(launched.spec),
            )
        time.sleep(POLL_S)
    raise StackError(f"{launched.spec.name}: stopped, because another server failed")


def has_ended(launched: ServerProcess, server: ServerProcess | None, exit_status: int | None) -> bool:
    """Whether there is no server any more.

    Args:
        launched: The server or its launcher.
        server: The server, as far as it is known yet.
        exit_status: That of `launched`; `None` while it runs.
    """
    if exit_status:
        return True
    if server is not None:
        return not server.alive
    # Elasticsearch 7's launcher leaves before the server has written its pid file.
    return exit_status == 0 and not session_lives(launched.pid) and daemon(launched) is None


def wait_for_all(
    launched: Sequence[ServerProcess], on_daemon: Callable[[ServerProcess], None], on_ready: Callable[[str], None]
) -> tuple[ServerProcess, ...]:
    """Wait for servers side by side; the first failure ends the waiting for all.

    Raises:
        StackError: That of the server that failed first.
    """
    given_up = Event()

    def wait_for(server: ServerProcess) -> ServerProcess:
        ready = wait_until_ready(server, on_daemon, cancelled=given_up.is_set)
        on_ready(server.spec.name)
        return ready

    with ThreadPoolExecutor(max(1, len(launched))) as pool:
        waits = [pool.submit(wait_for, server) for server in launched]
        try:
            for ended in wait(waits, return_when=FIRST_EXCEPTION).done:
                ended.result()
        except BaseException:
            given_up.set()
            raise
    return tuple(ended.result() for ended in waits)
