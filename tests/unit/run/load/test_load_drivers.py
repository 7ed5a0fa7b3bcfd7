"""Drivers on other hosts: what options ask for, which profiles they can send, and the words that start them."""

import shlex
from collections.abc import Sequence

import pytest

from lab.errors import ProfileError
from lab.profiles import Profile, load_profile
from lab.run.load.drivers import Drivers, Host, SharedLoad, produce_words
from producers.share import Share
from tests.unit.messages import MakeMessage

STREAM = ("load.mode=stream", "load.rate_docs_per_s=1234567.5")


def profile(*overrides: str) -> Profile:
    """The quickstart as a stream, with these."""
    return load_profile("quickstart", overrides=(*STREAM, *overrides))


def told(*overrides: str, **client: str) -> SharedLoad:
    """What drivers of it are told."""
    return SharedLoad(profile(*overrides), "broker:9092", "books", "books-clock", "2026-11-23T15:00:00.000Z", client)


@pytest.mark.parametrize(
    ("number", "hosts", "start_in_s", "facts"),
    [
        (2, ["a"], None, ("--drivers", "--driver")),
        (0, [], None, ("--drivers", 0, 1, 1000)),
        (1001, [], None, ("--drivers", 1001, 1, 1000)),
        (2, [], 0.0, ("--start-in", 0)),
        (None, [], 30.0, ("--start-in", "--drivers", "--driver")),
        (None, ["-oProxyCommand=x"], None, ("--driver", "-oProxyCommand=x")),
        (None, [":sluice"], None, ("--driver", ":sluice", "load-1:sluice")),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    number: int | None, hosts: list[str], start_in_s: float | None, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Each with one sentence; an option of ssh is no host."""
    with pytest.raises(ProfileError) as refusal:
        Drivers.of(number, hosts, start_in_s)
    assert str(refusal.value) == message(*facts)


def test_drivers_start_by_hand_or_over_ssh() -> None:
    """A terminal takes longer than ssh, so they start later."""
    assert Drivers.of(None, [], None) is None
    assert Drivers.of(3, [], None) == Drivers(3, (), 120.0)
    assert Drivers.of(None, ["load-1", "me@load-2:/opt/sluice"], None) == Drivers(
        2, (Host("load-1", "sluice"), Host("me@load-2", "/opt/sluice")), 30.0
    )
    assert Drivers.of(3, [], 7.5) == Drivers(3, (), 7.5)


@pytest.mark.parametrize(
    ("overrides", "got"),
    [
        (("load.mode=drain",), "load.mode=drain"),
        (("load.mode=drain", "load.via=direct"), "load.via=direct"),
        ((*STREAM, "load.ramp={p99_ms: 500}"), "load.ramp"),
        ((*STREAM, "load.stages=[{documents: 5000}, {}]"), "load.stages"),
        ((*STREAM, "indices=3"), "indices=3"),
    ],
)
def test_only_a_stream_at_one_rate_into_one_index_has_drivers(
    overrides: Sequence[str], got: str, message: MakeMessage
) -> None:
    """Anything else has no schedule that they could share."""
    with pytest.raises(ProfileError) as refusal:
        Drivers(2).refuse_unsuitable(load_profile("quickstart", overrides=overrides))
    assert str(refusal.value) == message("--drivers: quickstart", got, "--rate")
    Drivers(2).refuse_unsuitable(profile())


def test_a_driver_is_told_documents_share_and_start() -> None:
    """Every digit of the rate, or two drivers would have two schedules."""
    words = told("dataset.documents=40009", "producer.processes=3").by_hand(Share(2, 5))
    line = shlex.join(words)
    assert line.startswith("./sluice produce books --bootstrap-servers broker:9092 --dataset aladin --seed 1 ")
    assert " --documents 40009 " in line
    assert " --processes 3 --rate 1234567.5 --share 2/5 --start-at 2026-11-23T15:00:00.000Z " in line
    assert line.endswith("--clock-topic books-clock --record 2.json")


def test_a_whole_rate_has_no_decimals_however_large() -> None:
    """As Kubernetes' files have it."""
    words = list(produce_words(load_profile("quickstart", overrides=(STREAM[0], "load.rate_docs_per_s=2000000"))))
    assert words[-2:] == ["--rate", "2000000"]


def test_no_secret_stands_on_a_command_line() -> None:
    """By hand it stands in a file, over ssh it comes through the standard input."""
    given = told(**{"sasl.mechanism": "PLAIN", "sasl.password": "hunter", "ssl.key.password": "trapper"})
    by_hand, over_ssh = given.by_hand(Share(1, 2)), given.over_ssh(Share(1, 2))
    for words in (by_hand, over_ssh):
        assert "sasl.mechanism=PLAIN" in words
        assert not [word for word in words if "hunter" in word or "trapper" in word]
    assert by_hand[-4:] == ["--client-file", "client.properties", "--record", "1.json"]
    assert over_ssh[-2:] == ["--over-ssh", "--json"]
    assert given.secrets == {"sasl.password": "hunter", "ssl.key.password": "trapper"}


def test_ssh_takes_words_apart_as_they_were() -> None:
    """A folder with a space, and a setting with a quote, arrive as they are."""
    words = Host("load-1", "my sluice").ssh_words(["./sluice", "produce", "it's"])
    assert words[:-1] == ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "load-1"]
    assert shlex.split(words[-1]) == ["cd", "my sluice", "&&", "exec", "./sluice", "produce", "it's"]


def test_a_folder_below_home_is_one_where_ssh_begins() -> None:
    """In quotes, a shell puts nothing for the tilde."""
    assert Host.parsed("load-1:~/my sluice").folder == "my sluice"
