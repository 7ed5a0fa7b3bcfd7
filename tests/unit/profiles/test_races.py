"""What a race compares its values by."""

import pytest

from lab.profiles.races import ad_hoc_suite

LOADS = (("cpu_s_per_million_docs", "elasticsearch"), ("indexing_rate_docs_per_s", "primaries"))
SIZE = ("store_size_bytes", "primaries")


@pytest.mark.parametrize(
    ("setting", "metrics"),
    [
        ("sink.config.batch.size=2000,500", LOADS),
        ("index.codec=default,best_compression", (*LOADS, SIZE)),
        ("mapping=aladin.nested.static,aladin.nested.keyword", (*LOADS, SIZE)),
    ],
)
def test_values_of_a_setting_of_the_index_are_compared_by_its_size_too(
    setting: str, metrics: tuple[tuple[str, str], ...]
) -> None:
    """A codec is chosen for it."""
    assert ad_hoc_suite("quickstart", [setting]).metrics == metrics
