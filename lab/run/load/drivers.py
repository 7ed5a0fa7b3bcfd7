"""The drivers of a stream on other hosts: how many, where, and the words by which each is started."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lab.clients.kafka import kafka_text
from lab.endpoints import is_secret
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.models import Stream
from producers.share import MOST_SHARES, Share

BY_HAND_START_IN_S = 120.0
"""Long enough to paste a command into some terminals."""
SSH_START_IN_S = 30.0
CLIENT_FILE = "client.properties"
HOST = re.compile(r"(?P<address>[^\s:/-][^\s:/]*)(?::(?P<folder>.+))?")


@dataclass(frozen=True)
class Host:
    """A host with a checkout of Sluice.

    Attributes:
        address: As ssh takes it: a name of its configuration, or `user@host`.
        folder: Of the launcher, from the user's home on that host.
    """

    address: str
    folder: str = "sluice"

    @classmethod
    def parsed(cls, text: str) -> "Host":
        """What a user has written, `[USER@]HOST[:FOLDER]`; raises ProfileError if it is no host."""
        match = HOST.fullmatch(text)
        if match is None:
            raise ProfileError(f"--driver: got {text}, expected [USER@]HOST[:FOLDER], such as load-1:sluice")
        # A shell would put the home folder for ~, but not in quotes; ssh begins there by itself.
        return cls(match["address"], (match["folder"] or cls.folder).removeprefix("~/"))

    def ssh_words(self, words: list[str]) -> list[str]:
        """The command that runs these words there, asks nobody, and ends within a minute after the host is gone."""
        there = f"cd {shlex.quote(self.folder)} && exec {shlex.join(words)}"
        return ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", self.address, there]


@dataclass(frozen=True)
class Drivers:
    """The drivers of one stream, each of which sends one share of it.

    Attributes:
        hosts: Where they are started over ssh; empty where somebody starts them by hand.
        start_in_s: From when they are told until the first document is due.
    """

    number: int
    hosts: tuple[Host, ...] = ()
    start_in_s: float = BY_HAND_START_IN_S

    @classmethod
    def of(cls, number: int | None, hosts: list[str], start_in_s: float | None) -> "Drivers | None":
        """What the options ask for; `None` where they ask for none.

        Raises:
            ProfileError: They contradict each other, or make no sense.
        """
        if number is None and not hosts:
            if start_in_s is not None:
                raise ProfileError("--start-in: got no drivers, expected --drivers or --driver beside it")
            return None
        if number is not None and hosts:
            raise ProfileError("--drivers: got --driver as well, expected hosts for ssh, or a number to start by hand")
        if start_in_s is None:
            start_in_s = SSH_START_IN_S if hosts else BY_HAND_START_IN_S
        number = number or len(hosts)
        if not 1 <= number <= MOST_SHARES:
            raise ProfileError(f"--drivers: got {number}, expected 1 to {MOST_SHARES}")
        if start_in_s <= 0:
            raise ProfileError(f"--start-in: got {start_in_s:g}, expected more than 0 seconds")
        return cls(number, tuple(map(Host.parsed, hosts)), start_in_s)

    def refuse_unsuitable(self, profile: Profile) -> None:
        """Refuse a profile that several drivers cannot send.

        Raises:
            ProfileError: It is no stream at one rate into one topic, or sends queries meanwhile.
        """
        load = profile.load
        if not isinstance(load, Stream):
            got = f"load.mode={load.mode}" if load.uses_kafka or not load.fills_index else f"load.via={load.via}"
        elif load.ramp is not None:
            got = "load.ramp"
        elif load.stages:
            got = "load.stages"
        elif load.queries is not None:
            got = "load.queries"
        elif profile.indices > 1:
            got = f"indices={profile.indices}"
        else:
            return
        raise ProfileError(
            f"--drivers: {profile.name}: got {got}, expected a stream at one rate into one index: only that has a "
            "schedule that several drivers can share; run it without --drivers, or make a drain a stream by --rate"
        )


@dataclass(frozen=True)
class SharedLoad:
    """What all drivers of a stream share.

    Attributes:
        clock_topic: Takes the time of the broker, with which each driver compares its clock.
        start_at: When the first document is due, ISO 8601.
        client: Settings of Kafka's client, those of the profile and those that let it in, as text.
    """

    profile: Profile
    bootstrap_servers: str
    topic: str
    clock_topic: str
    start_at: str
    client: Mapping[str, str]

    @property
    def secrets(self) -> dict[str, str]:
        """The settings that stand on no command line."""
        return {name: value for name, value in self.client.items() if is_secret(name)}

    def words(self, share: Share) -> list[str]:
        """How the driver of a share is started, secrets and what becomes of its record left out."""
        others = {name: value for name, value in self.client.items() if not is_secret(name)}
        return [
            "./sluice",
            "produce",
            self.topic,
            "--bootstrap-servers",
            self.bootstrap_servers,
            *produce_words(self.profile, others),
            *("--share", str(share), "--start-at", self.start_at, "--clock-topic", self.clock_topic),
        ]

    def by_hand(self, share: Share) -> list[str]:
        """The same as somebody types it, who then has a file with the record."""
        secrets = ("--client-file", CLIENT_FILE) if self.secrets else ()
        return [*self.words(share), *secrets, "--record", f"{share.number}.json"]

    def over_ssh(self, share: Share) -> list[str]:
        """The same with the secrets on its standard input, with which it ends, and the record on its output."""
        return [*self.words(share), "--over-ssh", "--json"]


def produce_words(profile: Profile, client: Mapping[str, object] | None = None) -> Iterator[str]:
    """Options of `sluice produce` for the profile's documents, and how fast they are sent.

    Args:
        client: Settings of Kafka's client; by default those of the profile.
    """
    dataset, rate = profile.dataset, profile.load.rate_docs_per_s
    yield from ("--dataset", dataset.name, "--seed", str(dataset.seed))
    if dataset.documents is not None:
        yield from ("--documents", str(dataset.documents))
    for name, value in dataset.options.items():
        if value is not None:
            yield from ("--option", f"{name}={value}")
    yield from ("--processes", str(profile.producer.processes))
    for name, value in (profile.producer.client if client is None else client).items():
        yield from ("--client", f"{name}={kafka_text(value)}")
    if rate is not None:
        # Every digit: drivers at two rates are not one load.
        yield from ("--rate", str(int(rate)) if rate == int(rate) else repr(rate))
