"""The package of examples/extension, installed by pip: all that it adds is found and works."""

import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

from lab.analysis.figures.definitions import BY_NAME, value_of
from lab.analysis.figures.metrics import metrics
from lab.analysis.figures.windows import windows
from lab.cli.doctor import extensions
from lab.extensions import PIPELINES, PipelineContext
from lab.profiles import load_profile
from lab.profiles.models import Queries
from lab.profiles.questions import load_question
from lab.run.load.availability import why_not_here
from lab.run.query.draw import BoundQuestion
from lab.run.query.right_answers import values_of_kind
from lab.stack.places import ROOT
from producers.children import import_path
from producers.dataset import DatasetError
from producers.extensions import packages
from producers.registry import DATASETS, make_dataset
from tests.unit.analysis.synthetic import Truth, run, samples
from tests.unit.extensions.conftest import EXAMPLE
from tests.unit.messages import MakeMessage

DOCUMENTS = 997


def context(folder: Path, **settings: int) -> PipelineContext:
    """A pipeline's."""
    return PipelineContext(
        name="sink.pipeline: bulk-copy",
        kafka_bootstrap="kafka:9092",
        topic="sluice-readings-7",
        group="connect-sluice-readings-7",
        elasticsearch_urls=("http://one:9200", "http://two:9200"),
        index="sluice-readings",
        settings={name.replace("_", "."): value for name, value in settings.items()},
        tasks=1,
        root=ROOT,
        folder=folder,
    )


@pytest.mark.usefixtures("example")
def test_its_dataset_is_one_of_those_that_there_are() -> None:
    """Behind ours."""
    dataset = make_dataset("readings", documents=DOCUMENTS, step=3)
    assert list(DATASETS) == ["aladin", "events", "products", "vectors", "file", "readings"]
    assert (dataset.documents, dataset.document(20)) == (DOCUMENTS, b'{"number":20,"celsius":20}')


@pytest.mark.usefixtures("example")
def test_its_options_are_checked_like_ours(message: MakeMessage) -> None:
    """The refusal names the nearest and what there is."""
    with pytest.raises(DatasetError) as refusal:
        make_dataset("readings", stepp=3)
    assert str(refusal.value) == message("stepp", "step")


@pytest.mark.usefixtures("example")
def test_a_producer_process_makes_its_documents() -> None:
    """It is a child that finds what this process can import, wherever it is started."""
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer).document(20))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        input=pickle.dumps(make_dataset("readings", documents=DOCUMENTS, step=3)),
        capture_output=True,
        check=False,
        cwd="/",
        env={"PYTHONPATH": import_path()},
    )
    assert (done.stdout.strip(), done.stderr) == (b"""b'{"number":20,"celsius":20}'""", b"")


@pytest.mark.usefixtures("example")
def test_its_profile_names_dataset_pipeline_and_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """All by name, as ours."""
    monkeypatch.chdir(EXAMPLE)
    profile = load_profile("readings")
    assert (profile.dataset.name, profile.dataset.options, profile.mapping) == ("readings", {"step": 7}, "dynamic")
    assert (profile.sink.pipeline, profile.sink.config) == ("bulk-copy", {"batch.documents": 1000})
    assert why_not_here(profile, ROOT) is None


@pytest.mark.usefixtures("example")
def test_a_setting_that_its_pipeline_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the pipeline itself, before any server is started."""
    monkeypatch.chdir(EXAMPLE)
    profile = load_profile("readings", overrides=["sink.config.batch.size=5"])
    lack = "got the setting batch.size, expected batch.documents"
    assert why_not_here(profile, ROOT) == f"sink.pipeline: bulk-copy: {lack}"


@pytest.mark.usefixtures("example")
def test_its_pipeline_says_what_is_started_and_what_is_to_be_stored(tmp_path: Path) -> None:
    """Without a server."""
    pipeline = PIPELINES["bulk-copy"](context(tmp_path, batch_documents=1009))
    program, *ends = pipeline.command()[2:]  # type: ignore[attr-defined]
    assert Path(program).is_file()
    assert ends == ["kafka:9092", "sluice-readings-7", "connect-sluice-readings-7", "http://one:9200",
                    "sluice-readings", "1009"]  # fmt: skip
    assert (pipeline.ids(), pipeline.stored(b"{}"), [*pipeline.description()]) == ("keys", b"{}", ["version"])


@pytest.mark.usefixtures("example")
def test_its_question_is_answered_from_the_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each repeat with another value."""
    monkeypatch.chdir(EXAMPLE)
    question, dataset = load_question("warmer", ROOT), make_dataset("readings", documents=DOCUMENTS)
    celsius = [number * 7 + 1 for number in range(DOCUMENTS)]
    for repeat in values_of_kind(question, dataset, 7, seed=1):
        assert repeat.right == sum(each % 41 > repeat.values["celsius"] for each in celsius)


@pytest.mark.usefixtures("example")
def test_a_query_load_checks_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of hits is the answer."""
    monkeypatch.chdir(EXAMPLE)
    dataset = make_dataset("readings", documents=DOCUMENTS)
    bound = BoundQuestion("warmer", load_question("warmer", ROOT), dataset, Queries(questions=["warmer"]))
    drawn = bound.draw(random.Random(7), DOCUMENTS)  # noqa: S311 - a sample
    right = sum((number * 7 + 1) % 41 > drawn.values["celsius"] for number in range(DOCUMENTS))
    outcomes = [bound.check(drawn, {"hits": {"total": {"value": right + more, "relation": "eq"}}}) for more in (0, 1)]
    assert [outcome.is_right for outcome in outcomes] == [True, False]


@pytest.mark.usefixtures("example")
def test_its_metric_is_one_of_the_run() -> None:
    """Beside ours, with its own unit."""
    made, seen = run(Truth()), samples(Truth())
    values = metrics(made, windows(seen, "stored"))
    (load,) = (phase for phase in made.phases if phase.name == "load")
    assert value_of(values, "load_rate_docs_per_s") == made.documents.indexed / (load.ended_s - load.started_s)
    assert BY_NAME["load_rate_docs_per_s"].unit == "docs/s"


@pytest.mark.usefixtures("example")
def test_the_doctor_lists_what_it_adds() -> None:
    """Each with its package and version."""
    assert [(finding.verdict, finding.sentence) for finding in extensions()] == [
        ("good", f"{what} of sluice-example 0.1")
        for what in ("dataset readings", "pipeline bulk-copy", "question warmer", "metric load_rate_docs_per_s")
    ]


@pytest.mark.usefixtures("example")
def test_a_run_records_its_version() -> None:
    """As part of the environment."""
    assert packages() == {"sluice-example": "0.1"}
