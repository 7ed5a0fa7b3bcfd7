"""Packages that cannot add what they offer: one sentence each, and no server is started."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.figures.metrics import metrics
from lab.analysis.figures.windows import windows
from lab.cli.app import main
from lab.cli.doctor import extensions
from lab.errors import ProfileError
from lab.extensions import PIPELINES, QUESTION_KINDS
from lab.stack.local import LocalStack
from producers.dataset import DatasetError
from producers.extensions import FOLDERS, Registry
from producers.registry import DATASETS, make_dataset
from tests.unit.analysis.synthetic import Truth, run, samples
from tests.unit.extensions.conftest import Install
from tests.unit.messages import MakeMessage

DATASET = """
from lab.extensions import Description
THING = Description("{name}", "made up", "things", "ascending", (), make={make})
"""
PIPELINE = """
from lab.extensions import Pipeline
class THING(Pipeline):
    def start(self):
        return None
"""
METRIC = """
from lab.extensions import RunMetric
THING = RunMetric("{name}", "docs", "Made up", "Made up.", {value})
"""


@pytest.mark.parametrize(
    ("registry", "text", "facts"),
    [
        (
            DATASETS,
            "import no_such_module",
            ("dataset thing of made-up 1.0", "no_such_module"),
        ),
        (
            DATASETS,
            "raise ValueError(7)",
            ("dataset thing of made-up 1.0", 7),
        ),
        (DATASETS, "THING = 1", ("dataset thing of made-up 1.0", "int")),
        (
            DATASETS,
            DATASET.format(name="other", make="dict"),
            ("dataset thing of made-up 1.0",),
        ),
        (PIPELINES, PIPELINE, ("pipeline thing of made-up 1.0",)),
        (
            PIPELINES,
            "class THING: pass",
            ("pipeline thing of made-up 1.0", "THING"),
        ),
        (
            QUESTION_KINDS,
            "from lab.extensions import QuestionKind as THING",
            ("question thing of made-up 1.0", "right_answer"),
        ),
        (
            BY_NAME,
            METRIC.format(name="other", value="max"),
            ("metric thing of made-up 1.0",),
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_one_sentence(
    install: Install, registry: Registry[object], text: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """It names the extension, the package, and what was expected."""
    install(f"{registry.what}s", "thing", text)
    with pytest.raises((DatasetError, ProfileError)) as refusal:
        registry["thing"]
    assert str(refusal.value) == message(*facts)


def test_a_name_of_ours_is_taken(install: Install, message: MakeMessage) -> None:
    """Which of two would be used must not depend on chance."""
    install("datasets", "aladin", DATASET.format(name="aladin", make="dict"))
    with pytest.raises(DatasetError) as refusal:
        make_dataset("aladin")
    assert str(refusal.value) == message("dataset aladin", 1.0)


def test_a_name_of_another_package_is_taken(install: Install, message: MakeMessage) -> None:
    """Both are named."""
    install("pipelines", "thing", PIPELINE)
    install("pipelines", "thing", PIPELINE, package="made-up-too")
    with pytest.raises(ProfileError) as refusal:
        PIPELINES["thing"]
    assert str(refusal.value) == message("pipeline thing", 1.0)


def test_what_is_not_used_does_no_harm(install: Install) -> None:
    """Nothing is imported before it is asked for."""
    install("datasets", "thing", "raise RuntimeError")
    assert make_dataset("aladin", documents=7).documents == 7
    assert "thing" in DATASETS


def test_the_working_folder_is_not_looked_into(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of somebody else's must not run code by being the place where a command is typed."""
    install("datasets", "thing", "raise SystemExit", folder=tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend("")
    monkeypatch.delenv(FOLDERS)
    assert "thing" not in DATASETS


def test_a_relative_folder_is_refused(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """It would be another one in each working folder."""
    monkeypatch.setenv(FOLDERS, os.pathsep.join(("/opt/extensions", "extensions")))
    with pytest.raises(ProfileError) as error:
        PIPELINES.offers()
    assert str(error.value) == message("extensions", "SLUICE_EXTENSIONS")


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        ("lambda **given: given['sede']", ("thing",)),
        ("lambda **given: given", ("thing", "dict")),
    ],
)
def test_a_dataset_that_cannot_be_made_is_one_sentence(
    install: Install, make: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before any server is started."""
    install("datasets", "thing", DATASET.format(name="thing", make=make))
    with pytest.raises(DatasetError) as refusal:
        make_dataset("thing")
    assert str(refusal.value) == message(*facts)


def test_a_metric_that_fails_on_a_run_names_its_package(install: Install, message: MakeMessage) -> None:
    """The run's record is there already: the report can be made anew."""
    install("metrics", "thing", METRIC.format(name="thing", value="lambda run, window: 1 / 0"))
    truth = Truth()
    with pytest.raises(ProfileError) as refusal:
        metrics(run(truth), windows(samples(truth), "stored"))
    assert str(refusal.value) == message("metric thing of made-up 1.0", "./sluice report")


def test_the_doctor_tells_what_cannot_be_used(install: Install, message: MakeMessage) -> None:
    """Its own exit status says so, too."""
    install("pipelines", "thing", PIPELINE)
    assert [(finding.verdict, finding.sentence) for finding in extensions()] == [
        ("bad", message("pipeline thing of made-up 1.0"))
    ]


@pytest.fixture
def sluice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[int, str]]]:
    """Runs a command line that must start no server; its exit status, and its errors in one line."""
    monkeypatch.setattr(LocalStack, "ensure", lambda *_, **__: pytest.fail("a server would have been started"))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def command(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["sluice", *words])
        status = main()
        return status, " ".join(capsys.readouterr().err.split())

    yield command
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("group", "setting", "facts"),
    [
        ("datasets", "dataset={name: thing, documents: 7}", ("dataset thing of made-up 1.0",)),
        ("pipelines", "sink.pipeline=thing", ("pipeline thing of made-up 1.0",)),
        ("metrics", "sink.tasks=1", ("metric thing of made-up 1.0",)),
        ("pipelines", "sink.pipeline=thign", ("--set sink.pipeline", "thign", "thing")),
    ],
)
def test_a_run_ends_with_status_2_before_a_server_is_started(
    install: Install,
    sluice: Callable[..., tuple[int, str]],
    group: str,
    setting: str,
    facts: tuple[object, ...],
    *,
    message: MakeMessage,
) -> None:
    """In one line, without a traceback."""
    install(group, "thing", "import no_such_module")
    status, errors = sluice("run", "quickstart", "--set", setting)
    assert (status, errors, "Traceback" in errors) == (2, message(*facts), False)
