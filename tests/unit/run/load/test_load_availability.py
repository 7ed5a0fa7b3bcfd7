"""Whether a profile can run on this machine."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lab.extensions import example_pipelines
from lab.profiles import Dataset, Direct, Profile, Sink
from lab.run.load.availability import plugin_folders, why_not_here
from lab.stack.plugin import PLUGIN_PATH, folders_fingerprint, given_plugin_folders
from tests.unit.messages import MakeMessage

RIVAL = "com.example.RivalSinkConnector"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with our template, a rival's, and a broken one; the environment names no plugins."""
    monkeypatch.delenv(PLUGIN_PATH, raising=False)
    templates = tmp_path / "connect" / "connectors"
    templates.mkdir(parents=True)
    for name, connector in (("elasticsearch", "io.sluice.connect.ElasticsearchSinkConnector"), ("rival", RIVAL)):
        (templates / f"{name}.json").write_text(json.dumps({"connector.class": connector}))
    (templates / "broken.json").write_text("{")
    return tmp_path


def plugin(folder: Path, name: str = RIVAL) -> Path:
    """A folder of plugin folders, one of which has the class, beside an archive that cannot be read."""
    (folder / "rival-1.0" / "lib").mkdir(parents=True)
    with zipfile.ZipFile(folder / "rival-1.0" / "lib" / "rival.jar", "w") as jar:
        jar.writestr(name.replace(".", "/") + ".class", b"")
    (folder / "rival-1.0" / "other.jar").write_bytes(b"not an archive")
    return folder


def profile(**sink: Any) -> Profile:
    """A profile with this sink."""
    return Profile(name="books", question="?", dataset=Dataset(name="aladin"), mapping="dynamic", sink=Sink(**sink))


def test_our_own_sink_runs_everywhere(root: Path) -> None:
    """It is built here."""
    assert why_not_here(profile(), root) is None


def test_a_rival_that_is_not_here_is_told_by_class_and_where_to_put_it(
    root: Path, tmp_path: Path, message: MakeMessage
) -> None:
    """A folder without it helps as little as none."""
    (tmp_path / "empty").mkdir()
    for sink in ({}, {"plugin_path": str(tmp_path / "empty")}):
        assert why_not_here(profile(connector="rival", **sink), root) == message(
            "sink.connector", "com.example.RivalSinkConnector", "sink.plugin_path", "SLUICE_PLUGIN_PATH"
        )


def test_a_rival_is_found_by_the_profiles_folder_or_by_the_environments(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the profile, and not the template, names the class."""
    named = profile(connector="elasticsearch", config={"connector.class": RIVAL})
    folder = plugin(tmp_path / "rivals")
    assert why_not_here(profile(connector="rival", plugin_path=str(folder)), root) is None
    assert why_not_here(named, root) is not None
    monkeypatch.setenv(PLUGIN_PATH, str(folder))
    assert why_not_here(named, root) is None


def test_a_folder_that_is_not_there_is_named(root: Path, tmp_path: Path, message: MakeMessage) -> None:
    """Before anybody looks for a class in it."""
    assert why_not_here(profile(connector="rival", plugin_path=str(tmp_path / "gone")), root) == message(
        "sink.plugin_path", f"{tmp_path}/gone"
    )


def test_what_only_the_worker_can_judge_is_left_to_it(root: Path) -> None:
    """A class by its short name, and a template that cannot be read."""
    assert why_not_here(profile(config={"connector.class": "FileStreamSink"}), root) is None
    assert why_not_here(profile(connector="broken"), root) is None


def test_a_command_needs_its_program(root: Path, message: MakeMessage) -> None:
    """On the path, by a path within the checkout, or this very interpreter."""
    (root / "pipe.sh").write_text("#!/bin/sh\n")
    (root / "pipe.sh").chmod(0o755)
    assert why_not_here(profile(command=["${python}", "x.py"]), root) is None
    assert why_not_here(profile(command=["sh"]), root) is None
    assert why_not_here(profile(command=["./pipe.sh"]), root) is None
    assert why_not_here(profile(command=["./other.sh"]), root) == message("sink.command", "./other.sh")


def test_a_program_that_may_not_be_executed_is_told_from_one_that_is_not_there(
    root: Path, message: MakeMessage
) -> None:
    """As a script as an editor writes it."""
    (root / "pipe.py").write_text("print()\n")
    assert why_not_here(profile(command=["./pipe.py"]), root) == message("sink.command", "./pipe.py", "chmod")


def test_a_direct_load_needs_no_sink(root: Path) -> None:
    """Whatever the profile says of one."""
    direct = profile(command=["no-such-pipeline"]).model_copy(update={"load": Direct(via="direct")})
    assert why_not_here(direct, root) is None


def test_one_worker_has_the_plugins_of_all_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an order that does not depend on whose turn it is, so that it need not be started again."""
    monkeypatch.setenv(PLUGIN_PATH, "/all:/some")
    one, other = profile(plugin_path="/b"), profile(plugin_path="/a")
    folders = tuple(map(Path, ("/all", "/some", "/a", "/b")))
    assert plugin_folders(one, other, profile()) == plugin_folders(other, profile(), one) == folders
    assert given_plugin_folders({}) == ()


def test_other_plugins_have_another_fingerprint(tmp_path: Path) -> None:
    """A worker reads its plugins once."""
    folder = plugin(tmp_path / "rivals")
    before = folders_fingerprint([folder])
    (folder / "rival-1.0" / "other.jar").write_bytes(b"another size")
    assert folders_fingerprint([folder]) != before
    assert folders_fingerprint([]) == ""


def test_a_pipeline_of_an_example_that_is_not_installed_is_told_with_how_to_get_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """A suite goes without it."""
    monkeypatch.delenv("SLUICE_EXTENSIONS", raising=False)
    package = root / "examples" / "shovel"
    package.mkdir(parents=True)
    (package / "pyproject.toml").write_text('[project.entry-points."sluice.pipelines"]\nshovel = "of:It"\n')
    (root / "examples" / "bare").mkdir()
    (root / "examples" / "bare" / "pyproject.toml").write_text('[project]\nname = "bare"\n')
    assert example_pipelines(root) == {"shovel": Path("examples/shovel")}
    assert why_not_here(profile(pipeline="shovel"), root) == message(
        "sink.pipeline", "shovel", "pip install", "examples/shovel", "SLUICE_EXTENSIONS"
    )
