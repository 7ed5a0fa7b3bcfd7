"""Files that hold no documents we can read, each with the command that makes some of it."""

import re
import shlex
from collections.abc import Mapping
from typing import Final

from producers.dataset import DatasetError

BINARY: Final = rb".{0,1000}?[\x00-\x08\x0e-\x1a\x1c-\x1f]"
"""Bytes that no text has: they tell an ORC file from a table whose first column is ORCID."""
UNREADABLE: Final[Mapping[bytes, tuple[str, str]]] = {
    rb"Obj\x01": ("an Avro file", "avro-tools tojson {path} > documents.ndjson"),
    rb"ORC" + BINARY: ("an ORC file", "orc-tools data {path} > documents.ndjson"),
    rb"PARE" + BINARY: ("an encrypted Parquet file", "decrypt it with the program that wrote it"),
    rb"ARROW1\x00\x00": (
        "an Arrow file",
        "python -c 'import sys, pyarrow.feather as f, pyarrow.parquet as p; p.write_table(f.read_table(sys.argv[1]), "
        "sys.argv[2])' {path} documents.parquet",
    ),
    rb"PK\x03\x04.{0,60000}?(?:xl/|\[Content_Types\]\.xml)": (
        "an Excel workbook",
        "soffice --headless --convert-to csv {path}",
    ),
    rb"PK\x03\x04": ("a zip archive", "unzip {path} -d documents"),
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("an old Office file", "soffice --headless --convert-to csv {path}"),
    rb".{257}ustar": ("a tar archive", "mkdir documents && tar -xf {path} -C documents"),
    rb"7z\xbc\xaf\x27\x1c": ("a 7z archive", "7z x {path} -odocuments"),
    rb"Rar!\x1a\x07": ("a RAR archive", "unrar x {path} documents/"),
    rb"\x04\x22\x4d\x18": ("an lz4 file", "lz4 -dc {path} > documents.ndjson"),
    rb"\xff\x06\x00\x00sNaPpY": ("a snappy file", "snzip -dc {path} > documents.ndjson"),
    rb"SQLite format 3\x00": ("an SQLite database", "sqlite3 -json {path} 'SELECT * FROM table' > documents.json"),
    rb"%PDF-": ("a PDF", "take the data from where it comes from"),
    rb"\s*<": ("XML or HTML", "yq -p xml -o json {path} > documents.json"),
}
"""Beginning of a file → what it is, and a command; of an archive, the folder is the path then."""


def refuse_unreadable(path: str, head: bytes, *, is_packed: bool) -> None:
    """Refuse a file by its first bytes; raises DatasetError if they are those of a form that is not read."""
    for pattern, (kind, command) in UNREADABLE.items():
        if re.match(pattern, head, re.DOTALL):
            packed = " (compressed)" if is_packed else ""
            convert = command.format(path=shlex.quote(path))
            raise DatasetError(f"{path}: got {kind}{packed}, expected JSON, CSV or Parquet; {convert}")
