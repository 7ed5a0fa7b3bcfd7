"""What is said of documents that Elasticsearch refuses in a direct load."""

from collections.abc import Mapping

import pytest

from lab.records.run import DirectLoad
from lab.run.load.direct import refusals
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(
    ("refused", "facts"),
    [
        ({}, []),
        (
            {"400 document_parsing_exception": 7},
            [(7, 400, "document_parsing_exception")],
        ),
        (
            {"403 security_exception": 1009},
            [(1009, 403, "security_exception")],
        ),
    ],
)
def test_refused_documents_are_told_in_one_sentence(
    refused: Mapping[str, int], facts: list[tuple[object, ...]], message: MakeMessage
) -> None:
    """By status and type; a server without the licence of `bbq_disk` takes the mapping and refuses the documents."""
    assert refusals(DirectLoad.model_construct(refused=dict(refused))) == tuple(message(*each) for each in facts)
