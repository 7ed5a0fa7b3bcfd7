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

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from producers.dataset import DatasetError

NAMES: Final = ("track.json", "workload.json")
PACKED: Final = re.compile(r"\.(zip|bz2|gz|zst|tar|tgz|tar\.gz|tar\.bz2)$")
CORPORA: Final = re.compile(r'"corpora"\s*:\s*(?=\[)')
HELPERS: Final = """\
{% macro collect(parts) %}{{ rendered(parts) }}{% endmacro %}
{% macro exists_set_param() %}{% if varargs or kwargs %}{% endif %}{% endmacro %}
"""
"""Macros that tracks import; settings that need parameters stand outside of corpora, and are left out."""


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
    try:
        text = _rendered(track.parent, track.name)
    except (jinja2.TemplateError, OSError, TypeError, ValueError) as error:
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


def _rendered(folder: Path, name: str) -> str:
    """A template of a track as text; what it does not know is `null`."""
    helpers = jinja2.DictLoader({f"{program}.helpers": HELPERS for program in ("rally", "benchmark")})
    loader = jinja2.ChoiceLoader([helpers, jinja2.FileSystemLoader(folder)])
    environment = SandboxedEnvironment(loader=loader, undefined=_Unknown, autoescape=False)
    environment.filters = _Filters(environment.filters)

    def rendered(parts: str | list[str]) -> str:
        patterns = [parts] if isinstance(parts, str) else parts
        names = [str(file.relative_to(folder)) for each in patterns for file in sorted(folder.glob(each))]
        return ",\n".join(environment.get_template(name).render() for name in names)

    environment.globals["rendered"] = rendered
    return environment.get_template(name).render()


class _Filters(dict[str, Any]):
    """Filters of Jinja2; one that it does not have leaves its value as it is."""

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return lambda value=None, *_, **__: value

    def get(self, name: str, _: Any = None) -> Any:
        return self[name]


class _Unknown(jinja2.ChainableUndefined):
    """A parameter or helper that only Rally has."""

    def __str__(self) -> str:
        return "null"

    def _itself(self, *_: object, **__: object) -> "_Unknown":
        return self

    __call__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _itself  # type: ignore[assignment]
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __pos__ = _itself  # type: ignore[assignment]

    def _no(self, _: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _no  # type: ignore[assignment]

    def __int__(self) -> int:  # type: ignore[override]
        return 0

    def __float__(self) -> float:  # type: ignore[override]
        return 0.0
