"""Reasons for refusals: counted together, and without a piece of a document."""

import pytest

from lab.run.verify.refusal_reasons import Reason, general_reason, reason_of

QUOTED = "it's a 'secret' [7] \"of\" 1234"


@pytest.mark.parametrize(
    ("reason", "general"),
    [
        ("books-0@7: 400 mapper_parsing_exception", "400 mapper_parsing_exception"),
        (
            "failed to parse field [price] of type [long] in document with id '9788': For input string: \"free\"",
            "failed to parse field [price] of type [long] in document with id '…': For input string: \"…\"",
        ),
        ("[1:23] object mapping for [shops] tried to parse", "object mapping for [shops] tried to parse"),
        ("no reason given", "no reason given"),
        (
            "b-0@7: status 400 document_parsing_exception: [1:25] failed to parse field [pages] of type [long] in "
            "document with id '7'. Preview of field's value: 'many'",
            "status 400 document_parsing_exception: failed to parse field [pages] of type [long] in document with "
            "id '…'.",
        ),
        ("failed to parse date field [free] with format [yyyy]", "failed to parse date field … with format …"),
        (
            "status 400 strict_dynamic_mapping_exception: [1:9] mapping set to strict, dynamic introduction of "
            "[isbn13] within [_doc] is not allowed",
            "status 400 strict_dynamic_mapping_exception: mapping set to strict, dynamic introduction of [isbn13] "
            "within [_doc] is not allowed",
        ),
        ("Value 300 is out of range for a byte", "Value … is out of range for a byte"),
        ("record key: got 600 bytes, expected 1 to 512", "record key: got … bytes, expected … to …"),
    ],
)
def test_a_general_reason_has_nothing_of_one_record(reason: str, general: str) -> None:
    """So that records refused for one reason are counted together, and no content is shown."""
    assert general_reason(reason) == general


@pytest.mark.parametrize(
    "reason",
    [
        f"failed to parse field [title] of type [long] in document with id '{QUOTED}'. Preview of field's value: '7'",
        f"failed to parse field [title] of type [long] in document with id '7'. Preview of field's value: '{QUOTED}'",
        f"Failed to parse value [{QUOTED}] as only [true] or [false] are allowed.",
        f'For input string: "{QUOTED}"',
        f"'{QUOTED}' is not an IP string literal.",
        f"Unrecognized token '{QUOTED}",
        f"unsupported symbol [{QUOTED}",
    ],
)
def test_what_a_reason_quotes_is_gone_whatever_marks_it_holds(reason: str) -> None:
    """A value with quotation marks and brackets of its own, or one that was cut off, leaves nothing behind."""
    general = general_reason(f"books-0@7: status 400 mapper_parsing_exception: {reason}")

    assert [piece for piece in ("secret", "1234", "it's") if piece in general] == []
    assert general.startswith("status 400 mapper_parsing_exception: ")


def test_a_reason_is_taken_apart() -> None:
    """Status and type decide, the rest is for the reader."""
    found = reason_of("b-0@7: status 400 mapper_parsing_exception: failed to parse field [a] of type [long]")
    assert found == Reason(400, "mapper_parsing_exception", "failed to parse field [a] of type [long]")


def test_a_reason_of_the_sinks_own_has_no_status() -> None:
    """Elasticsearch was never asked."""
    assert reason_of("b-0@7: got an array, expected one object") == Reason(
        None, None, "got an array, expected one object"
    )
