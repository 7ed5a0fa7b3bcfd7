"""OpenSearch reads a topic itself, compressed with lz4: a drain is verified, and the node's log tells bad records."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import Sluice

EXAMPLE = Path(__file__).parents[2] / "examples" / "pull-ingestion"

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


@pytest.fixture(name="options")
def _options(open_folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Servers with the plugin, fetched, and the package, installed."""
    folder = open_folder()
    fetched = subprocess.run([EXAMPLE / "fetch.sh", folder], check=True, capture_output=True, text=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "extensions")]
    subprocess.run([*pip, str(EXAMPLE)], check=True)
    monkeypatch.setenv("SLUICE_EXTENSIONS", str(folder / "extensions"))
    return ["--opensearch", "3.8.0", "--set", f"elasticsearch.distribution={fetched.stdout.strip()}"]


def test_a_drain_is_verified_and_a_bad_record_is_told(sluice: Sluice, options: list[str], tmp_path: Path) -> None:
    """Documents are searched for, since the counters of requests stay 0."""
    settings = ("sink.pipeline=pull-ingestion", "dataset.documents=3001", "load.warm_up_documents=1000")
    run = sluice.run("quickstart", *options, *(word for each in settings for word in ("--set", each)))
    assert run.status == 0
    assert sluice.result().documents.indexed == 3001
    cases = ("--case", "invalid-json", "--case", "full-queue")
    proof = sluice("prove", "pull-ingestion", *options, *cases, "-o", str(tmp_path))
    assert (proof.status, "not applicable" in proof.output + proof.errors) == (0, True)
