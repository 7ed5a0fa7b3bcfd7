"""The three files that `sluice init` writes: a profile, its mapping, and a suite that compares four settings."""

import json
import re
from collections.abc import Iterable, Mapping
from glob import has_magic
from pathlib import Path

from lab.errors import ProfileError, unwritable
from lab.files import write_new
from lab.mapping.proposal import WHY_NOT_DYNAMIC, Proposal
from lab.mapping.sample import Sample
from lab.profiles.files import REPOSITORY, file_of, is_there
from producers.datasets.source.corpora import track_in

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
ENDINGS = re.compile(r"(\.(ndjson|jsonl|json|csv|tsv|parquet))?(\.(gz|zst|bz2|xz))?$", re.IGNORECASE)

PROFILE = """\
# Proposed by `sluice init` from {sampled}; change what you know better.
# {why_key}
# {why_dynamic}.
question: {question}
dataset:
  name: file
  path: {path}
{key}mapping: {name}
index:
  number_of_shards: 1
  number_of_replicas: 0
load:
  mode: drain
  warm_up_documents: 200_000
"""

SUITE = """\
# Proposed by `sluice init`: each variant changes one thing of the profile; take out what you do not ask.
question: {question}
control: {name}
variants:
  - {name}
  # Does it pay to make documents searchable less often than each second?
  - {{profile: {name}, name: refresh every 30 s, set: {{index.refresh_interval: 30s}}}}
  # Do two tasks load more than one? A task needs a partition of its own.
  - {{profile: {name}, name: two tasks, set: {{sink.tasks: 2, topic.partitions: 2}}}}
  # Are larger bulk requests better than those of 2,000 documents?
  - {{profile: {name}, name: batch.size=5000, set: {{sink.config.batch.size: 5000}}}}
  # What does it cost to store documents smaller?
  - {{profile: {name}, name: best_compression, set: {{index.codec: best_compression}}}}
minutes: 15
precision: 0.05
metrics:
  - indexing_rate_docs_per_s/primaries
  - cpu_s_per_million_docs/elasticsearch
  - indexing_latency_ms/primaries
  - store_size_bytes/primaries
"""


def name_from(path: str) -> str:
    """Name of a profile for this file: `used-books` for `Used_Books.ndjson.gz`.

    A track and a pattern are named after their folder: `geonames` for `geonames/track.json`, `logs` for `logs/*.json`.
    """
    track = track_in(path)
    named = track.file.parent if track else Path(path)
    if has_magic(named.name):
        named = named.parent
    stem = ENDINGS.sub("", named.absolute().name).lower()
    return re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:40].strip("-")


def texts_of(sample: Sample, proposal: Proposal, name: str) -> dict[Path, str]:
    """The files by their path below the working folder; raises ProfileError if the name does not serve."""
    if not NAME.fullmatch(name):
        raise ProfileError(f'--name: got "{name}", expected up to 40 of a-z, 0-9 and hyphens, such as used-books')
    profile = PROFILE.format(
        sampled=sample.text,
        why_key=key_text(sample),
        why_dynamic=WHY_NOT_DYNAMIC,
        # By the profile's name, as another file may be loaded with it.
        question=quoted(f"How fast are the documents of {name} indexed?"),
        path=quoted(str(Path(sample.path).resolve())),
        key=f"  key: {quoted(sample.key)}\n" if sample.key else "",
        name=quoted(name),
    )
    suite = SUITE.format(question=quoted(f"Which setting indexes {name} faster?"), name=quoted(name))
    experiments = Path("experiments")
    return {
        experiments / "profiles" / f"{name}.yaml": profile,
        Path("mappings") / f"{name}.json": proposal.text,
        experiments / "suites" / f"{name}.yaml": suite,
    }


def refuse_taken(paths: Iterable[Path]) -> None:
    """Raise ProfileError if a file exists below the working folder or among those of Sluice."""
    taken = [path for path in paths if is_there(file_of(path.parent, path.name, REPOSITORY))]
    if taken:
        raise ProfileError(f"{', '.join(map(str, taken))}: exists; choose another --name, or remove it")


def write_files(texts: Mapping[Path, str]) -> None:
    """Write the files below the working folder, or none of them.

    Raises:
        ProfileError: One of them cannot be written.
    """
    written: list[Path] = []
    try:
        # What a file names is there before it.
        for path in sorted(texts, key=lambda path: path.parts[0] != "mappings"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_new(path, texts[path])
            written.append(path)
    except OSError as error:
        for other in written:
            other.unlink()
        raise unwritable(f"{error.filename}: cannot be written", error) from error


def key_text(sample: Sample) -> str:
    """The key, and what it means for documents that share one."""
    if sample.has_ids:
        return "key: the id that the file gives each document; a later document of the same id replaces an earlier one."
    these = "these" if sample.total is None else f"all {sample.total:,} documents"
    if sample.key is None:
        return (
            f"key: none; no field is present and unique in {these}. The id is the document's number in the file, "
            "so a document that occurs twice is stored twice."
        )
    if sample.repeats:
        return f"key: {sample.key}. Of {these}, {sample.repeats:,} overwrite an earlier document of the same key."
    doubt = " Not read to the end: a later document with the key of an earlier one overwrites it."
    return f"key: {sample.key}, present and unique in {these}.{'' if sample.total else doubt}"


def quoted(text: str | None) -> str:
    """A text as YAML takes it in any place; plain where that is safe."""
    text = text or ""
    return text if re.fullmatch(r"[A-Za-z][\w-]*", text) and not _is_word_of_yaml(text) else json.dumps(text)


def _is_word_of_yaml(text: str) -> bool:
    return text.lower() in {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
