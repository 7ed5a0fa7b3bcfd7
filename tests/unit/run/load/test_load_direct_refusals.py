"""What is said of documents that Elasticsearch refuses in a direct load."""

from collections.abc import Mapping

import pytest

from lab.records.run import DirectLoad
from lab.run.load.direct import refusals


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ({}, ()),
        (
            {"400 document_parsing_exception": 7},
            ("Elasticsearch rejected 7 documents: 400 document_parsing_exception (7)",),
        ),
        (
            {"403 security_exception": 1009},
            (
                "Elasticsearch rejected 1009 documents: 403 security_exception (1009); check the user's privileges, "
                "and that the servers' licence covers the mapping",
            ),
        ),
    ],
)
def test_refused_documents_are_told_in_one_sentence(refused: Mapping[str, int], expected: tuple[str, ...]) -> None:
    """By status and type; a server without the licence of `bbq_disk` takes the mapping and refuses the documents."""
    assert refusals(DirectLoad.model_construct(refused=dict(refused))) == expected
