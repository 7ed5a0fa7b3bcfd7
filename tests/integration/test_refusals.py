"""Bad input: one clear sentence, exit status 2, nothing changed."""

from pathlib import Path

import httpx

from tests.integration.conftest import Sluice, write_ndjson


def test_an_index_that_somebody_else_made_is_left_alone(
    sluice: Sluice, tmp_path: Path, elasticsearch: httpx.Client
) -> None:
    """A run whose index exists without a run's mark is refused, and the index keeps its document."""
    # Runs of other tests may have left one, which then is theirs.
    elasticsearch.delete("/sluice-file")
    elasticsearch.put("/sluice-file/_doc/1?refresh=true", json={"mine": True}).raise_for_status()
    path = write_ndjson(tmp_path / "books.ndjson", [{"k": "1"}])
    try:
        done = sluice.run("file", "--path", str(path), "--key", "k")

        assert done.status == 2
        assert done.errors == (
            "sluice: index sluice-file: exists and was not made by a run of Sluice; delete or rename it, or run the "
            "profile under another name\n"
        )
        assert elasticsearch.get("/sluice-file/_doc/1").json()["_source"] == {"mine": True}
    finally:
        elasticsearch.delete("/sluice-file")


def test_the_connector_refuses_all_its_wrong_settings_at_once(sluice: Sluice) -> None:
    """Settings that only the connector can judge are judged before index and topic are made."""
    done = sluice.run("quickstart", "--set", "sink.config={batch.size: many, linger.ms: -1}")

    assert done.status == 2
    assert "sink.config: " in done.errors
    assert "batch.size" in done.errors
    assert "linger.ms" in done.errors
