"""The sending of a stream on a target's servers, from where it is until somebody stops it."""

from collections.abc import Callable

from confluent_kafka import KafkaException, Producer

from lab.clients.connect import ConnectWorker
from lab.clients.target import worker_of
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.monitor.kafka import KafkaReader
from lab.profiles import Profile
from lab.run.load.produce import client_settings
from lab.run.names import Names
from lab.stream.laps import Offsets, Pace, PositionStore, Stream, Watcher
from producers.dataset import Dataset
from producers.produce import WHOLE
from producers.share import Share
from producers.worker import DEFAULT_CLIENT_SETTINGS

ANSWER_WITHIN_S = 10.0
STREAM_CLIENT: dict[str, str | int | float | bool] = {
    **DEFAULT_CLIENT_SETTINGS,
    # A broker that is on its way up is none of a reader's business; errors are.
    "log_level": 3,
    # A broker whose packets are dropped refuses nothing: what it was sent goes to another one after so long, not 60 s.
    "socket.timeout.ms": 10_000,
    # It must fit into a small container, whatever the documents.
    "queue.buffering.max.kbytes": 65_536,
}


def send_stream(
    profile: Profile,
    dataset: Dataset,
    endpoints: Endpoints,
    names: Names,
    *,
    pace: Pace,
    watcher: Watcher,
    is_over: Callable[[], bool],
    share: Share = WHOLE,
) -> int:
    """Send a stream, or a share of it, until `is_over`; the number of its next document.

    Raises:
        StackError: Kafka does not take a document or does not answer, or the sink has failed.
    """
    bootstrap, access = endpoints.kafka_bootstrap, endpoints.access.kafka
    client = producer_of(profile, endpoints)
    reader = KafkaReader(bootstrap, names.topic, names.consumer_group, timeout_s=ANSWER_WITHIN_S, client=access)
    mark = PositionStore(bootstrap, names, access, share)
    worker = worker_of(endpoints, 0.0)

    def offsets() -> Offsets:
        sample = reader.read()
        return Offsets(sample.end_offset, sample.end_offset - sample.committed_offset)

    try:
        stream = Stream(
            dataset=dataset,
            topic=names.topic,
            client=client,
            pace=pace,
            offsets=offsets,
            keep=mark.write,
            watcher=watcher,
            position=mark.read().documents,
            share=share,
            check_sink=lambda: check_sink(worker, names.connector),
        )
        stream.send(is_over)
    finally:
        reader.close()
        mark.close()
        worker.close()
    return stream.position


def producer_of(profile: Profile, endpoints: Endpoints) -> Producer:
    """A client of the target's Kafka, with the profile's settings.

    Raises:
        StackError: It refuses one of the settings.
    """
    try:
        return Producer({**STREAM_CLIENT, **client_settings(profile, endpoints)})
    except KafkaException as error:
        raise StackError(
            f"{endpoints.kafka_bootstrap}: Kafka's client rejects its settings: {error.args[0].str()}"
        ) from error


def check_sink(worker: ConnectWorker, connector: str) -> None:
    """Return unless the connector or a task of it has failed; a worker that does not answer may be on its way up.

    Raises:
        StackError: It has failed; with the cause.
    """
    try:
        has_failed = worker.has_failed(connector)
    except StackError:
        return
    if has_failed:
        worker.running_tasks(connector)
