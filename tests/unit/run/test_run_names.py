"""Which runs may read the same kept index."""

from lab.profiles import load_profile
from lab.run.names import layout_fingerprint
from lab.stack.places import ROOT
from producers.registry import make_dataset


def fingerprint(*overrides: str) -> str | None:
    """That of queries about events."""
    return layout_fingerprint(
        load_profile("events/queries", overrides=overrides), make_dataset("events", documents=101), ROOT
    )


def test_no_engine_reads_the_index_of_another() -> None:
    """Nor a version that of another version."""
    engines = ("elasticsearch.version=9.0.0", "opensearch=2.19.1", "opensearch=3.0.0")
    assert len({fingerprint(), *map(fingerprint, engines)}) == 4
    assert fingerprint("opensearch=3.0.0", "load.queries.clients=3") == fingerprint("opensearch=3.0.0")
