"""The servers of one checkout are made what they shall be."""

import psutil
import pytest

from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.stack import readiness
from lab.stack.local import LocalStack, StackProgress
from lab.stack.server import ServerProcess
from tests.unit.stack.three_servers import ALL, NAMES, Wanted, kill, pids, strays
from tests.unit.stack.trivial_servers import shell, spec_of


def test_servers_run_and_are_written_down(stack: LocalStack) -> None:
    """Each with its pid; nothing else runs."""
    stack.ensure(ALL, kept=True)
    assert pids(stack).keys() == set(NAMES)
    assert sorted(pids(stack).values()) == sorted(strays(stack))
    assert stack.process_ids() == pids(stack)


def test_endpoints_are_those_of_the_specifications(stack: LocalStack, wanted: Wanted) -> None:
    """Nodes in the order of their numbers."""
    wanted.specs = {"elasticsearch-2": spec_of(wanted.folder, "elasticsearch-2", ports={"http": 9137}), **wanted.specs}
    wanted.change("elasticsearch-1", ports={"http": 9127})
    assert stack.ensure(ALL, kept=False) == Endpoints(
        kafka_bootstrap="127.0.0.1:1",
        connect_url="http://127.0.0.1:2",
        elasticsearch_urls=("http://127.0.0.1:9127", "http://127.0.0.1:9137"),
        metrics_url="http://127.0.0.1:3/jolokia",
    )


def test_a_server_that_fits_stays(stack: LocalStack) -> None:
    """The second call starts nothing."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    stack.ensure(ALL, kept=True)
    assert pids(stack) == before


def test_a_server_of_another_shape_is_started_anew(stack: LocalStack, wanted: Wanted) -> None:
    """And it alone."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    wanted.change("kafka", shape="second")
    stack.ensure(ALL, kept=True)
    changed = {name for name in NAMES if pids(stack)[name] != before[name]}
    assert changed == {"kafka"}
    assert not psutil.pid_exists(before["kafka"])


def test_a_server_that_is_not_wanted_any_more_is_stopped(stack: LocalStack, wanted: Wanted) -> None:
    """A second node goes when one is asked for."""
    wanted.specs["elasticsearch-2"] = spec_of(wanted.folder, "elasticsearch-2")
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    del wanted.specs["elasticsearch-2"]
    told: list[tuple[str, str]] = []
    stack.ensure(ALL, kept=True, progress=StackProgress(step=lambda name, what: told.append((name, what))))
    del before["elasticsearch-2"]
    assert pids(stack) == before
    assert told[0] == ("elasticsearch-2", "stopped: this profile does not need it")
    assert sorted(strays(stack)) == sorted(before.values())


def test_a_server_that_has_died_is_started_again(stack: LocalStack) -> None:
    """The others stay."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    kill(stack, "kafka")
    stack.ensure(ALL, kept=True)
    assert {name for name in NAMES if pids(stack)[name] != before[name]} == {"kafka"}


def test_a_server_that_was_never_ready_is_started_anew(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `up` was killed while it waited; a run would be refused by a worker that has no plugins yet."""
    stack.ensure(ALL, kept=True)
    before, state = pids(stack), stack.state()
    assert state is not None
    stack._write(state.model_copy(update={"servers": tuple(map(broken_off, state.servers))}))
    monkeypatch.setattr(readiness, "is_ready", lambda entry: entry.pid != before["connect"])
    stack.ensure(ALL, kept=True)
    assert {name for name, pid in pids(stack).items() if pid != before[name]} == {"connect"}
    state = stack.state()
    assert state is not None
    assert all(entry.was_ready for entry in state.servers)


def broken_off(entry: ServerProcess) -> ServerProcess:
    """A server whose command was killed before it saw it ready."""
    return entry.model_copy(update={"was_ready": False})


def test_servers_that_up_started_keep_on_surviving(stack: LocalStack) -> None:
    """A run on them does not make them its own."""
    stack.ensure(ALL, kept=True)
    stack.ensure(ALL, kept=False)
    state = stack.state()
    assert state is not None
    assert state.kept


def test_a_server_that_dies_while_starting_leaves_nothing_running(stack: LocalStack, wanted: Wanted) -> None:
    """Neither it nor its neighbours, and no state file."""
    wanted.change("connect", command=shell("echo plugin path is empty; exit 7"))
    wanted.unready.add("connect")
    with pytest.raises(StackError):
        stack.ensure(ALL, kept=True)
    assert strays(stack) == []
    assert stack.state() is None


def test_the_error_of_a_server_that_dies_while_starting_has_its_last_lines(stack: LocalStack, wanted: Wanted) -> None:
    """They are read before anything is cleared away."""
    wanted.change("connect", command=shell("echo plugin path is empty; exit 7"))
    wanted.unready.add("connect")
    with pytest.raises(StackError) as failure:
        stack.ensure(ALL, kept=True)
    log = wanted.specs["connect"].log_file
    assert str(failure.value) == f"connect: ended with exit status 7 while starting; its log is {log}"
    assert failure.value.log_lines == ("plugin path is empty",)


def test_an_interruption_while_starting_leaves_nothing_running(stack: LocalStack) -> None:
    """Ctrl-C may come between any two servers."""

    def interrupt(name: str, _what: str) -> None:
        if name == "connect":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stack.ensure(ALL, kept=True, progress=StackProgress(step=interrupt))
    assert strays(stack) == []


def test_a_refusal_leaves_running_servers_as_they_are(stack: LocalStack, wanted: Wanted) -> None:
    """Nothing was started, so nothing is stopped: a mistyped version must not cost the servers of `up`."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    wanted.refusal = StackError("no JDK here fits Elasticsearch 8.1.1")
    with pytest.raises(StackError):
        stack.ensure(ALL, kept=True)
    assert pids(stack) == before


def test_each_server_tells_what_happens_to_it(stack: LocalStack, wanted: Wanted) -> None:
    """For the display: what is kept says nothing."""
    stack.ensure(ALL, kept=True)
    wanted.change("kafka", shape="second")
    told: list[tuple[str, str]] = []
    stack.ensure(ALL, kept=True, progress=StackProgress(step=lambda name, what: told.append((name, what))))
    assert told == [
        ("kafka", "restarted with other settings"),
        ("kafka", "stopping"),
        ("kafka", "starting"),
        ("kafka", "ready"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({"version": "9.5.3"}, {"version": "8.19.21"}, "8.19.21 instead of 9.5.3"),
        ({"java_version": "21.0.5"}, {"java_version": "17.0.13"}, "restarted with Java 17.0.13 instead of 21.0.5"),
    ],
)
def test_a_server_that_is_replaced_is_named_with_both_versions(
    stack: LocalStack, wanted: Wanted, before: dict[str, str], after: dict[str, str], why: str
) -> None:
    """Who has asked `up` for one version learns that a profile runs on another."""
    wanted.change("elasticsearch-1", **before)
    stack.ensure(ALL, kept=True)
    wanted.change("elasticsearch-1", **after, shape="second")
    told: list[tuple[str, str]] = []
    stack.ensure(ALL, kept=True, progress=StackProgress(step=lambda name, what: told.append((name, what))))
    assert told[:2] == [("elasticsearch-1", why), ("elasticsearch-1", "stopping")]
