"""Dead letters as lines of JSON: with their place, line, reason, field and value; or their documents alone."""

import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from lab import files
from lab.errors import ProfileError, unwritable
from lab.replay.dead_letters import REFUSAL, Choice, Letter, each_once
from lab.replay.source_lines import RecordOfFile
from lab.run.verify.refusal_reasons import reason_of
from producers.json_values import loaded

STANDARD_OUTPUT: Final = "-"
LINE_ENDS: Final = bytes.maketrans(b"\r\n", b"  ")


def exported(letters: Iterable[Letter], choice: Choice, *, everything: bool, documents_only: bool) -> Iterator[Letter]:
    """The chosen letters, each refusal once, or each document, which every replay may have brought back.

    Args:
        everything: Take those that were sent again or discarded, too.
        documents_only: Take each document once.
    """
    chosen = (each for each in letters if (everything or each.is_waiting) and choice.takes(each))
    return each_once(chosen, RecordOfFile.of if documents_only else REFUSAL)


def letter_json(letter: Letter, line: str | None = None) -> dict[str, object]:
    """A dead letter for a program.

    Args:
        line: `file:line` that its record came from.
    """
    failed = letter.failed
    value = letter.failed_value
    return {
        "at": str(letter.refused_at),
        "first_refused_at": str(letter.origin),
        "topic": letter.origin.topic,
        "partition": letter.origin.partition,
        "offset": letter.origin.offset,
        "line": line,
        "status": reason_of(letter.reason).status,
        "reason": letter.reason,
        "field": failed.path if failed else None,
        "value": value and orjson.Fragment(value),
        "sent_again": letter.sent_again,
        "discarded": letter.discarded,
        **content_json("key", letter.key),
        **content_json("document", letter.value),
    }


def letter_line(letter: Letter, line: str | None) -> bytes:
    """A dead letter as a line of a file."""
    return orjson.dumps(letter_json(letter, line)) + b"\n"


def content_json(name: str, content: bytes | None) -> dict[str, object]:
    """A key as text; a document as JSON, in its own digits, or as `text`; either in Base64 if it is not UTF-8."""
    if content is None:
        return {name: None}
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(content).decode()}
    if name == "key":
        return {name: text}
    try:
        loaded(content)
    except orjson.JSONDecodeError:
        return {f"{name}_text": text}
    return {name: orjson.Fragment(content.translate(LINE_ENDS))}


def document_line(letter: Letter) -> bytes:
    """The document of a letter on one line, as it stands if it is no JSON; nothing of a tombstone."""
    return b"" if letter.value is None else letter.value.translate(LINE_ENDS) + b"\n"


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A file that is there once it is whole, or the standard output.

    Raises:
        ProfileError: It is there, or cannot be written.
    """
    if path == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    taken = f"{path}: exists already; name another file, or remove it"
    if Path(path).exists():
        # Before the topic is read, not after it.
        raise ProfileError(taken)
    try:
        with files.new_file(Path(path)) as file:
            yield file
    except FileExistsError as error:
        raise ProfileError(taken) from error
    except OSError as error:
        raise unwritable(f"{path}: cannot be written", error) from error
