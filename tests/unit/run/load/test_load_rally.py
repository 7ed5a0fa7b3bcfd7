"""A load through Rally: what it is given, what it may leave behind, and every sentence by which it is refused."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from lab.endpoints import Access, Endpoints, HttpAccess
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.opensearch import OPENSEARCH
from lab.errors import StackError
from lab.profiles import Dataset, Direct, Profile, Rally
from lab.profiles.models import Elasticsearch
from lab.records.run import RallyLoad
from lab.run.load.bodies import prepare_bodies
from lab.run.load.rally import family
from lab.run.load.rally.program import (
    ESRALLY,
    version_text,
    why_not_engine,
    why_not_rally,
    why_not_rally_here,
    why_not_rally_on,
    why_not_version,
)
from lab.run.load.rally.track import CORPUS, Corpus, race_command, race_file, with_port, write_corpus, write_track
from lab.run.load_kinds import rally
from lab.run.load_kinds.rally import rally_record, refuse_foreign_actors
from producers.registry import make_dataset
from tests.unit.clients.rest_server import rest
from tests.unit.messages import MakeMessage

BOOKS = 1009
LOAD = Rally(via="rally", clients=3, bulk_size=101)
CORPUS_OF_A_RUN = Corpus(documents=BOOKS, source_bytes=880_007, corpus_bytes=990_001)
RACE = Path(__file__).parents[2] / "analysis" / "rally" / "index-append-race.json"
MARK = "FAMILY_OF_A_TEST"


def profile(load: Rally | Direct = LOAD, version: str = "7.17.7", **settings: Any) -> Profile:
    """A profile with this load."""
    return Profile(
        name="books",
        question="?",
        dataset=Dataset(name="aladin"),
        mapping="dynamic",
        load=load,
        elasticsearch=Elasticsearch(version=version),
        **settings,
    )


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that says to be Rally 2.13.0."""
    program = tmp_path / "esrally"
    program.write_text("#!/bin/sh\necho esrally 2.13.0\n")
    program.chmod(0o755)
    monkeypatch.setenv(ESRALLY, str(program))
    return program


# --- what Rally is given --------------------------------------------------------------------------------------------


def test_the_corpus_holds_the_operations_of_a_direct_load(tmp_path: Path) -> None:
    """The same documents, ids and versions; the action lines name the index, since Rally's path does not."""
    dataset = make_dataset("aladin", documents=BOOKS)
    told: list[int] = []

    corpus = write_corpus(dataset, tmp_path, "books-1", told.append)

    direct = prepare_bodies([dataset], tmp_path, batch_documents=BOOKS, bulk_size_bytes=50_000_000)
    expected = os.pread(direct.file.fileno(), direct.body_bytes, 0).splitlines()
    written = (tmp_path / CORPUS).read_bytes().splitlines()
    assert written[1::2] == expected[1::2]
    assert [orjson.loads(line) for line in written[::2]] == [
        {"index": {"_index": "books-1", **orjson.loads(line)["index"]}} for line in expected[::2]
    ]
    assert corpus == Corpus(BOOKS, direct.source_bytes, (tmp_path / CORPUS).stat().st_size)
    assert told == [1000]


def test_a_corpus_that_cannot_be_written_is_one_sentence(tmp_path: Path, message: MakeMessage) -> None:
    """With the file, and why."""
    (tmp_path / CORPUS).mkdir()
    with pytest.raises(StackError) as failure:
        write_corpus(make_dataset("aladin", documents=7), tmp_path, "books-1")
    assert str(failure.value) == message(tmp_path / CORPUS, "directory")


def test_the_track_is_one_bulk_task_into_an_index_that_is_there(tmp_path: Path) -> None:
    """No index is made or deleted, and nothing is warmed up."""
    write_track(tmp_path, LOAD, CORPUS_OF_A_RUN)

    track = json.loads((tmp_path / "track.json").read_text())
    assert track["version"] == 2
    assert track["corpora"] == [
        {
            "name": "documents",
            "documents": [
                {
                    "source-file": "documents.json",
                    "document-count": BOOKS,
                    "uncompressed-bytes": 990_001,
                    "includes-action-and-meta-data": True,
                }
            ],
        }
    ]
    assert track["schedule"] == [
        {
            "name": "index-append",
            "operation": {"name": "index-append", "operation-type": "bulk", "bulk-size": 101},
            "clients": 3,
        }
    ]
    assert "indices" not in track


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://es.example", "http://es.example:80"),
        ("http://proxy.example:9200/es-a/", "http://proxy.example:9200/es-a"),
        ("http://[::1]:9200", "http://[::1]:9200"),
    ],
)
def test_rally_is_sent_to_the_very_address_of_the_run(url: str, host: str) -> None:
    """With the port, which Rally does not know, and the path, behind which the cluster is."""
    assert with_port(url) == host


def test_rally_races_on_the_nodes_of_the_run_and_kills_no_other() -> None:
    """Its report is CSV, and an error ends the race."""
    urls = ("http://127.0.0.1:9201", "http://127.0.0.1:9202")

    assert race_command("esrally", Path("/runs/1/rally"), Path("/runs/1/rally-own.csv"), urls, "20261123-004921") == [
        "esrally",
        "race",
        "--offline",
        "--pipeline=benchmark-only",
        "--track-path=/runs/1/rally",
        "--target-hosts=http://127.0.0.1:9201,http://127.0.0.1:9202",
        "--client-options=timeout:60",
        "--on-error=abort",
        "--race-id=20261123-004921",
        "--report-format=csv",
        "--report-file=/runs/1/rally-own.csv",
    ]
    assert race_file(Path("/runs/1/rally"), "7") == Path("/runs/1/rally/.rally/benchmarks/races/7/race.json")


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_missing_rally_is_named_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Whoever loads another way does not need it."""
    monkeypatch.delenv(ESRALLY, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert why_not_rally(profile(Direct(via="direct"))) is None
    assert why_not_rally(profile()) == message("load.via", "pip install esrally==2.13.0", "SLUICE_ESRALLY")
    monkeypatch.setenv(ESRALLY, "/nowhere/esrally")
    assert why_not_rally(profile()) == message("SLUICE_ESRALLY", "/nowhere/esrally")


def test_another_program_by_that_name_is_refused(installed: Path, message: MakeMessage) -> None:
    """It is asked once what it is."""
    assert why_not_rally(profile()) is None
    other = installed.with_name("other")
    other.write_text("#!/bin/sh\necho other 1.2\n")
    other.chmod(0o755)
    os.environ[ESRALLY] = str(other)
    assert why_not_rally(profile()) == message(other, "--version", "other 1.2", "esrally 2.12")


@pytest.mark.parametrize(
    ("text", "is_fit"),
    [("esrally 2.12.0", True), ("esrally 2.13.0.dev0", True), ("esrally 2.9.1", False), ("esrally 3.0.0", False)],
)
def test_a_release_is_used_whose_reports_are_known(text: str, is_fit: bool) -> None:  # noqa: FBT001 - a parameter
    """Those of 2.12 and what follows before 3."""
    assert (why_not_version("esrally", text) is None) == is_fit


@pytest.mark.usefixtures("installed")
def test_builds_that_refuse_the_first_request_are_refused_by_their_version(message: MakeMessage) -> None:
    """Before a server is started, with the place of the version."""
    assert why_not_rally_here(profile(version="7.17.7")) is None
    assert why_not_rally_here(profile(Direct(via="direct"), version="8.19.21")) is None
    assert why_not_rally_here(profile(version="8.19.21", where={"elasticsearch.version": "mine.yaml:7"})) == message(
        "mine.yaml:7: elasticsearch.version", "8.19.21", "7.17.7"
    )


@pytest.mark.usefixtures("installed")
def test_rally_races_on_elasticsearch_alone(message: MakeMessage) -> None:
    """It refuses others itself, in the midst of its race."""
    assert why_not_engine(profile(), OPENSEARCH) == message("load.via", "OpenSearch")
    assert why_not_engine(profile(Direct(via="direct")), OPENSEARCH) is None
    assert why_not_engine(profile(), ELASTICSEARCH) is None


def servers(url: str, authorization: str | None = None) -> Endpoints:
    """Servers of others."""
    access = Access(elasticsearch=HttpAccess(authorization=authorization))
    return Endpoints("kafka:9092", "http://connect:8083", (url,), None, access)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "guarded", [servers("http://es:9200", "ApiKey c2VjcmV0"), servers("https://es:9200")], ids=["credentials", "TLS"]
)
def test_a_guarded_cluster_is_refused(guarded: Endpoints, message: MakeMessage) -> None:
    """Rally would need the credentials on its command line."""
    assert why_not_rally_on(guarded, profile()) == message("load.via")
    assert why_not_rally_on(guarded, profile(Direct(via="direct"))) is None


@pytest.mark.usefixtures("installed")
def test_a_cluster_that_refuses_the_first_request_of_rally_is_refused(message: MakeMessage) -> None:
    """It is asked once, before anything is created."""
    with rest((200, {}), (410, {"error": "gone"})) as server:
        assert why_not_rally_on(servers(server.url), profile()) is None
        assert why_not_rally_on(servers(server.url), profile()) == message("load.via", 410, url=server.url)
    assert server.requests == [("GET", "/", None)] * 2


def test_a_program_that_cannot_tell_its_version_is_refused(installed: Path, message: MakeMessage) -> None:
    """With what it says on its standard error, or why it does not run."""
    installed.write_text("#!/bin/sh\necho no such module >&2\n")
    assert why_not_rally(profile()) == message("no such module", installed=installed)
    version_text.cache_clear()
    installed.write_text("#!/nowhere/python\n")
    assert why_not_rally(profile()) == message("No such file", installed=installed)


def test_actors_of_another_rally_are_not_joined(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """What they do would be in no sample."""
    with socket.create_server(("127.0.0.1", 0)) as actors:
        monkeypatch.setattr(rally, "ACTORS", actors.getsockname())
        with pytest.raises(StackError) as refusal:
            refuse_foreign_actors()
    assert str(refusal.value) == message("127.0.0.1", port=rally.ACTORS[1])
    refuse_foreign_actors()


# --- what it says ---------------------------------------------------------------------------------------------------


def test_a_race_without_errors_is_recorded() -> None:
    """Its version and its rate of errors; everything else is the run's own."""
    recorded = rally_record(RACE, LOAD, CORPUS_OF_A_RUN, entities=997, prepared_s=23.5)

    assert recorded == RallyLoad(
        version="2.13.0",
        clients=3,
        bulk_size=101,
        source_bytes=880_007,
        entities=997,
        corpus_bytes=990_001,
        prepared_s=23.5,
        error_percent=0.0,
    )


def test_few_errors_are_recorded(tmp_path: Path) -> None:
    """The report rounds them to two digits, race.json does not."""
    whole = json.loads(RACE.read_text())
    whole["results"]["op_metrics"][0]["error_rate"] = 0.00003
    (tmp_path / "race.json").write_text(json.dumps(whole))
    recorded = rally_record(tmp_path / "race.json", LOAD, CORPUS_OF_A_RUN, entities=997, prepared_s=23.5)

    assert recorded.error_percent == pytest.approx(0.003)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("{", (2.13,)),
        ('{"rally-version": "2.13.0", "results": {"op_metrics": []}}', (2.13,)),
        (
            '{"rally-version": "2.13.0", "results": {"total_time": 7, "op_metrics": []}}',
            (0,),
        ),
    ],
)
def test_a_race_that_cannot_be_read_breaks_the_run(
    tmp_path: Path, text: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """A missing rate of errors is not zero."""
    (tmp_path / "race.json").write_text(text)

    with pytest.raises(StackError) as refusal:
        rally_record(tmp_path / "race.json", LOAD, CORPUS_OF_A_RUN, entities=997, prepared_s=23.5)
    assert str(refusal.value) == message(tmp_path / "race.json", *facts)


# --- its processes --------------------------------------------------------------------------------------------------


@pytest.fixture
def family_of(tmp_path: Path) -> Iterator[Any]:
    """Starts a shell command as Rally is started."""
    started: list[subprocess.Popen[str]] = []

    def start(command: str) -> subprocess.Popen[str]:
        words = tmp_path / "command.json"
        words.write_text(json.dumps(["sh", "-c", command]))
        process = subprocess.Popen(
            (sys.executable, "-P", family.__file__, str(words)),
            env={**os.environ, MARK: str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def left_of(folder: Path) -> list[psutil.Process]:
    """Processes that a test has started and that have not ended."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def test_nothing_is_left_of_a_command_that_has_left_daemons(tmp_path: Path, family_of: Any) -> None:
    """They have a session of their own and no parent, as Rally's actors; the command's exit status is told."""
    process = family_of("(setsid sleep 997 >/dev/null 2>&1 &); exit 7")

    assert process.wait(30) == 7
    assert left_of(tmp_path) == []


def test_a_command_that_is_killed_ends_as_in_a_shell(tmp_path: Path, family_of: Any) -> None:
    """And the corpus is gone with it, whatever becomes of the run."""
    for name in (CORPUS, f"{CORPUS}.offset"):
        (tmp_path / name).touch()
    assert family_of("kill -9 $$").wait(30) == 128 + signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["command.json"]


def test_a_command_that_cannot_be_started_is_named(tmp_path: Path, message: MakeMessage) -> None:
    """In Rally's log, which the run shows."""
    words = tmp_path / "command.json"
    words.write_text(json.dumps(["/nowhere/esrally", "race"]))
    done = subprocess.run(
        (sys.executable, "-P", family.__file__, str(words)), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (family.NOT_STARTED, message("/nowhere/esrally"))


def test_daemons_stay_below_the_process_that_is_sampled(tmp_path: Path, family_of: Any) -> None:
    """And end with it."""
    # The shell between them and the daemon has ended when the last `up` is printed: the first shell waits for it.
    process = family_of("(setsid sh -c 'echo up; exec sleep 997' &); echo up; exec sleep 997")
    assert [process.stdout.readline(), process.stdout.readline()] == ["up\n", "up\n"]

    below = {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
    assert below == {child.pid for child in left_of(tmp_path)} - {process.pid}
    assert len(below) == 2

    (tmp_path / CORPUS).touch()
    process.terminate()
    assert process.wait(30) == 143
    assert not (tmp_path / CORPUS).exists()
    assert left_of(tmp_path) == []
