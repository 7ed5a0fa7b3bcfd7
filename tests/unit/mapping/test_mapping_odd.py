"""Odd values: what servers make of them, and what the line of a field says of it."""

import pytest

from lab.mapping.proposal import corrected, propose
from lab.mapping.types import LENIENT_BOOLEAN
from tests.unit.mapping.sampled import Sampled


@pytest.mark.parametrize(
    ("value", "odd", "said"),
    [
        (True, "", "('', {}: false)"),
        (True, "true", "('true', {}: a boolean as text)"),
        ("true", "", "('', {}: false)"),
        ("1.5,2.5", "test", "('test', {}: a geohash)"),
        ("1.5,2.5", "0", "('0', {}: a geohash)"),
        ("1.5,2.5", "POINT (30 10)", "('POINT (30 10)', {}: WKT)"),
        ("1.5,2.5", "1,2,3", "('1,2,3', {}: latitude and longitude)"),
        ({"lat": 1.5, "lon": 2}, "1.5,2.5", "('1.5,2.5', {}: latitude and longitude)"),
        ("2024-01-01", "2019", "('2019', {}: a year)"),
        ("2024-01-01", 2019, "('2019', {}: a year)"),
        ("2024-01-01", "0001", "('0001', {}: a year)"),
        ("2024-01-01", "2024-05-01T10", "('2024-05-01T10', {}: an hour)"),
    ],
)
def test_odd_values_that_servers_take_are_said_to_be_indexed(
    sampled: Sampled, value: object, odd: object, said: str
) -> None:
    """They are not among those that are stored only."""
    documents = [{"x": odd if n == 16 else "?" if n == 18 else value} for n in range(200)]
    of = propose(sampled(*documents), has_type={LENIENT_BOOLEAN}.__contains__).fields[0]

    assert (
        f"; 1 of 200 is indexed as something else {said.format(f'{sampled.path}:17')}; 1 of 200 is no " in of.choice.why
    )
    assert (of.choice.ignored, of.choice.has_odd) == (1, True)


def test_a_year_is_none_where_the_format_of_dates_has_no_bare_one(sampled: Sampled) -> None:
    """Elasticsearch reads it by `strict_date_optional_time` alone."""
    documents = [{"x": "2024" if n == 16 else "29.02.2024"} for n in range(200)]
    (of,) = propose(sampled(*documents)).fields

    assert of.choice.ignored == 1


@pytest.mark.parametrize(
    ("value", "odd", "said"),
    [
        (1_700_000_000_123, 1_700_000_000, "dates of 1970 ('1700000000', {}"),
        (1_700_000_000, 1_700_000_000_000, "dates of 55840 ('1700000000000', {}"),
    ],
)
def test_instants_in_another_unit_are_said_to_be_dates_of_another_year(
    sampled: Sampled, value: int, odd: int, said: str
) -> None:
    """Seconds among milliseconds are days of January 1970."""
    documents = [{"ts": odd if n < 5 else value} for n in range(1000)]
    (of,) = propose(sampled(*documents)).fields

    assert f"; 5 of 1,000 are indexed as {said.format(f'{sampled.path}:1')})" in of.choice.why
    assert (of.choice.ignored, of.choice.has_odd) == (0, True)


@pytest.mark.parametrize(
    ("values", "ignored", "is_corrected"),
    [
        (["N/A"], 1, False),
        (["N/A"], 0, True),
        (["N/A"], 2, True),
        ([], 3, True),
        ([["N/A", "-"]], 1, False),
        ([["N/A", "-"]], 0, True),
    ],
)
def test_a_line_whose_number_the_servers_do_not_confirm_is_corrected(
    sampled: Sampled, values: list[object], ignored: int, *, is_corrected: bool
) -> None:
    """They count documents, of which one may have several such values."""
    proposal = propose(sampled(*({"x": value} for value in [*range(300), *values])))

    after = corrected(proposal, {"x": ignored} if ignored else {}, all_accepted=True)

    why = after.fields[0].choice.why
    assert why.endswith(f"; the check found another number: {ignored} documents with a value stored, not indexed") == (
        is_corrected
    )
    assert after.content["mappings"]["_meta"]["why"] == {"x": why}


def test_fewer_values_than_a_line_has_are_right_where_documents_were_rejected(sampled: Sampled) -> None:
    """They may have been in those."""
    proposal = propose(sampled(*({"x": value} for value in [*range(300), "N/A"])))

    assert corrected(proposal, {}, all_accepted=False) == proposal
