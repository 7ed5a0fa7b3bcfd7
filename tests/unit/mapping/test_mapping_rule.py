"""The rule of proposals, for any source: no later value is refused or changed unless the field's line says so."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from lab.mapping.proposal import ProposedField, propose
from lab.mapping.sample import read_sample
from lab.mapping.types import LENIENT_BOOLEAN, LONGEST_TERM
from tests.mapping_kinds import json_of
from tests.mapping_sources import Source, sources

DOCUMENTS = 101
LENIENT = {"long", "double", "float", "date", "ip", "geo_point", "boolean"}
"""Types that reject a value that is none, unless it is ignored."""
SAFE = LENIENT | {"keyword", "text", "nested", "object", "stored only"}


def proposed(source: Source) -> list[ProposedField]:
    """The fields that are proposed for the first day of a source."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "day1.ndjson"
        path.write_bytes(b"".join(json_of({source.name: of.json}) + b"\n" for of in source.values(1, DOCUMENTS)))
        return list(propose(read_sample(str(path), DOCUMENTS), has_type={LENIENT_BOOLEAN}.__contains__).fields)


@settings(max_examples=101, derandomize=True, database=None, deadline=None)
@given(source=sources())
def test_every_type_takes_every_later_value_and_its_line_says_what_is_not_indexed(source: Source) -> None:
    """No type is narrower than it must be; numbers are not coerced."""
    for of in proposed(source):
        declaration = of.choice.declaration
        assert of.type in SAFE
        if of.type in LENIENT:
            assert declaration["ignore_malformed"] is True
            assert of.choice.why.endswith("stored, not indexed")
        if of.type in {"long", "double", "float"}:
            assert declaration["coerce"] is False
        if of.type == "keyword":
            assert declaration["ignore_above"] == LONGEST_TERM


@settings(max_examples=29, derandomize=True, database=None, deadline=None)
@given(source=sources(), odd=st.sampled_from((0.003, 0.008)))
def test_a_few_odd_values_change_no_type(source: Source, odd: float) -> None:
    """As many as are tolerated."""
    clean, spoiled = (proposed(Source(source.kind, source.name, source.seed, share)) for share in (0.0, odd))
    values = Source(source.kind, source.name, source.seed, odd).values(1, DOCUMENTS)
    if sum(value.means is None for value in values) <= DOCUMENTS // 100:
        assert [of.type for of in spoiled] == [of.type for of in clean]
