"""Documents of a sample whose content must be that of their record."""

import pytest

from lab.audit.audit import newest_at
from lab.audit.judge import Row, Terms

OLD, NEW, OTHER = Row(0, 11, 11), Row(0, 13, 13), Row(1, 5, 5)


@pytest.mark.parametrize(
    ("rows", "versions", "expected"),
    [
        ([OLD, NEW], True, NEW),
        ([OLD, NEW, Row(0, 17, 17, is_newer=True)], True, None),
        ([OLD, NEW, Row(0, 17, 17, is_open=True)], True, None),
        ([OLD, Row(0, 13, 13, reason="status 400")], True, None),
        ([OTHER, NEW], True, NEW),
        ([OTHER, NEW], False, None),
        ([OLD, NEW], False, NEW),
    ],
    ids=["newest", "a later record", "in flight", "dead letter", "version", "no order", "one partition"],
)
def test_a_record_is_compared_only_if_its_document_must_be_stored(
    rows: list[Row], *, versions: bool, expected: Row | None
) -> None:
    """Offsets do not order records of several partitions, unless the stored version names one."""
    assert newest_at((0, 13), rows, Terms(versions=versions)) == expected
