"""Producing with several processes: arguments, and the life of the processes, without a broker."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from producers.produce import produce
from producers.registry import make_dataset
from producers.share import Share
from tests.unit.messages import MakeMessage

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"client": {}}, ("client", "bootstrap.servers")),
        ({"processes": 0}, ("processes", 0, 1)),
        ({"start": 211}, (211, 0)),
        ({"stop": 212}, (0, 212, 211)),
        ({"rate_docs_per_s": 0.0}, ("rate_docs_per_s", 0.0)),
        (
            {"client": {"bootstrap.servers": "x", "delivery.report.only.error": True}},
            ("client: delivery.report.only.error",),
        ),
    ],
)
def test_impossible_arguments_are_refused(
    options: dict[str, Any], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Nothing is started for an argument that cannot be."""
    arguments: dict[str, Any] = {"client": {"bootstrap.servers": "127.0.0.1:1"}, **options}
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole message is compared
        produce(make_dataset("aladin", books=211), "books", **arguments)
    assert str(refusal.value) == message(*facts)


def test_a_share_without_documents_is_refused() -> None:
    """A driver that sends nothing and says that all went well would be counted as one."""
    books = make_dataset("aladin", books=2000)
    with pytest.raises(ValueError, match=r"^share 3/5: has none of 2,000 documents: .*; use fewer shares$"):
        produce(books, "books", client={"bootstrap.servers": "127.0.0.1:1"}, share=Share(3, 5))


def test_a_wrong_client_setting_is_one_sentence(message: MakeMessage) -> None:
    """In the client's own words, before a process is started."""
    with pytest.raises(ValueError, match=r"^client: ") as refusal:
        produce(
            make_dataset("aladin", books=211), "books", client={"bootstrap.servers": "127.0.0.1:1", "linger.mss": 5}
        )
    assert str(refusal.value) == message("client", "linger.mss")


def test_a_worker_ends_without_a_word_when_its_parent_dies() -> None:
    """A parent killed outright leaves no producer process behind."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    _, said = parent.communicate(timeout=30)
    assert said == ""
    assert _ends(worker)


PARENT = """
import json, subprocess, sys
worker = subprocess.Popen(
    [sys.executable, "-c", "import sys; from producers.children import end_with; end_with(sys.stdin.buffer);"
     "print('up', flush=True); import threading; threading.Event().wait()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
worker.stdout.readline()
print(worker.pid, flush=True)
worker.wait()
"""


def _ends(pid: int) -> bool:
    """Whether the process is gone within ten seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)
