"""`sluice up`, `status`, `logs`, `restart`, `down`, `clean`: the servers without a run."""

import shlex
import signal
import subprocess
import sys
from glob import escape as escape_glob
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from lab.analysis.text import figure, quantity
from lab.cli import complete
from lab.cli.options import RUNS, DistributionOption, JsonOption, PageOption
from lab.cli.page import is_wanted
from lab.console import console, print_answer, print_json, table_of
from lab.display import StackDisplay
from lab.engines import DEFAULT, ENGINES, Release
from lab.errors import ProfileError, StackError
from lab.page.serve import KeptPage
from lab.stack.distribution import folder_named, release_in
from lab.stack.local import LocalStack
from lab.stack.plugin import given_plugin_folders
from lab.stack.ports import HIGHEST
from lab.stack.readiness import is_ready
from lab.stack.server import ServerProcess, uninterrupted
from lab.stack.shape import MAX_NODES, StackShape

READY = "[green]ready[/green]"
STATES = {"ready": READY, "not ready": "[yellow]not ready[/yellow]", "dead": "[red]dead[/red]"}
DEFAULT_PORTS = {"elasticsearch-1": 9200, "kafka": 9092, "connect": 8083}
COLUMNS = ("server", "version", "state", "pid", "memory_bytes", "ports")


def servers_beginning(incomplete: str) -> list[str]:
    """What the shell offers: names of the servers, running or not."""
    state = LocalStack().state()
    return complete.beginning((entry.spec.name for entry in state.servers) if state else (), incomplete)


ServiceArgument = Annotated[
    str, typer.Argument(help="Server: kafka, connect, elasticsearch-1 …", autocompletion=servers_beginning)
]


def up(
    *,
    elasticsearch: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Elasticsearch version.", show_default=DEFAULT.version)
    ] = None,
    opensearch: Annotated[
        str | None, typer.Option(metavar="VERSION", help="OpenSearch version, in place of Elasticsearch.")
    ] = None,
    distribution: DistributionOption = None,
    data_nodes: Annotated[int, typer.Option(min=1, max=MAX_NODES, help="Elasticsearch nodes.")] = 1,
    heap_mb: Annotated[int, typer.Option(min=128, help="Java heap of each Elasticsearch node, MiB.")] = 1024,
    elasticsearch_port: Annotated[
        int | None,
        typer.Option(min=1, max=HIGHEST, metavar="PORT", help="Port of the first node; default: any free one."),
    ] = None,
    kafka_port: Annotated[
        int | None, typer.Option(min=1, max=HIGHEST, metavar="PORT", help="Port of the broker.")
    ] = None,
    connect_port: Annotated[
        int | None, typer.Option(min=1, max=HIGHEST, metavar="PORT", help="Port of Kafka Connect's REST API.")
    ] = None,
    ports: Annotated[
        Literal["free", "default"],
        typer.Option(metavar="free|default", help="free: any; default: 9200, 9092 and 8083, unless stated."),
    ] = "free",
    page: PageOption = None,
) -> None:
    """Start the servers and leave them running. Servers that fit already keep running."""
    stated = {"elasticsearch-1": elasticsearch_port, "kafka": kafka_port, "connect": connect_port}
    requested = {name: port or (DEFAULT_PORTS[name] if ports == "default" else None) for name, port in stated.items()}
    home = folder_named(distribution)
    shape = StackShape(
        release=release_given(home, elasticsearch=elasticsearch, opensearch=opensearch),
        distribution=str(home) if home else distribution,
        data_nodes=data_nodes,
        elasticsearch_heap_mb=heap_mb,
        plugin_folders=given_plugin_folders(),
        requested_ports={name: port for name, port in requested.items() if port is not None},
    )
    stack = LocalStack()
    with stack.exclusively(), StackDisplay().showing() as progress:
        endpoints = stack.ensure(shape, kept=True, progress=progress)
    page_stays = KeptPage.start(stack.folder, RUNS) if is_wanted(page) else None
    console.print(f"{shape.release.engine.title:<15}{'  '.join(endpoints.elasticsearch_urls)}")
    console.print(f"Kafka          {endpoints.kafka_bootstrap}")
    console.print(f"Kafka Connect  {endpoints.connect_url}")
    console.print(f"Sink metrics   {endpoints.metrics_url}")
    if config := stack.server("connect").spec.agent_config:
        console.print(f"password in    {config}", soft_wrap=True, markup=False)
    if page_stays:
        console.print(f"page           {page_stays.address}", soft_wrap=True, markup=False)
    console.print('addresses for a shell: eval "$(./sluice env)"; stop them with: ./sluice down')


def release_given(home: Path | None, **versions: str | None) -> Release:
    """The release that an unpacked archive holds, or the options of engines name; the default if none does.

    Args:
        home: The folder of the archive.

    Raises:
        ProfileError: Two options do, or the archive holds another one.
    """
    given = [Release(engine, version) for engine in ENGINES if (version := versions[engine.name])]
    for other in given[1:]:
        first = given[0].engine.name
        raise ProfileError(f"--{other.engine.name}: --{first} is given already, expected one of the two")
    if home is None:
        return given[0] if given else DEFAULT
    found = release_in(home)
    if given and given[0] != found:
        raise ProfileError(f"--{given[0].engine.name}: got {given[0]}, expected {found}, which {home} holds")
    return found


def env() -> None:
    """Print the servers' addresses, for a shell to `eval`."""
    endpoints = LocalStack().endpoints()
    for name, value in (
        ("ELASTICSEARCH_URL", endpoints.elasticsearch_urls[0]),
        ("KAFKA_BOOTSTRAP", endpoints.kafka_bootstrap),
        ("CONNECT_URL", endpoints.connect_url),
    ):
        print_answer(f"export {name}={shlex.quote(value)}")


def status(*, as_json: JsonOption = False) -> int:
    """Show the servers. Exit status 0 if all are ready, otherwise 3."""
    stack = LocalStack()
    state = stack.state()
    servers = sorted(state.servers, key=lambda entry: entry.spec.name) if state else []
    if as_json:
        print_json([dict(zip(COLUMNS, facts_of(entry), strict=True)) for entry in servers])
    if not servers:
        console.print("no servers are running here; start them with: ./sluice up")
        return StackError.exit_status
    rows = [row_of(entry) for entry in servers]
    console.print(table_of(rows, "server", "version", "state", "pid", "memory", "ports"))
    return 0 if all(row[2] == READY for row in rows) else StackError.exit_status


def facts_of(entry: ServerProcess) -> tuple[str, str, str, int, int | None, dict[str, int]]:
    """A server's name, version, state, process, bytes of memory and ports."""
    process = entry.process()
    state = "ready" if process and is_ready(entry) else "not ready" if process else "dead"
    memory_bytes = process.memory_info().rss if process else None
    return entry.spec.name, entry.spec.release, state, entry.pid, memory_bytes, dict(entry.spec.ports)


def row_of(entry: ServerProcess) -> tuple[str, ...]:
    """A server's row in the table."""
    name, release, state, pid, memory_bytes, ports = facts_of(entry)
    memory = figure(memory_bytes, "bytes") if memory_bytes else ""
    return name, release, STATES[state], str(pid), memory, " ".join(f"{what}:{port}" for what, port in ports.items())


def logs(
    service: ServiceArgument,
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log as it grows.")] = False,
) -> int:
    """Show the log of a server, running or stopped; the last one until `clean` removes it."""
    log = log_of(LocalStack(), service)
    try:
        return subprocess.call(["tail", "-n", str(lines), *(["-F"] if follow else []), str(log)])
    except KeyboardInterrupt:
        # The usual end of following; no server has stopped by it.
        raise SystemExit(128 + signal.SIGINT) from None


def log_of(stack: LocalStack, name: str) -> Path:
    """The log of a server, or the one that it left when it was stopped; raises ProfileError if there is neither."""
    state = stack.state()
    if state is None:
        of_node = escape_glob(name.replace("elasticsearch-", "node-"))
        of_java = escape_glob(name)
        left = [*stack.folder.glob(f"*/{of_java}/{of_java}.log"), *stack.folder.glob(f"*/*/{of_node}/logs/sluice.log")]
        if left:
            return max(left, key=lambda path: path.stat().st_mtime)
    spec = stack.server(name).spec
    return spec.server_log if spec.server_log is not None and spec.server_log.is_file() else spec.log_file


def restart(service: ServiceArgument) -> None:
    """Restart a server, keeping its data; also after a crash."""
    with StackDisplay().showing() as progress:
        LocalStack().restart(service, progress)


def down() -> None:
    """Stop every server of this checkout and keep its data. Also after the command that started it was killed."""
    stack = LocalStack()
    with stack.exclusively(), uninterrupted(), StackDisplay().showing() as progress:
        KeptPage.stop(stack.folder)
        stopped = stack.stop(progress)
    console.print(f"{quantity(stopped, 'server')} stopped" if stopped else "no servers were running")


def at_terminal() -> bool:
    """Check that somebody can be asked."""
    return sys.stdin.isatty()


def clean(
    *,
    cache: Annotated[bool, typer.Option("--cache", help="Remove the downloads and unpacked servers as well.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, as without a terminal.")] = False,
) -> None:
    """Stop the servers and remove their data and logs. Runs and reports are kept."""
    stack = LocalStack()
    what = f"data and logs of the servers in {stack.folder}" + (", and all downloads" if cache else "")
    if not yes and at_terminal() and not typer.confirm(f"Remove {what}?"):
        console.print("nothing is removed")
        return
    with stack.exclusively(), uninterrupted(), StackDisplay().showing() as progress:
        KeptPage.stop(stack.folder)
        stack.stop(progress)
        removed = stack.clean(cache=cache)
    for folder in removed:
        console.print(f"removed {escape(str(folder))}")
