"""The corpora of a track of Rally, or of a workload of OpenSearch Benchmark: which files they are, and where they lie.

Source: `TrackSpecificationReader._create_corpora`, `data_dir` and `Downloader.download` of Rally's `track/loader.py`:
files lie in the folder of the track, else in `local.dataset.cache`, in a folder with the name of the corpus.
"""

import configparser
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from producers.dataset import DatasetError

NAMES: Final = ("track.json", "workload.json")
PACKED: Final = re.compile(r"\.(zip|bz2|gz|zst|tar|tgz|tar\.gz|tar\.bz2)$")
CORPORA: Final = re.compile(r'"corpora"\s*:\s*(?=\[)')


class Track(NamedTuple):
    """The description of a track or workload.

    Attributes:
        corpus: The one that is meant; `None` for the only one.
    """

    file: Path
    corpus: str | None


class CorpusFile(NamedTuple):
    """A file of a corpus.

    Attributes:
        documents: How many it must hold.
    """

    path: str
    documents: int


def track_in(path: str) -> Track | None:
    """The track or workload that a path stands for, such as `http_logs/track.json#http_logs`; `None` for other paths.

    The path is that of its description or of its folder; after `#` stands the name of one of several corpora.
    """
    whole, _, named = path.rpartition("#")
    for base, corpus in ((path, None), (whole, named)):
        candidates = [Path(base)] if Path(base).name in NAMES else [Path(base, name) for name in NAMES if base]
        if found := next((each for each in candidates if each.is_file()), None):
            return Track(found, corpus)
    return None


def corpus_files(track: Track) -> list[CorpusFile]:
    """The files of a track's corpus, in its order.

    Raises:
        DatasetError: The track cannot be rendered, names no such corpus or several, or a file is not there.
    """
    corpora = {str(corpus.get("name")): corpus for corpus in _corpora(track.file)}
    if track.corpus is None and len(corpora) > 1:
        raise DatasetError(f"{track.file}: has corpora {', '.join(corpora)}; name one of them: {track.file}#NAME")
    name = track.corpus or next(iter(corpora))
    if name not in corpora:
        raise DatasetError(f"{track.file}: got corpus {name}, expected {' or '.join(corpora)}")
    return [_corpus_file(track.file, corpora[name], documents) for documents in corpora[name].get("documents", [])]


def _corpus_file(track: Path, corpus: dict[str, Any], documents: dict[str, Any]) -> CorpusFile:
    name, count = documents.get("source-file"), documents.get("document-count")
    if not isinstance(name, str) or not isinstance(count, int):
        raise DatasetError(f"{track}: corpora: documents: expected source-file and document-count")
    return CorpusFile(_found(track, corpus, name, documents.get("base-url", corpus.get("base-url"))), count)


def _found(track: Path, corpus: dict[str, Any], name: str, base_url: str | None) -> str:
    folders = [track.parent, *(cache / str(corpus.get("name")) for cache in _caches())]
    for folder in folders:
        for file in (PACKED.sub("", name), name):
            if (folder / file).is_file():
                return str(folder / file)
    fetch = f"fetch {base_url.rstrip('/')}/{name}" if base_url else "the track says nothing of where it is"
    raise DatasetError(f"{track}: {name}: is in none of {', '.join(map(str, folders))}; {fetch}")


def _caches() -> Iterator[Path]:
    """Folders in which Rally and OpenSearch Benchmark keep corpora."""
    home = Path(os.environ.get("RALLY_HOME", Path.home())) / ".rally"
    settings = configparser.RawConfigParser()
    settings.read(home / "rally.ini")
    yield Path(settings.get("benchmarks", "local.dataset.cache", fallback=str(home / "benchmarks" / "data")))
    yield Path(os.environ.get("BENCHMARK_HOME", Path.home())) / ".benchmark" / "benchmarks" / "data"


def _corpora(track: Path) -> list[dict[str, Any]]:
    """The section `corpora`, which alone has to be JSON."""
    # To import Jinja2 takes a tenth of a second, which all other files are spared.
    from producers.datasets.source.track_template import rendered  # noqa: PLC0415

    try:
        text = rendered(track.parent, track.name)
    except (OSError, TypeError, ValueError) as error:
        raise DatasetError(f"{track}: cannot be rendered: {error}; write its corpora without helpers") from error
    if not (begin := CORPORA.search(text)):
        raise DatasetError(f"{track}: names no corpora; expected a list of them with their documents")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, begin.end())
    except ValueError as error:
        raise DatasetError(f"{track}: corpora: is not JSON once it is rendered: {error}") from error
    if not found or not all(isinstance(each, dict) for each in found):
        raise DatasetError(f"{track}: corpora: expected a list of objects")
    return list(found)
