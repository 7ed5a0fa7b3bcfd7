"""`sluice prove` before any server: what is refused; and how a scorecard is shown."""

import time
from pathlib import Path

import pytest

from lab.cli.prove import case_named, of_one_case, profile_of, remarks_of, run_cases, show_scorecard, without_kills
from lab.display import console
from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.prove.cases import BY_NAME
from lab.prove.judge import Finding, Judgement
from lab.prove.trial import Bench, Result, profile_for
from lab.stack.local import LocalStack
from tests.unit.messages import MakeMessage

CLEAN = Result("calm", Judgement(), 984, 0, 0, 7.7)
LOSSY = Result("full-queue", Judgement((Finding("lost", 41, ("0@7 key key-3",)),)), 984, 8, 2, 12.0)


def test_an_unknown_case_names_a_similar_one(message: MakeMessage) -> None:
    """No server is started for it."""
    with pytest.raises(ProfileError) as error:
        case_named("full-queu")
    assert str(error.value) == message("full-queu", "full-queue")


def test_an_unknown_pipeline_names_the_known_ones(message: MakeMessage) -> None:
    """Templates, installed pipelines and profiles."""
    with pytest.raises(ProfileError) as error:
        profile_of("elastic", [])
    assert str(error.value) == message("elastic", "elasticsearch", "confluent")


def test_a_profile_without_kafka_is_refused(message: MakeMessage, tmp_path: Path) -> None:
    """It has no pipeline."""
    file = tmp_path / "direct.yaml"
    file.write_text("question: How fast?\ndataset: {name: aladin, documents: 10}\nload: {via: direct}\n")
    with pytest.raises(ProfileError) as error:
        profile_of(str(file), [])
    assert str(error.value).replace(str(file), "direct.yaml") == message("direct.yaml", "Kafka")


def test_a_template_is_the_sink_of_a_profile_with_two_partitions() -> None:
    """Rebalances need two."""
    profile = profile_for(profile_of("elasticsearch", ["sink.tasks=2"]))
    assert (profile.sink.connector, profile.sink.tasks, profile.topic.partitions) == ("elasticsearch", 2, 2)


@pytest.mark.parametrize(
    ("overrides", "left"),
    [([], ["calm"]), (["sink.command=[program]"], ["calm", "killed"])],
    ids=["connector", "program"],
)
def test_servers_of_up_are_not_killed(overrides: list[str], left: list[str]) -> None:
    """A program is this command's own; the worker of a connector is not."""
    cases = [BY_NAME[name] for name in ("calm", "killed", "node-killed")]
    profile = load_profile("quickstart", overrides=overrides)
    assert [case.name for case in without_kills(cases, profile)] == left


def test_a_case_without_time_is_not_begun(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its name is printed."""
    profile = load_profile("quickstart")
    bench = Bench(profile, None, None, LocalStack(tmp_path), tmp_path, 1, 60.0)
    assert run_cases(bench, [BY_NAME["calm"]], time.monotonic()) == []
    assert "calm" in capsys.readouterr().out


def test_a_scorecard_has_its_findings_and_what_repeats_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fits into 80 columns."""
    monkeypatch.setattr(console, "width", 80)
    show_scorecard(("./sluice", "prove", "rsyslog", "--seed", "3"), [CLEAN, LOSSY])
    shown = capsys.readouterr().out
    assert "again: ./sluice prove rsyslog --seed 3 --case full-queue" in shown
    assert "lost 41" in shown
    assert "0@7 key key-3" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_case_is_repeated_with_all_that_was_given() -> None:
    """But for other cases; words with blanks are quoted."""
    given = ("./sluice", "prove", "--case", "calm", "my sink.yaml", "--case=huge", "--set", "topic.partitions=3")
    repeated = "./sluice prove 'my sink.yaml' --set topic.partitions=3 --case full-queue"
    assert of_one_case(given, "full-queue") == repeated


def test_a_schedule_that_no_request_met_is_a_remark() -> None:
    """Such a case proves nothing."""
    unmet = Result("full-queue", Judgement(), 984, 0, 0, 7.0)
    assert remarks_of(unmet) != remarks_of(CLEAN) == ""
