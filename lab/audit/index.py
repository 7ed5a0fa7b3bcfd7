"""The audited index, alias, pattern or data stream: every document of it a page at a time, and those of given ids."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import quote

from lab.audit.ids import digest, plain
from lab.audit.judge import Stored
from lab.clients.elasticsearch import (
    COMPLETE,
    KEEP_ALIVE,
    SCROLL_PAGE,
    SOURCES_PAGE,
    ElasticsearchClient,
    complete_hits,
    error_reason,
    error_type,
    in_effect,
)
from lab.errors import ProfileError, StackError
from lab.profiles.index_settings import time_s
from lab.run.verify.contents import FormlessError, SourceRules, is_same_json

IDS_AT_ONCE = 500
GETS_AT_ONCE = 5_000
LONGEST_REFRESH_S = 60.0
SHORTEST_WAIT_S = 0.02
REFRESH, WINDOW = "index.refresh_interval", "index.max_result_window"
SHOWN = ("_index", "_id", "_version", "_seq_no", "_source")
"""Parts of a document that are compared."""


class Pace:
    """At most so many documents a second, with bursts of one second; without a rate as fast as possible."""

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate, self._clock, self._sleep = rate, clock, sleep
        self._due_s = clock()

    def at_once(self, most: int) -> int:
        """Documents to ask for in one request: no more than a second's."""
        return min(most, max(1, int(self._rate))) if self._rate else most

    def take(self, documents: int) -> None:
        """Wait until so many more may be read."""
        if self._rate:
            self._due_s = max(self._due_s, self._clock() - 1.0) + documents / self._rate
            ahead_s = self._due_s - self._clock()
            if ahead_s > SHORTEST_WAIT_S:
                self._sleep(ahead_s)


class Page(NamedTuple):
    """Documents, and the place from which a later reading goes on; empty where it cannot."""

    hits: Sequence[Mapping[str, Any]]
    place: str


@dataclass(frozen=True)
class Contents:
    """Comparison of documents with their records.

    Attributes:
        rules: How the index gives its documents back.
        ignored: Fields, dotted, that are not compared, such as those that a pipeline adds.
    """

    rules: SourceRules
    ignored: Sequence[str] = ()

    def kept(self, document: Any) -> Any:
        """A document without the ignored fields, in which 1.0 and 1 are one number."""
        kept = plain(document)
        for path in self.ignored:
            *parents, name = path.split(".")
            at = kept
            for parent in parents:
                at = at.get(parent) if isinstance(at, dict) else None
            if isinstance(at, dict):
                at.pop(name, None)
        return kept

    def digest(self, document: Any) -> str | None:
        """A digest that a document has before and after it was stored; `None` where it has none."""
        try:
            return digest(form_text(self.rules.form(self.kept(document))).encode())
        except FormlessError:
            return None

    def differences(self, produced: Any, stored: Any) -> list[str]:
        """The fields that are stored otherwise than they were sent."""
        due, found = self.kept(produced), self.kept(stored)
        if self.rules.is_same(due, found):
            return []
        return sorted(different_paths(due, found)) or ["the whole"]


ABSENT = object()
"""Stands for a field that a document does not have, which is not the same as null."""


def different_paths(due: Any, found: Any, path: str = "") -> Iterator[str]:
    """Paths of the smallest parts of two JSON values that differ."""
    if isinstance(due, dict) and isinstance(found, dict):
        for name in due.keys() | found.keys():
            yield from different_paths(
                due.get(name, ABSENT), found.get(name, ABSENT), f"{path}.{name}" if path else name
            )
    elif not is_same_json(due, found):
        yield path


def form_text(form: Any) -> str:
    """A form of a document as text that is the same in every process."""
    if isinstance(form, frozenset):
        return repr(sorted(map(form_text, form)))
    return repr(tuple(map(form_text, form))) if isinstance(form, tuple) else repr(form)


class Index:
    """The target of an audit, only read: nothing is created but the point in time, or scroll, of a reading.

    Args:
        name: Of an index, an alias, a pattern or a data stream.

    Raises:
        ProfileError: The name is empty, or dots, which a URL drops: that would be every index.
    """

    def __init__(self, cluster: ElasticsearchClient, name: str, pace: Pace) -> None:
        if not name.strip(" ."):
            raise ProfileError(f'index: got "{name}", expected an index, alias, pattern or data stream')
        self.name = name
        # With it a name cannot become another path, and date math is a name.
        self._path = quote(name, safe=",*")
        self._cluster = cluster
        self._pace = pace
        self._window = SCROLL_PAGE

    @property
    def backing(self) -> dict[str, float]:
        """The indices behind the name now → the time after which what they were sent is visible to searches.

        Those of an alias or a data stream change with each rollover.

        Raises:
            ProfileError: There is none.
        """
        path = f"/{self._path}/_settings/{REFRESH},{WINDOW}?flat_settings=true&include_defaults=true"
        status, answer = self._cluster.request("GET", path, accept=(400, 404))
        if status == 404 or not answer:
            raise ProfileError(f"index {self.name}: does not exist, expected an index, alias, pattern or data stream")
        if status == 400:
            raise ProfileError(f"index {self.name}: the cluster rejects the name: {error_reason(answer)}")
        settings = {name: in_effect(described) for name, described in answer.items()}
        self._window = min(SCROLL_PAGE, *(int(each.get(WINDOW, SCROLL_PAGE)) for each in settings.values()))
        return {name: time_s(each.get(REFRESH, "1s")) for name, each in settings.items()}

    def count(self) -> int:
        """Number of its documents."""
        return self._cluster.count(self._path)

    def contents(self, ignored: Sequence[str]) -> Contents:
        """Rules by which its documents are compared."""
        return Contents(SourceRules.of_all(self._cluster.described(self._path)), tuple(ignored))

    def first_ids(self) -> list[str]:
        """Ids of some documents."""
        _, answer = self._cluster.request(
            "POST", f"/{self._path}/_search", {"size": min(300, self._window), "_source": False}
        )
        return [hit["_id"] for hit in answer["hits"]["hits"]]

    def pages(self, *, sources: bool, place: str | None = None) -> Iterator[Page]:
        """Every document, in pages.

        Args:
            sources: Return contents.
            place: Where an earlier reading broke off.

        Raises:
            StackError: A page could not be read, or the place is no longer known.
        """
        size = self._pace.at_once(min(self._window, SOURCES_PAGE if sources else SCROLL_PAGE))
        body = {"size": size, "_source": sources, "version": True, "seq_no_primary_term": True}
        pit, _, after = place.partition(" ") if place else (self._open_pit(), "", "")
        scrolled = (Page(hits, "") for hits in self._cluster.scrolled(self._path, body, SHOWN))
        for page in self._by_pit(pit, body, after) if pit else scrolled:
            self._pace.take(len(page.hits))
            yield page

    def _open_pit(self) -> str | None:
        """A new point in time; `None` where the server has none that can be read in the order of shards.

        Elasticsearch has both from 7.12 on, OpenSearch `_shard_doc` from 3.3 on; others are scrolled.
        """
        status, answer = self._cluster.request(
            "POST", f"/{self._path}/_pit?keep_alive={KEEP_ALIVE}", accept=(400, 404, 405)
        )
        return str(answer["id"]) if status == 200 else None

    def _by_pit(self, pit: str, body: Mapping[str, object], after: str) -> Iterator[Page]:
        shown = ",".join(("pit_id", *COMPLETE, *(f"hits.hits.{name}" for name in (*SHOWN, "sort"))))
        try:
            while True:
                query = {**body, "pit": {"id": pit, "keep_alive": KEEP_ALIVE}, "sort": ["_shard_doc"]}
                query |= {"track_total_hits": False} | ({"search_after": [int(after)]} if after else {})
                _, answer = self._cluster.request("POST", f"/_search?filter_path={shown}{self._vectors}", query)
                pit = answer.get("pit_id", pit)
                if not (hits := complete_hits(self.name, answer)):
                    return
                after = str(hits[-1]["sort"][0])
                yield Page(hits, f"{pit} {after}")
        finally:
            self._cluster.let_go("/_pit", {"id": pit})

    @cached_property
    def _vectors(self) -> str:
        return self._cluster.with_vectors(self._path)

    def find(self, ids: Sequence[str], *, sources: bool = False) -> dict[str, list[Mapping[str, Any]]]:
        """The documents of these ids in all indices behind the name, as they are this instant.

        A run knows the routing of its documents and has one index, of which `ElasticsearchClient.sources` is enough.
        A search finds them with any routing, as of the last refresh; a get in each index sees what is not refreshed.
        """
        found: dict[str, dict[tuple[str, str | None], Mapping[str, Any]]] = {}
        routed = (hit for hit in self._searched(ids, sources=sources) if "_routing" in hit)
        for hit in chain(routed, self._got(ids, sources=sources)):
            # Of one id an index may hold one document per shard, if their routings differ.
            found.setdefault(hit["_id"], {}).setdefault((hit["_index"], hit.get("_routing")), hit)
        return {name: list(hits.values()) for name, hits in found.items()}

    def search(self, ids: Sequence[str]) -> set[str]:
        """Ids among these that a search finds."""
        return {hit["_id"] for hit in self._searched(ids, sources=False)}

    def restrictions(self) -> Iterator[str]:
        """Sentences about what this user's roles may hide of the index; none where the cluster tells nothing of them.

        Source: `IndicesPermission.authorize` of Elasticsearch: a role without a query takes away those of the others.
        """
        names = [name for name in self.name.split(",") if not name.startswith("-")]
        asked = {"index": [{"names": names, "privileges": ["read"]}]}
        if "*" in self.name and self._told("POST", "_has_privileges", asked).get("has_all_requested") is False:
            yield (
                f"this user may not read all of {self.name}: indices that are hidden from it are left out, and their "
                "documents count as missing"
            )
        names += self.backing
        roles = [
            role
            for role in self._told("GET", "_privileges").get("indices", ())
            if any(each in {"all", "read"} or each.startswith("indices:data/read") for each in role["privileges"])
            and any(fnmatchcase(name, pattern) for name in names for pattern in role["names"])
        ]
        for key, what, effect in (("query", "documents", "missing"), ("field_security", "fields", "different")):
            if roles and all(role.get(key) for role in roles):
                yield f"this user's roles hide {what} of {self.name} (`{key}`), which count as {effect}"

    def _told(self, method: str, what: str, asked: Mapping[str, object] | None = None) -> Mapping[str, Any]:
        """Elasticsearch's answer to a user about its own privileges; empty where it has no security, or is another."""
        path = f"/_security/user/{what}"
        status, answer = self._cluster.request(method, path, asked, accept=range(400, 600), patience_s=0)
        return answer if status == 200 and isinstance(answer, dict) else {}

    def failures(self, name: str) -> list[str]:
        """Reasons for which a data stream's failure store, of 8.19 and 9.1 or later, took documents of this id.

        Raises:
            StackError: It may not be read.
        """
        query = {"query": {"term": {"document.id": name}}, "_source": ["error.type", "error.message"]}
        path = f"/{self._path}::failures/_search?ignore_unavailable=true"
        # Of what is no data stream, any user may be refused the failure store.
        is_stream = any(index.startswith(".ds-") for index in self.backing)
        status, answer = self._cluster.request(
            "POST", path, query, accept=(400, 404, 405, *(() if is_stream else (403,)))
        )
        hits = answer["hits"]["hits"] if status == 200 else []
        errors = [hit["_source"].get("error", {}) for hit in hits]
        return [f"{error.get('type')}: {error.get('message')}" for error in errors]

    def _searched(self, ids: Sequence[str], *, sources: bool) -> Iterator[Mapping[str, Any]]:
        size = self._pace.at_once(min(IDS_AT_ONCE, self._window))
        for first in range(0, len(ids), size):
            asked = ids[first : first + size]
            self._pace.take(len(asked))
            body = {"query": {"ids": {"values": asked}}, "size": self._window, "version": True, "_source": sources}
            body |= {"seq_no_primary_term": True}
            path = f"/{self._path}/_search?allow_partial_search_results=false{self._vectors}"
            hits = complete_hits(self.name, self._cluster.request("POST", path, body)[1])
            if len(hits) == self._window and len(asked) > 1:
                # Of an id there is a document in several indices, or shards: the rest may be cut off.
                half = len(asked) // 2
                hits = [*self._searched(asked[:half], sources=sources), *self._searched(asked[half:], sources=sources)]
            yield from hits

    def _got(self, ids: Sequence[str], *, sources: bool) -> Iterator[Mapping[str, Any]]:
        indices = list(self.backing)
        asked = [{"_index": index, "_id": each, "_source": sources} for each in ids for index in indices]
        size = self._pace.at_once(SOURCES_PAGE if sources else GETS_AT_ONCE)
        for first in range(0, len(asked), size):
            self._pace.take(len(asked[first : first + size]))
            path = f"/_mget?{self._vectors.lstrip('&')}"
            _, answer = self._cluster.request("POST", path, {"docs": asked[first : first + size]})
            # Where a routing is required, only the search finds documents.
            failed = [each for each in answer["docs"] if "error" in each]
            if errors := [each for each in failed if error_type(each) != "routing_missing_exception"]:
                raise StackError(f"index {self.name}: documents cannot be read: {error_reason(errors[0])}")
            yield from (each for each in answer["docs"] if each.get("found"))


def stored_of(hit: Mapping[str, Any], contents: Contents | None) -> Stored:
    """A hit as it is compared.

    Args:
        contents: Given where contents are compared.
    """
    content = contents.digest(hit["_source"]) if contents and "_source" in hit else None
    return Stored(hit["_index"], int(hit["_version"]), int(hit["_seq_no"]), content)
