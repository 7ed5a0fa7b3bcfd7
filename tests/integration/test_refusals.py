"""Bad input: one clear sentence, exit status 2, nothing changed."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.integration.conftest import Sluice, write_ndjson


def refused(sluice: Sluice, *arguments: str) -> str:
    """The message of a run that is refused with exit status 2; no run's folder is made and no traceback shown."""
    before = sorted(sluice.runs.glob("*/*"))

    done = sluice.run(*arguments)

    assert done.status == 2, done.output + done.errors
    assert "Traceback" not in done.errors
    assert sorted(sluice.runs.glob("*/*")) == before
    return done.errors.removeprefix("sluice: ").strip()


def test_an_unknown_profile_is_answered_with_the_nearest(own_sluice: Sluice) -> None:
    """A misspelt profile names the one that was meant; no server is started."""
    assert "did you mean `quickstart`?" in refused(own_sluice, "quickstrat")
    assert own_sluice.processes() == []


def test_an_unknown_key_is_answered_with_the_nearest(own_sluice: Sluice) -> None:
    """A misspelt setting names the one that was meant."""
    message = refused(own_sluice, "quickstart", "--set", "index.refresh_intervall=1s")

    assert message == "--set index.refresh_intervall: unknown key, did you mean `refresh_interval`?"


def test_an_unknown_mapping_is_answered_with_the_nearest(own_sluice: Sluice) -> None:
    """A misspelt mapping names the one that was meant."""
    assert "did you mean `aladin.nested.static`?" in refused(
        own_sluice, "quickstart", "--set", "mapping=aladin.nested.statik"
    )


def test_an_unknown_dataset_is_answered_with_the_nearest(own_sluice: Sluice) -> None:
    """A misspelt dataset names the one that was meant."""
    assert "did you mean `aladin`?" in refused(own_sluice, "quickstart", "--dataset", "aladdin")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"k": "1"}\n[1, 2]\n', ":2: "),
        ('{"k": "1"}\n{"k": "2"\n', ":2: "),
        ('{"k": "1"}\n{"other": "2"}\n', ":2: "),
        ('{"k": "1"}\n{"k": "2", "text": "' + "x" * 1_100_000 + '"}\n', ":2: "),
    ],
    ids=["no object", "no JSON", "no key", "over the broker's limit"],
)
def test_a_bad_line_of_a_file_is_named_before_anything_starts(
    own_sluice: Sluice, tmp_path: Path, content: str, expected: str
) -> None:
    """The file and the line of what is wrong are in the sentence; no server is started."""
    path = tmp_path / "bad.ndjson"
    path.write_text(content)

    message = refused(own_sluice, "file", "--path", str(path), "--key", "k")

    assert message.startswith(f"dataset: {path}{expected}")
    assert "\n" not in message
    assert own_sluice.processes() == []


def test_a_file_that_is_not_there_is_named(own_sluice: Sluice, tmp_path: Path) -> None:
    """The path is in the sentence."""
    assert str(tmp_path / "absent") in refused(own_sluice, "file", "--path", str(tmp_path / "absent"), "--key", "k")


def test_an_index_that_somebody_else_made_is_left_alone(
    sluice: Sluice, tmp_path: Path, elasticsearch: httpx.Client
) -> None:
    """A run whose index exists without a run's mark is refused, and the index keeps its document."""
    # Runs of other tests may have left one, which then is theirs.
    elasticsearch.delete("/sluice-file")
    elasticsearch.put("/sluice-file/_doc/1?refresh=true", json={"mine": True}).raise_for_status()
    path = write_ndjson(tmp_path / "books.ndjson", [{"k": "1"}])
    try:
        done = sluice.run("file", "--path", str(path), "--key", "k")

        assert done.status == 2
        assert done.errors == (
            "sluice: index sluice-file: exists and was not made by a run of Sluice; delete or rename it, or run the "
            "profile under another name\n"
        )
        assert elasticsearch.get("/sluice-file/_doc/1").json()["_source"] == {"mine": True}
    finally:
        elasticsearch.delete("/sluice-file")


def test_the_connector_refuses_all_its_wrong_settings_at_once(sluice: Sluice) -> None:
    """Settings that only the connector can judge are judged before index and topic are made."""
    done = sluice.run("quickstart", "--set", "sink.config={batch.size: many, linger.ms: -1}")

    assert done.status == 2
    assert "sink.config: " in done.errors
    assert "batch.size" in done.errors
    assert "linger.ms" in done.errors


def test_a_wrong_option_is_refused_with_its_name(own_sluice: Sluice) -> None:
    """An option that does not exist ends with status 2 and its name."""
    assert "--documennts" in refused(own_sluice, "quickstart", "--documennts", "3")


def test_a_folder_for_runs_that_cannot_be_made_is_named(sluice: Sluice, open_folder: Callable[[], Path]) -> None:
    """A file where the runs' folder should be is one sentence."""
    blocked = open_folder() / "runs"
    blocked.write_text("")

    done = sluice("run", "quickstart", "--documents", "11", "--runs", str(blocked))

    assert (done.status, "the run's folder cannot be made" in done.errors) == (2, True)
