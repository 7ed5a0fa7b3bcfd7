"""Compressed files of several streams: nothing in them is lost, and damage is never the end of a file."""

import bz2
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from producers.dataset import DatasetError
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage

FIRST, LATER = b'{"a":1}\n' * 9, b'{"a":2}\n' * 9
PADDING = b"\x00" * 8


@pytest.mark.parametrize(
    "content",
    [
        lzma.compress(FIRST) + PADDING + lzma.compress(LATER),
        lzma.compress(FIRST) + lzma.compress(LATER) + PADDING,
        bz2.compress(FIRST) + bz2.compress(LATER),
    ],
    ids=["xz, padded between", "xz, padded at the end", "bz2"],
)
def test_all_streams_of_a_file_are_read(tmp_path: Path, content: bytes) -> None:
    """Zeros may pad those of xz."""
    (tmp_path / "file").write_bytes(content)
    assert make_dataset("file", path=str(tmp_path / "file")).documents == 18


@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress], ids=["bz2", "xz"])
@pytest.mark.parametrize("damage", ["start", "garbage", "cut", "padding"])
def test_damage_behind_a_stream_is_refused(
    tmp_path: Path, compress: Callable[[bytes], bytes], damage: str, message: MakeMessage
) -> None:
    """Only another stream may follow."""
    later = {
        "start": b"X" + compress(LATER)[1:],
        "garbage": compress(LATER) + b"garbage behind it",
        "cut": compress(LATER)[:3],
        "padding": b"\x00" * 3 + compress(LATER),
    }
    (tmp_path / "file").write_bytes(compress(FIRST) + later[damage])
    with pytest.raises(DatasetError) as refused:
        make_dataset("file", path=str(tmp_path / "file"))
    assert str(refused.value).replace(f"{tmp_path}/", "") == message("file", "cannot be read")
