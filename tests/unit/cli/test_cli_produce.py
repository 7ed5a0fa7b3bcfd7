"""Settings of Kafka's client that stand on no command line, and the end of a driver whose run has gone."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.cli.produce import client_settings, settings_in
from lab.stack.places import ROOT

DRIVER = """
import sys, time
from lab.cli import produce
print(getattr(produce, sys.argv[2])(*sys.argv[3:]), flush=True)
time.sleep(float(sys.argv[1]))
"""


def driver(seconds: float, *settings: str) -> subprocess.Popen[str]:
    """A process that takes its settings from its standard input and then works for so long."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(seconds), *settings],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def settled(process: subprocess.Popen[str], content: str) -> str:
    """Give it its settings; what it has understood."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(content)
    process.stdin.flush()
    return process.stdout.readline()


def test_settings_are_lines_as_of_a_properties_file(tmp_path: Path) -> None:
    """A value may hold what a name may not, and ends with its line: a password may end with a space."""
    file = tmp_path / "client.properties"
    file.write_text("# of the lab\n\n sasl.username = lab\nsasl.password=a=b#c \n", "utf-8")
    assert client_settings(str(file)) == {"sasl.username": "lab", "sasl.password": "a=b#c "}
    assert client_settings(None) == {}
    assert settings_in("", "nowhere") == {}


def test_a_driver_ends_with_its_standard_input() -> None:
    """Whoever started it over ssh is gone then; it says nothing more."""
    process = driver(60, "settings_over_ssh")
    assert settled(process, '{"sasl.username": "lab"}\n') == "{'sasl.username': 'lab'}\n"
    assert process.poll() is None
    assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 1


def test_a_driver_that_is_done_ends_well_while_its_standard_input_is_open() -> None:
    """Python would abort if the thread that watches it waited within a buffer."""
    process = driver(0, "settings_over_ssh")
    settled(process, "{}\n")
    assert process.wait(20) == 0
    assert process.communicate()[1] == ""


@pytest.mark.parametrize("content", ["sasl.username=lab\n", '{"sasl.username": "lab"}\n'])
def test_a_driver_whose_settings_are_piped_to_it_is_not_ended(content: str) -> None:
    """As by somebody who types `… < client.properties`, in either notation."""
    process = driver(0.1, "client_settings", "-")
    assert process.communicate(content, timeout=20)[0] == "{'sasl.username': 'lab'}\n"
    assert process.returncode == 0
