"""How `sluice test` runs its checks."""

import os
import sys
import time
from pathlib import Path

import pytest

from tests import checks
from tests.checks import (
    LANES,
    OTHER_TESTS,
    PLUGIN_TESTS,
    RELEASE_TESTS,
    Check,
    in_lanes,
    plugin_fingerprint,
)


def check(name: str, code: str, passed_file: Path | None = None) -> Check:
    """A check that is a line of Python."""
    return Check(name, ("-c", code), passed_file)


def test_lanes_run_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for what the other one does, which would never come of one after the other."""
    code = (
        "import pathlib, time\n"
        f"mine, other = pathlib.Path({str(tmp_path)!r}, '{{}}'), pathlib.Path({str(tmp_path)!r}, '{{}}')\n"
        "mine.touch()\n"
        "while not other.exists(): time.sleep(0.01)"
    )
    outcomes = in_lanes([[check("one", code.format("a", "b"))], [check("two", code.format("b", "a"))]], os.environ)
    assert sorted((outcome.name, outcome.status) for outcome in outcomes) == [("one", 0), ("two", 0)]


def test_a_request_to_end_stops_each_check_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM reaches the command alone; a check that is killed leaves its servers behind."""
    code = (
        "import pathlib, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "try:\n"
        "    (folder / '{0} begins').touch()\n"
        "    time.sleep(30)\n"
        "except KeyboardInterrupt:\n"
        "    (folder / '{0} stops').touch()"
    )
    rest, requests = time.sleep, iter([KeyboardInterrupt("SIGTERM")])

    def sleep(seconds: float) -> None:
        # Only once: waiting for a process sleeps as well.
        if len(list(tmp_path.glob("* begins"))) == 2 and (request := next(requests, None)):
            raise request
        rest(seconds)

    monkeypatch.setattr(checks.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        in_lanes([[check("one", code.format("one"))], [check("two", code.format("two"))]], os.environ)
    assert {path.name for path in tmp_path.glob("* stops")} == {"one stops", "two stops"}


def test_each_check_keeps_its_status_and_what_it_says(capfd: pytest.CaptureFixture[str]) -> None:
    """What one prints is not mixed into what another one prints, and a failure ends no lane."""
    code = "print('{0} begins', flush=True); print('{0} ends'); raise SystemExit({1})"
    lanes = [[check("one", code.format("one", 3)), check("two", code.format("two", 0))]]
    lanes += [[check("three", code.format("three", 0))]]
    outcomes = in_lanes(lanes, os.environ)
    assert sorted((outcome.name, outcome.status) for outcome in outcomes) == [("one", 3), ("three", 0), ("two", 0)]
    said = capfd.readouterr().out
    for outcome in outcomes:
        assert f"{outcome.name} begins\n{outcome.name} ends\n" in said


@pytest.mark.parametrize(("status", "again"), [(0, False), (1, True)])
def test_a_check_is_left_out_only_after_it_has_passed_with_the_same_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, *, again: bool
) -> None:
    """A failure is no pass; another source or another server is another fingerprint."""
    counting = f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); raise SystemExit({status})"
    plugin = check("plugin", counting, tmp_path / "passed")
    monkeypatch.setattr(checks, "plugin_fingerprint", lambda: "as it was")
    outcomes = [in_lanes([[plugin]], os.environ)[0] for _ in range(2)]
    assert [outcome.before for outcome in outcomes] == [False, not again]
    monkeypatch.setattr(checks, "plugin_fingerprint", lambda: "changed")
    assert not in_lanes([[plugin]], os.environ)[0].before
    assert (tmp_path / "runs").read_text() == "xxx" if again else "xx"


def test_another_machine_or_another_source_is_another_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources of the plugin, how servers are started, and the JVM's options; what Maven makes is no source."""
    connect = tmp_path / "connect"
    for name in ("connect/src/A.java", "connect/target/A.class", "lab/stack/places.py", "requirements-test.lock",
                 "tests/integration/search_servers.py", "tests/integration/conftest.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks.places, "__file__", str(tmp_path / "lab" / "stack" / "places.py"))
    monkeypatch.setattr(checks, "find_jdks", lambda: [])
    seen = [plugin_fingerprint()]
    (connect / "target" / "A.class").write_text("compiled again")
    assert plugin_fingerprint() == seen[0]
    for path in (connect / "src" / "A.java", tmp_path / "lab" / "stack" / "places.py"):
        path.write_text("changed")
        seen.append(plugin_fingerprint())
    monkeypatch.setattr(checks, "find_jdks", lambda: [sys.version])
    assert len({*seen, plugin_fingerprint()}) == 4


def test_every_test_that_needs_servers_is_in_one_check() -> None:
    """What the integration tests leave out is there, and is what the plugin's check runs."""
    words = [word for lane in LANES for check in lane for word in check.arguments if word.startswith("tests/")]
    assert sorted(words) == sorted(
        ["tests/compose", "tests/integration", *OTHER_TESTS, PLUGIN_TESTS, RELEASE_TESTS, "tests/unit"]
    )
    assert all((checks.ROOT / word).exists() for word in words)
