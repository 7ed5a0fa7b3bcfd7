"""The command lines of `capture` and `rehearse`: rules, times, versions, and the suite that they make."""

from pathlib import Path

import pytest

from lab.analysis.text import NARROW_SPACE
from lab.capture.redact import Action, Rule
from lab.cli.capture import rules_of, secret_of, times_of
from lab.cli.options import partitions_in
from lab.cli.rehearse import header_of, release_of, settings_of
from lab.cli.run import dataset_of, replay_text
from lab.errors import ProfileError
from lab.profiles.models import Recorded
from lab.profiles.races import rehearsal
from producers.datasets.source.slice import SliceRecord, SliceWriter
from tests.unit.messages import MakeMessage

NONE: dict[Action, list[str]] = {"hash": [], "shape": [], "drop": []}


def test_rules_of_the_command_line_and_of_a_file_are_joined(tmp_path: Path) -> None:
    """Both count."""
    file = tmp_path / "rules.yaml"
    file.write_text("hash: [user.id]\ndrop: [card, _header.trace]\n", "utf-8")
    assert rules_of(NONE | {"hash": ["_key"]}, file) == [
        Rule("hash", "_key"),
        Rule("hash", "user.id"),
        Rule("drop", "card"),
        Rule("drop", "_header.trace"),
    ]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("hsah: [id]\n", ("rules.yaml:1", "hsah", "hash")),
        ("hash: id\n", ("rules.yaml:1", "hash")),
        ("hash: [card]\n", ("card", "drop", "hash")),
        ("shape: [user..id]\n", ("--shape", "user..id")),
    ],
)
def test_rules_that_would_do_something_else_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage, text: str, facts: tuple[str, ...]
) -> None:
    """A misspelt action would leave a field as it is."""
    monkeypatch.chdir(tmp_path)
    file = Path("rules.yaml")
    file.write_text(text, "utf-8")
    with pytest.raises(ProfileError) as refused:
        rules_of(NONE | {"drop": ["card"]}, file)
    assert str(refused.value) == message(*facts)


@pytest.mark.parametrize(
    ("given", "documents", "expected"),
    [
        ((2, None, None, None), None, {"follow_s": 120}),
        ((None, None, None, None), 7, {}),
        ((None, None, "2026-11-26T23:00Z", None), None, {"from_ms": 1_795_734_000_000, "to_ms": None}),
        ((None, "9" * 400 + "d", None, None), None, {"from_ms": 0}),
        ((None, None, "0001-01-01T00:00Z", None), None, {"from_ms": 0, "to_ms": None}),
        ((None, None, None, "2026-11-26 23:00"), None, {"from_ms": None, "to_ms": 1_795_734_000_000}),
    ],
)
def test_a_slice_is_bounded_by_time_or_number(
    given: tuple[float | None, str | None, str | None, str | None],
    documents: int | None,
    expected: dict[str, object],
) -> None:
    """Instants are in UTC unless they say otherwise."""
    times = times_of(*given, documents=documents)
    assert {name: times.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        ((None, None, None, None), ("--minutes", "--last")),
        ((2, "10m", None, None), ("--last", "--minutes")),
        ((None, "10", None, None), ("--last", "10")),
        ((None, "0m", None, None), ("--last", "0m")),
        ((None, None, "yesterday", None), ("--from", "yesterday")),
        ((None, None, "2026-11-26T23:00Z", "2026-11-26T22:00Z"), ("--to",)),
    ],
)
def test_times_that_make_no_slice_are_refused(
    message: MakeMessage, given: tuple[float | None, str | None, str | None, str | None], facts: tuple[str, ...]
) -> None:
    """Before Kafka is asked."""
    with pytest.raises(ProfileError) as refused:
        times_of(*given, documents=None)
    assert str(refused.value) == message(*facts)


def test_partitions_are_numbers(message: MakeMessage) -> None:
    """Separated by commas."""
    assert partitions_in("0,3") == {0, 3}
    with pytest.raises(ProfileError) as refused:
        partitions_in("0-3")
    assert str(refused.value) == message("--partitions", "0-3")


def test_a_salt_that_can_be_guessed_is_refused(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Without one, each slice has a secret of its own."""
    assert secret_of(None) != secret_of(None)
    monkeypatch.setenv("SALT", "0123456789abcdef")
    assert secret_of("SALT") == b"0123456789abcdef"
    monkeypatch.setenv("SALT", "short")
    for name in ("SALT", "NO_SALT"):
        with pytest.raises(ProfileError) as refused:
            secret_of(name)
        assert str(refused.value) == message("--salt-env", name)
    assert "short" not in str(refused.value)


@pytest.mark.parametrize(
    ("pace", "expected"),
    [
        ("recorded", "load: 3 h 20 min as recorded, longest gap 3 h 0 min; --pace 2x halves both"),
        ("4x", "load: 50 min 0 s at 4x, longest gap 45 min 0 s; --pace 8x halves both"),
    ],
)
def test_a_run_says_how_long_its_slice_takes_before_it_starts(tmp_path: Path, pace: str, expected: str) -> None:
    """Gaps of hours are replayed, too."""
    path = tmp_path / "night.slz"
    writer = SliceWriter(path)
    for number, minute in enumerate((7, 17, 27, 207)):
        writer.add(SliceRecord(60_000 * minute, 0, number, b"k", b"{}"))
    writer.finish({"partitions": 1})
    writer.close()
    settings = settings_of(path, header_of(path), "dynamic", pace)
    profile = (
        rehearsal("night", list(map(release_of, ("8.19.21", "9.5.3"))), settings, minutes=None).variants[0].profile
    )
    assert replay_text(profile, dataset_of(profile)).replace(NARROW_SPACE, " ") == expected


def test_a_rehearsal_compares_releases_and_values(tmp_path: Path) -> None:
    """Each with the first one, at the recorded pace, with as many partitions as the topic had."""
    path = tmp_path / "peak.slz"
    writer = SliceWriter(path)
    writer.add(SliceRecord(1, 0, 0, None, b"{}"))
    writer.finish({"partitions": 5})
    writer.close()
    settings = [*settings_of(path, header_of(path), "dynamic", "recorded"), "index.number_of_replicas=0,1"]
    releases = [release_of(text) for text in ("8.19.21", "opensearch:3.8.0")]
    suite = rehearsal("peak", releases, settings, minutes=None)
    assert [variant.name for variant in suite.variants if variant.name != suite.repetition] == [
        "Elasticsearch 8.19.21 index.number_of_replicas=0",
        "Elasticsearch 8.19.21 index.number_of_replicas=1",
        "OpenSearch 3.8.0 index.number_of_replicas=0",
        "OpenSearch 3.8.0 index.number_of_replicas=1",
    ]
    for variant in suite.variants:
        assert isinstance(variant.profile.load, Recorded)
        assert variant.profile.topic.partitions == 5
        assert variant.profile.sink.config["key.ignore"] is True


@pytest.mark.parametrize("text", ["solr:1.0.0", "opensearch:", ""])
def test_another_engine_is_refused(message: MakeMessage, text: str) -> None:
    """With the spelling of those that there are."""
    with pytest.raises(ProfileError) as refused:
        release_of(text)
    assert str(refused.value) == message("--elasticsearch", "opensearch:VERSION")


def test_one_version_alone_is_no_rehearsal(message: MakeMessage) -> None:
    """There is nothing to compare it with."""
    with pytest.raises(ProfileError) as refused:
        rehearsal("peak", [release_of("9.5.3")], [], minutes=None)
    assert str(refused.value) == message("--elasticsearch")
