"""What a container needs beside the heap of its server."""

import pytest

from lab.profiles import memory
from lab.profiles.memory import NEEDS, Need, least_mb, limit_mb, memory_settings, variables

PRIMES = Need(heap_mb=1009, own_mb=503, heap_share=0.07, page_cache_mb=211)


@pytest.fixture
def _primes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "NEEDS", {"kafka": PRIMES})


@pytest.mark.usefixtures("_primes")
def test_the_least_limit_is_heap_share_of_the_heap_and_what_every_heap_needs() -> None:
    """Heap, a share of it, and a constant."""
    assert least_mb("kafka", 1009) == round(1009 * 1.07) + 503


@pytest.mark.usefixtures("_primes")
def test_the_default_limit_also_leaves_page_cache_in_steps() -> None:
    """Rounded up, never down."""
    limit = limit_mb("kafka", 1009)
    assert limit % memory.STEP_MB == 0
    assert 0 <= limit - (least_mb("kafka", 1009) + 211) < memory.STEP_MB


@pytest.mark.parametrize("server", NEEDS)
def test_a_default_limit_is_above_the_least(server: str) -> None:
    """By its page cache."""
    heap = NEEDS[server].heap_mb
    assert limit_mb(server, heap) >= least_mb(server, heap) + NEEDS[server].page_cache_mb


def test_elasticsearch_s_heap_is_at_most_half_of_its_container() -> None:
    """As Elastic wants it, by default.

    Source: "Set the JVM heap size" in Elastic's reference, and `MachineDependentHeap`, which takes half of a container.
    """
    assert limit_mb("elasticsearch", NEEDS["elasticsearch"].heap_mb) >= 2 * NEEDS["elasticsearch"].heap_mb


def test_settings_have_both_of_every_server_whose_heap_no_profile_decides() -> None:
    """Heap and limit; Elasticsearch's are those of the experiment."""
    names = {name for server in NEEDS for name in variables(server) if server != "elasticsearch"}
    assert set(memory_settings()) == names | set(memory.WITHOUT_HEAP)
