"""Offsets of other hosts' clocks, from their time and from our clock before and after each question."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import httpx
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException, Message, Producer

from lab.endpoints import METRICS_ORIGIN, HttpAccess
from lab.errors import ProfileError
from lab.records.drivers import ClockOffset

BROKERS_TIME = {"message.timestamp.type": "LogAppendTime"}
"""Settings of a topic with which a broker says what time it is."""
BROKER_ASKED = 40
BROKER_PAUSE_S = 0.005
BROKER_RESOLUTION_S = 0.001
ANSWER_WITHIN_S = 5.0
AGENT_ASKED_FOR_S = 1.1
"""Longer than a second, so that one of the agent's seconds begins meanwhile."""
AGENT_PAUSE_S = 0.05
AGENT_RESOLUTION_S = 1.0

Clock = Callable[[], float]
Sleep = Callable[[float], None]


@dataclass(frozen=True)
class Reading:
    """Reading of another clock, with ours before the question and after the answer; seconds since the Unix epoch.

    Attributes:
        resolution_s: The other clock cuts off what is less than that.
    """

    before_s: float
    theirs_s: float
    after_s: float
    resolution_s: float


def offset(readings: Iterable[Reading]) -> ClockOffset | None:
    """Offset of our clock to the other; `None` without readings, or where they contradict each other.

    The other clock was read at some instant between our two looks, and stood then at `theirs` or up to a resolution
    beyond. So ours is ahead by more than `before` - `theirs` - resolution and by no more than `after` - `theirs`. What
    all readings leave possible is the answer: many of a clock of whole seconds say more than a second about it, once
    one of them came just before, and another just after, the beginning of a second. They contradict each other when one
    of the clocks was set meanwhile.

    Source: the interval of Cristian's algorithm, intersected as by Marzullo. Asked at 10.000 s and 10.004 s for a clock
        of milliseconds that says 9.701: ahead by 298 to 303 ms, so by 300.5 ± 2.5 ms.
    """
    bounds = [
        (reading.before_s - reading.theirs_s - reading.resolution_s, reading.after_s - reading.theirs_s)
        for reading in readings
    ]
    if not bounds:
        return None
    least_s, most_s = max(least for least, _ in bounds), min(most for _, most in bounds)
    return None if least_s > most_s else ClockOffset.between(1000 * least_s, 1000 * most_s)


# --- the broker -----------------------------------------------------------------------------------------------------


def ahead_of_broker(topic: str, settings: Mapping[str, str], now_s: Clock = time.time) -> ClockOffset | None:
    """Offset of our clock to that of the broker which leads partition 0 of a topic with log append time.

    Each of some empty records is acknowledged with the time at which the broker appended it.

    Args:
        settings: Of Kafka's client, with `bootstrap.servers`.

    Returns:
        `None` where the broker does not answer, or a clock was set meanwhile.

    Raises:
        ProfileError: The topic does not take the broker's time.
    """
    own: dict[str, str | int] = {
        "acks": "all",
        "linger.ms": 0,
        "log_level": 0,
        "delivery.timeout.ms": round(1000 * ANSWER_WITHIN_S),
    }
    try:
        return offset(_broker_readings(Producer({**settings, **own}), topic, now_s))
    except (KafkaException, TimeoutError):
        return None


def _broker_readings(producer: Producer, topic: str, now_s: Clock) -> Iterator[Reading]:
    for _ in range(BROKER_ASKED):
        yield _broker_reading(producer, topic, now_s)
        time.sleep(BROKER_PAUSE_S)


def _broker_reading(producer: Producer, topic: str, now_s: Clock) -> Reading:
    answers: list[tuple[float, KafkaError | None, Message]] = []
    before_s = now_s()
    producer.produce(
        topic, b"", partition=0, on_delivery=lambda error, message: answers.append((now_s(), error, message))
    )
    producer.flush(2 * ANSWER_WITHIN_S)
    if not answers:
        raise TimeoutError
    after_s, error, message = answers[0]
    if error is not None:
        raise KafkaException(error)
    kind, theirs_ms = message.timestamp()
    if kind != TIMESTAMP_LOG_APPEND_TIME:
        raise ProfileError(
            f"topic {topic}: got the producer's time with its records, expected the broker's: make it with "
            "message.timestamp.type=LogAppendTime"
        )
    return Reading(before_s, theirs_ms / 1000, after_s, BROKER_RESOLUTION_S)


# --- the worker -----------------------------------------------------------------------------------------------------


def ahead_of_agent(
    url: str, access: HttpAccess, now_s: Clock = time.time, sleep: Sleep = time.sleep
) -> ClockOffset | None:
    """Offset of our clock to that of a Connect worker, whose metrics agent (Jolokia) gives whole seconds.

    Some answers of a second show roughly when the agent's seconds begin, those around the next beginning exactly. So
    few are needed that the worker does not notice.

    Returns:
        `None` where it does not answer or tells no time, or a clock was set meanwhile.
    """
    with access.client(timeout=ANSWER_WITHIN_S) as client:

        def ask() -> Reading:
            before_s = now_s()
            answer = client.get(f"{url.rstrip('/')}/version", headers={"Origin": METRICS_ORIGIN})
            after_s = now_s()
            return Reading(before_s, float(answer.json()["timestamp"]), after_s, AGENT_RESOLUTION_S)

        try:
            # The first one waits for the connection, and its answer says little.
            ask()
            readings = list(_until(ask, now_s() + AGENT_ASKED_FOR_S, AGENT_PAUSE_S, now_s, sleep))
            rough = offset(readings)
            if rough is None:
                return None
            ahead_s, bound_s = rough.ahead_ms / 1000, rough.bound_ms / 1000
            begins_s = math.ceil(now_s() - ahead_s + bound_s) + ahead_s
            sleep(max(0.0, begins_s - bound_s - now_s()))
            return offset([*readings, *_until(ask, begins_s + bound_s, 0.0, now_s, sleep)])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return None


def _until(ask: Callable[[], Reading], ends_s: float, pause_s: float, now_s: Clock, sleep: Sleep) -> Iterator[Reading]:
    while now_s() < ends_s:
        yield ask()
        sleep(pause_s)
