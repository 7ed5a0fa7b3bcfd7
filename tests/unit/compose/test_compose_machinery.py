"""What gets an engine and images for the compose tests, as far as no engine is needed."""

import os
import re
from pathlib import Path

import pytest

from tests.compose.engine import OwnEngine
from tests.compose.materials import DOCKERFILE
from tests.compose.offline import maven_calls
from tests.compose.project import megabytes

EXAMPLE = """\
FROM maven AS one
ARG VERSION=2.6.0
RUN mvn -B some:copy \\
        -Dartifact=group:name:${VERSION} -DoutputDirectory=/one
FROM maven AS two
RUN mvn -q package -DskipTests && mv target/plugin /two
"""


def test_what_a_dockerfile_asks_of_maven_is_asked_here_the_same(tmp_path: Path) -> None:
    """With the defaults of its arguments, and nothing written outside the folder that is given."""
    assert list(maven_calls(EXAMPLE, tmp_path)) == [
        ["-B", "some:copy", "-Dartifact=group:name:2.6.0", f"-DoutputDirectory={tmp_path}/one"],
        ["-q", "package", "-DskipTests"],
    ]


def test_no_call_of_maven_is_overlooked(tmp_path: Path) -> None:
    """One that is not made here beforehand fails in the image, which has no network."""
    written = re.findall(r"\bmvn ", re.sub(r"^#.*$", "", DOCKERFILE.read_text(), flags=re.MULTILINE))
    assert len(list(maven_calls(DOCKERFILE.read_text(), tmp_path))) == len(written) > 0


def test_another_process_with_the_engines_number_is_not_the_engine(tmp_path: Path) -> None:
    """A number that was given to somebody else since must not be stopped."""
    engine = OwnEngine(tmp_path)
    assert engine.process() is None
    (tmp_path / "dockerd.pid").write_text(str(os.getpid()))
    assert engine.process() is None


@pytest.mark.parametrize(("written", "in_mb"), [("1.5GiB", 1610.612736), ("86.5MiB", 90.701824), ("0B", 0.0)])
def test_docker_sizes_are_read_in_their_units(written: str, in_mb: float) -> None:
    """Docker counts in powers of 1024, we in powers of 1000."""
    assert megabytes(written) == pytest.approx(in_mb)
