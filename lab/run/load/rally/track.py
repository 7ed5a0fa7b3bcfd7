"""What Rally is given: a corpus of ready-made operations, a track with one bulk task, and its command line."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lab.errors import StackError
from lab.profiles import Rally
from lab.run.load.bodies import check_room, operations
from producers.dataset import Dataset

CORPUS = "documents.json"
TASK = "index-append"
"""As Rally's own tracks call it."""
OWN_REPORT, RACE, LOG = "rally-own.csv", "race.json", "rally.log"
PROGRESS_EVERY = 1000


@dataclass(frozen=True)
class Corpus:
    """The documents as Rally reads them.

    Attributes:
        source_bytes: Size of the documents without their action lines.
        corpus_bytes: Size of the file.
    """

    documents: int
    source_bytes: int
    corpus_bytes: int


def write_corpus(
    dataset: Dataset, folder: Path, index: str, on_progress: Callable[[int], None] = lambda _documents: None
) -> Corpus:
    """Write the operations that a direct load would send, each with the index, which Rally does not put into the path.

    Args:
        folder: The track's.

    Raises:
        StackError: The disk has too little room.
    """
    check_room([dataset], folder, index)
    documents = source_bytes = corpus_bytes = 0
    try:
        with (folder / CORPUS).open("wb") as file:
            for _, lines, document_bytes in operations(dataset, index):
                corpus_bytes += file.write(lines)
                source_bytes += document_bytes
                documents += 1
                if documents % PROGRESS_EVERY == 0:
                    on_progress(documents)
    except OSError as error:
        raise StackError(f"{folder / CORPUS}: Rally's corpus cannot be written: {error.strerror}") from error
    return Corpus(documents, source_bytes, corpus_bytes)


def write_track(folder: Path, load: Rally, corpus: Corpus) -> None:
    """Write the track: one bulk task without warm-up, into an index that is there already."""
    documents = {
        "source-file": CORPUS,
        "document-count": corpus.documents,
        "uncompressed-bytes": corpus.corpus_bytes,
        "includes-action-and-meta-data": True,
    }
    bulk = {"name": TASK, "operation-type": "bulk", "bulk-size": load.bulk_size}
    track = {
        "version": 2,
        "description": "The documents of one run, sent as its profile says",
        "corpora": [{"name": "documents", "documents": [documents]}],
        "schedule": [{"name": TASK, "operation": bulk, "clients": load.clients}],
    }
    (folder / "track.json").write_text(json.dumps(track, indent=1) + "\n", "utf-8")


def race_command(program: str, track: Path, report: Path, urls: Sequence[str], race_id: str) -> list[str]:
    """Rally's command line: a race against a cluster that runs, whose report goes to a file."""
    return [
        program,
        "race",
        "--offline",
        "--pipeline=benchmark-only",
        f"--track-path={track}",
        f"--target-hosts={','.join(map(with_port, urls))}",
        "--client-options=timeout:60",
        "--on-error=abort",
        f"--race-id={race_id}",
        "--report-format=csv",
        f"--report-file={report}",
    ]


def with_port(url: str) -> str:
    """The URL as Rally needs it: with its port, and with its path, without which it would be another server's."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    # Clusters behind TLS are refused.
    return f"http://{host}:{parts.port or 80}{parts.path.rstrip('/')}"


def race_file(home: Path, race_id: str) -> Path:
    """Where Rally writes its `race.json`."""
    return home / ".rally" / "benchmarks" / "races" / race_id / RACE
