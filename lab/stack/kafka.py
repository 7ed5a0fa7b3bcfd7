"""A Kafka broker (KRaft, one node) and a Kafka Connect worker, as server specifications."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.files import write_whole
from lab.stack import metrics_agent
from lab.stack.jdk import Jdk, extra_jvm_options
from lab.stack.ports import LOOPBACK
from lab.stack.server import ServerSpec

CLUSTER_ID = "c2x1aWNlLWxhYi1rYWZrYQ"
"""Base64 of 16 bytes, as Kafka wants it; one for all, since no two of our clusters ever meet."""

DIRECTORY_ID = "c2x1aWNlLWxhYi1kaXIwMQ"

LOG4J = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
# Else the worker writes a line for each request, and the lab asks it for states every few seconds.
logger.rest.name = org.apache.kafka.connect.runtime.rest.RestServer
logger.rest.level = warn
# Else the broker writes several lines for each segment that is full or deleted: at 55,000 records/s, 1 MB an hour.
logger.segments.name = org.apache.kafka.storage.internals.log
logger.segments.level = warn
"""

QUICK_GROUPS = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    # Which dead letters were sent again is known by an offset, and must not be forgotten after a week: a year.
    "offsets.retention.minutes": "525600",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # A lab has one consumer group: nobody is waited for.
    "group.initial.rebalance.delay.ms": "0",
}

NO_PROVIDERS = "-Dorg.apache.kafka.automatic.config.providers=none"
"""Else whoever writes settings of a client or of a connector names a provider in them, and with it any file to read.

A worker's own providers are not affected (Kafka 4.3.1, `AbstractConfig.resolveConfigVariables`).
"""

OVERRIDABLE = (
    *("auto.offset.reset", "check.crcs", "client.id", "client.rack", "connections.max.idle.ms"),
    *("default.api.timeout.ms", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes", "group.id"),
    *("group.instance.id", "heartbeat.interval.ms", "isolation.level", "max.partition.fetch.bytes"),
    *("max.poll.interval.ms", "max.poll.records", "metadata.max.age.ms", "partition.assignment.strategy"),
    *("receive.buffer.bytes", "request.timeout.ms", "retry.backoff.max.ms", "retry.backoff.ms"),
    *("send.buffer.bytes", "session.timeout.ms"),
    *("acks", "batch.size", "buffer.memory", "compression.type", "delivery.timeout.ms", "enable.idempotence"),
    *("linger.ms", "max.block.ms", "max.in.flight.requests.per.connection", "max.request.size", "retries"),
)
"""Settings of its consumer, and of the producer of dead letters, that a connector may change.

None names an address, credentials or a file: a connector with those would read what the worker may read, or show
what the worker shows to Kafka to a server of its own. `partition.assignment.strategy` names a class of the worker's.
"""


def properties(settings: Mapping[str, str]) -> str:
    """A Java properties file."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def write_if_changed(path: Path, text: str) -> None:
    """Write a configuration file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text("utf-8") != text:
        write_whole(path, text)


def fingerprint(*parts: object) -> str:
    """A short hash of everything that makes one server different from another."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def class_data_options(archive: Path, *, with_agent: bool) -> tuple[str, ...]:
    """JVM options that use the class-data archive, or write it at exit where there is none yet.

    It holds parsed classes only, no profile and no compiled code: a server starts sooner and is as cold as before.
    """
    if archive.is_file():
        return (f"-XX:SharedArchiveFile={archive}",)
    allow = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent") if with_agent else ()
    archive.parent.mkdir(parents=True, exist_ok=True)
    return (f"-XX:ArchiveClassesAtExit={archive}.pending", *allow)


@dataclass(frozen=True)
class Program:
    """What broker and worker are started from.

    Attributes:
        jars: The class path.
        cache: Where their class-data archives are kept.
    """

    version: str
    jars: tuple[Path, ...]
    jdk: Jdk
    cache: Path

    def archive(self, name: str, *agents: Path) -> Path:
        """Where the class-data archive lies: one per program, JDK build and class path."""
        parts = fingerprint(self.jdk.home, *self.jars, *agents)
        return self.cache / "class-data" / f"{name}-{self.jdk.version}-{parts}.jsa"


def kafka_spec(program: Program, *, folder: Path, heap_mb: int, ports: Mapping[str, int]) -> ServerSpec:
    """A broker that is its own controller, its configuration, data and log below `folder`.

    Args:
        ports: `client` and `controller`.
    """
    data = folder / "data"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{ports['controller']}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{ports['client']},CONTROLLER://{LOOPBACK}:{ports['controller']}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{ports['client']}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        **QUICK_GROUPS,
    }
    # What `kafka-storage format` writes for one static voter; it would cost the start of one more JVM.
    meta = {"version": "1", "cluster.id": CLUSTER_ID, "node.id": "1", "directory.id": DIRECTORY_ID}
    if not (data / "meta.properties").is_file():
        write_if_changed(data / "meta.properties", properties(meta))
    return java_server(
        program,
        "kafka",
        "kafka.Kafka",
        folder / "server.properties",
        settings,
        heap_mb=heap_mb,
        ports=ports,
        archive=program.archive("kafka"),
        shape=settings,
    )


def connect_spec(
    program: Program,
    *,
    folder: Path,
    agent: Path,
    heap_mb: int,
    ports: Mapping[str, int],
    kafka_port: int,
    plugin_path: Sequence[Path],
    plugin_version: str,
    more_plugins: Sequence[Path] = (),
) -> ServerSpec:
    """A Connect worker in distributed mode, with the Jolokia agent that makes its JMX metrics readable over HTTP.

    Args:
        ports: `http` for the REST API, `metrics` for the agent.
        plugin_path: Folders of plugin folders, of our own.
        plugin_version: Fingerprint of the plugins; a worker with other plugins must be started anew.
        more_plugins: Further folders of plugin folders, of other people's; not all of those say what they hold.
    """
    agent_config = folder / "jolokia.properties"
    internal_topics = {
        f"{kind}.storage.{setting}": value
        for kind in ("offset", "config", "status")
        for setting, value in {"topic": f"sluice-connect-{kind}", "replication.factor": "1"}.items()
    }
    settings = {
        "bootstrap.servers": f"{LOOPBACK}:{kafka_port}",
        "group.id": "sluice-connect",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        **internal_topics,
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "listeners": f"http://{LOOPBACK}:{ports['http']}",
        "plugin.path": ",".join(map(str, (*plugin_path, *more_plugins))),
        "plugin.discovery": "hybrid_warn" if more_plugins else "service_load",
        "connector.client.config.override.policy": "Allowlist",
        "connector.client.config.override.allowlist": ",".join(OVERRIDABLE),
        "offset.flush.interval.ms": "1000",
        # One worker: when it comes back after a crash there is nobody to wait for.
        "scheduled.rebalance.max.delay.ms": "0",
    }
    spec = java_server(
        program,
        "connect",
        "org.apache.kafka.connect.cli.ConnectDistributed",
        folder / "worker.properties",
        settings,
        heap_mb=heap_mb,
        ports=ports,
        archive=program.archive("connect", agent),
        agent=metrics_agent.jvm_option(agent, agent_config),
        shape=(plugin_version, settings, ports["metrics"], metrics_agent.rules()),
    )
    return spec.model_copy(update={"agent_config": agent_config})


def java_server(
    program: Program,
    name: Literal["kafka", "connect"],
    main_class: str,
    config: Path,
    settings: Mapping[str, str],
    *,
    heap_mb: int,
    ports: Mapping[str, int],
    archive: Path,
    agent: str = "",
    shape: object,
) -> ServerSpec:
    """A server that is a main class on the class path with one configuration file, which is written.

    Args:
        agent: The JVM option for a Java agent, if it has one.
        shape: What else, beside version, JDK and options, makes it a server of another shape.
    """
    write_if_changed(config, properties(settings))
    logging = config.with_name("log4j2.properties")
    write_if_changed(logging, LOG4J)
    # A killed JVM leaves the libraries there that it has unpacked.
    temporary = config.with_name("tmp")
    temporary.mkdir(exist_ok=True)
    options = [f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-XX:+ExitOnOutOfMemoryError"]
    options += [
        f"-Djava.io.tmpdir={temporary}",
        f"-Dlog4j2.configurationFile={logging}",
        NO_PROVIDERS,
        *extra_jvm_options(),
        *filter(None, [agent]),
    ]
    sharing = class_data_options(archive, with_agent=bool(agent))
    class_path = ":".join(map(str, program.jars))
    return ServerSpec(
        kind=name,
        name=name,
        version=program.version,
        java_version=program.jdk.version,
        command=(str(program.jdk.java), *options, *sharing, "-cp", class_path, main_class, str(config)),
        ports=dict(ports),
        log_file=config.with_name(f"{name}.log"),
        archive=archive,
        shape=fingerprint(name, program.version, program.jdk.home, *options, shape),
    )
