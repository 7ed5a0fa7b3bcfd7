"""Where the index of a run is, as its last line says."""

from io import StringIO
from types import SimpleNamespace

import pytest

from lab.cli import run as run_command
from lab.cli.run import print_index
from lab.console import PipeProofConsole
from lab.endpoints import Access, Endpoints, HttpAccess
from lab.errors import StackError
from lab.profiles import load_profile
from lab.targets import TargetName
from tests.unit.messages import MakeMessage

HERE = ("http://127.0.0.1:9201",)
CLUSTER = ("https://es-1.example.org:9200", "https://es-2.example.org:9200")


def servers(urls: tuple[str, ...], authorization: str | None = None, *, stay: bool = True) -> SimpleNamespace:
    """Servers after a run; without addresses, their containers are stopped."""

    def endpoints() -> Endpoints:
        if not urls:
            raise StackError("service elasticsearch: has no running container")
        access = Access(elasticsearch=HttpAccess(authorization))
        return Endpoints("127.0.0.1:9092", "http://127.0.0.1:8083", urls, None, access)

    return SimpleNamespace(stay=stay, endpoints=endpoints)


def said(
    monkeypatch: pytest.MonkeyPatch,
    after: SimpleNamespace,
    target: TargetName,
    *overrides: str,
    kept: str | None = None,
    is_terminal: bool = True,
) -> str:
    """What the run ends with."""
    paper = PipeProofConsole(width=80, file=StringIO(), force_terminal=is_terminal, color_system=None, highlight=False)
    monkeypatch.setattr(run_command, "console", paper)
    print_index(after, target, load_profile("quickstart", overrides=overrides), kept)
    assert isinstance(paper.file, StringIO)
    return paper.file.getvalue()


@pytest.mark.parametrize(
    ("after", "target", "facts"),
    [
        (servers(HERE), TargetName.LOCAL, ("index", "http://127.0.0.1:9201/sluice-quickstart/_search")),
        (servers(HERE), TargetName.COMPOSE, ("index", "http://127.0.0.1:9201/sluice-quickstart/_search")),
        (
            servers(CLUSTER),
            TargetName.REMOTE,
            ("index", "https://es-1.example.org:9200/sluice-quickstart/_search"),
        ),
        (
            servers(CLUSTER, "ApiKey c2VjcmV0"),
            TargetName.REMOTE,
            ("index", "https://es-1.example.org:9200/sluice-quickstart/_search"),
        ),
    ],
    ids=["local", "compose", "remote", "credentials"],
)
def test_a_run_on_servers_that_stay_says_how_its_index_is_queried(
    monkeypatch: pytest.MonkeyPatch,
    after: SimpleNamespace,
    target: TargetName,
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """Wherever they are, and without a secret."""
    assert said(monkeypatch, after, target, is_terminal=False) == message(*facts)


def test_several_indices_are_queried_by_what_their_names_begin_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once."""
    assert said(monkeypatch, servers(HERE), TargetName.LOCAL, "indices=3") == (
        "index: curl 'http://127.0.0.1:9201/sluice-quickstart*/_search?pretty'\n"
    )


@pytest.mark.parametrize(
    ("after", "target", "facts"),
    [
        (
            servers(HERE, stay=False),
            TargetName.LOCAL,
            ("index", "./sluice up"),
        ),
        (
            servers(()),
            TargetName.COMPOSE,
            ("index",),
        ),
    ],
    ids=["local", "compose"],
)
def test_a_person_is_told_that_the_index_is_gone_and_how_to_keep_it(
    monkeypatch: pytest.MonkeyPatch,
    after: SimpleNamespace,
    target: TargetName,
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """In one line; a script has no use for it."""
    assert said(monkeypatch, after, target) == message(*facts)
    assert said(monkeypatch, after, target, is_terminal=False) == ""


def test_a_kept_index_is_named_but_on_servers_of_others_where_it_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of queries alone leaves nothing there."""
    assert said(monkeypatch, servers(HERE), TargetName.LOCAL, kept="sluice-kept-0123") == (
        "index: curl 'http://127.0.0.1:9201/sluice-kept-0123/_search?pretty'\n"
    )
    assert said(monkeypatch, servers(CLUSTER), TargetName.REMOTE, kept="sluice-kept-0123") == ""
