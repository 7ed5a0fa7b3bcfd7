"""Client of Elasticsearch, as far as a run needs one.

Plain requests and no versioned client: one client library's release line talks to two major versions at best, and
a run must work on 7.17 to 9.x alike.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import httpx
import orjson

from lab.clients.http import HttpService, parsed
from lab.endpoints import OPEN, HttpAccess
from lab.errors import ProfileError, SluiceError, StackError
from lab.profiles.index_settings import time_s

SCROLL_PAGE = 10_000
"""Hits of one page: the default of `index.max_result_window`."""

SOURCES_PAGE = 1_000
"""The same of whole documents, of which some have 50 kB."""

GETS_AT_ONCE = 200
"""Whole documents of one request by their ids."""

LEAVES_VECTORS_OUT = "index.mapping.exclude_source_vectors"
SOURCE_SETTINGS = ("index.mode", "index.mapping.source.mode", "index.derived_source.enabled", LEAVES_VECTORS_OUT)

KEEP_ALIVE = "5m"
"""How long a reading that was broken off can go on, and what a kill has left of it stays."""

OURS = "cluster.metadata.sluice"
"""The cluster setting that lists what Sluice has set: by name, its value and the one before."""

CLOCK_STEP_S = 0.5
"""Servers read the time for such purposes from a clock that advances by 0.2 s."""

ALREADY_EXISTS = "resource_already_exists_exception"


class IndexExistsError(ProfileError):
    """An index of that name exists."""


class ElasticsearchClient:
    """A cluster by its nodes' URLs. One that does not answer is asked again: servers may be restarted meanwhile."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        access: HttpAccess = OPEN,
        patience_s: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._http = HttpService(
            "Elasticsearch", urls, access, timeout_s=60, patience_s=patience_s, sleep=sleep, clock=clock
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | bytes | None = None,
        *,
        accept: Sequence[int] = (),
        patience_s: float | None = None,
    ) -> tuple[int, Any]:
        """Status and parsed answer of one request.

        Args:
            body: An object, or bytes to be sent as they are.
            accept: Statuses beside 2xx that are answers and no errors.
            patience_s: How long to ask again; 0 for once, `None` for as long as this client does.

        Raises:
            StackError: No node answers for that long, or the answer is an error.
        """
        response = self._http.send(method, path, body, accept=accept, patience_s=patience_s)
        answer = parsed(response)
        if response.is_success or response.status_code in accept:
            return response.status_code, answer
        raise StackError(
            f"Elasticsearch: {method} {path.partition('?')[0]}: status {response.status_code}: {error_reason(answer)}"
        )

    # --- cluster ----------------------------------------------------------------------------------------------------

    def cluster_uuid(self) -> str:
        """The cluster's own id, by which monitoring data is told apart."""
        _, answer = self.request("GET", "/_cluster/state/version?filter_path=cluster_uuid")
        return str(answer["cluster_uuid"])

    def has_analyzer(self, name: str) -> bool:
        """Check that the cluster has a built-in analyzer of that name."""
        status, _ = self.request("POST", "/_analyze", {"analyzer": name, "text": "책"}, accept=(400, 404))
        return status == httpx.codes.OK

    def cluster_settings(self) -> dict[str, object]:
        """The cluster settings in force, flat, without defaults and those of the nodes' own files."""
        _, answer = self.request("GET", "/_cluster/settings?flat_settings=true")
        return {name: value for name, value in {**answer["persistent"], **answer["transient"]}.items() if name != OURS}

    def own_cluster_settings(self, settings: Mapping[str, object]) -> None:
        """Have these, and no others, be the persistent settings that Sluice has set.

        What an earlier run set, killed or not, gets the value back that it had before. The cluster itself keeps the
        list, so that it outlives every process of ours and goes together with the settings. A setting that somebody
        has changed since is theirs.

        Raises:
            ProfileError: The cluster refuses one of them.
        """
        _, answer = self.request("GET", "/_cluster/settings?flat_settings=true")
        present = answer["persistent"]
        ours: dict[str, list[object]] = orjson.loads(present.get(OURS, "{}"))
        earlier = {name: before for name, (value, before) in ours.items() if present.get(name) == value}
        wanted = {name: setting_text(value) for name, value in settings.items()}
        if not ours and not wanted:
            return
        stood = {**present, **earlier}
        now_ours = orjson.dumps({name: (value, stood.get(name)) for name, value in wanted.items()}).decode()
        changed = {**earlier, **wanted, OURS: now_ours if wanted else None}
        status, answer = self.request("PUT", "/_cluster/settings", {"persistent": changed}, accept=(400,))
        if status == httpx.codes.BAD_REQUEST:
            raise ProfileError(f"elasticsearch.cluster_settings: Elasticsearch rejects them: {error_reason(answer)}")

    # --- index ------------------------------------------------------------------------------------------------------

    def index_owner(self, index: str) -> str | None:
        """The run that made the index, `""` if it was not made by a run, `None` if it does not exist."""
        status, answer = self.request("GET", f"/{index}/_mapping", accept=(404,))
        if status == httpx.codes.NOT_FOUND:
            return None
        if index not in answer:
            # An alias, of one index or several: those are somebody else's.
            return ""
        return str(answer[index]["mappings"].get("_meta", {}).get("sluice", {}).get("run", ""))

    def index_made_s(self, index: str) -> float | None:
        """When an index was made, by the cluster's clock; `None` if it does not exist."""
        status, answer = self.request("GET", f"/{index}/_settings?flat_settings=true", accept=(404,))
        if status == httpx.codes.NOT_FOUND or index not in answer:
            return None
        return int(answer[index]["settings"]["index.creation_date"]) / 1000

    def create_index(self, index: str, body: Mapping[str, object]) -> None:
        """Create an index with its settings and mapping.

        Raises:
            IndexExistsError: There is one of that name.
            ProfileError: Elasticsearch refuses the settings or the mapping.
        """
        status, answer = self.request("PUT", f"/{index}", body, accept=(400,))
        if status == httpx.codes.BAD_REQUEST:
            kind = IndexExistsError if error_type(answer) == ALREADY_EXISTS else ProfileError
            reason = error_reason(answer)
            raise kind(f"index {index}: Elasticsearch rejects its settings or mapping: {reason}{module_hint(reason)}")

    def delete_index(self, index: str) -> None:
        """Delete an index, which need not exist."""
        self.request("DELETE", f"/{index}?ignore_unavailable=true", accept=(404,))

    def index_settings(self, index: str) -> dict[str, object]:
        """The settings of the index as they are in effect, flat, without the defaults; of several, the first's."""
        _, answer = self.request("GET", f"/{index}/_settings?flat_settings=true")
        described = answer[min(answer)]
        return dict(described["settings"])

    def described(self, index: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Settings that say how `_source` is kept, flat and with the defaults, and mapping of each index of a name."""
        path = f"/{index}/_settings/{','.join(SOURCE_SETTINGS)}?flat_settings=true&include_defaults=true"
        settings, mappings = self.request("GET", path)[1], self.request("GET", f"/{index}/_mapping")[1]
        return [(in_effect(settings.get(name, {})), dict(of["mappings"])) for name, of in sorted(mappings.items())]

    def vector_options(self, index: str) -> dict[str, dict[str, object]]:
        """Field of vectors → its index options as they are in effect; those that the mapping leaves out, too.

        Of several indices, those of the first.
        """
        _, answer = self.request("GET", f"/{index}/_mapping")
        described = answer[min(answer)]
        fields = described["mappings"].get("properties", {})
        return {
            name: dict(field["index_options"])
            for name, field in fields.items()
            if field.get("type") == "dense_vector" and "index_options" in field
        }

    def index_health(self, index: str, wait_for: str, timeout_s: int) -> tuple[str, int]:
        """Colour of the index after waiting for it to become `wait_for`, and its unassigned shards."""
        _, answer = self.request(
            "GET", f"/_cluster/health/{index}?wait_for_status={wait_for}&timeout={timeout_s}s", accept=(408,)
        )
        return str(answer["status"]), int(answer["unassigned_shards"])

    def deciders_against(self, index: str) -> set[str]:
        """Decider that keeps the first primary shard of an index from every node, such as `disk_threshold`.

        Empty if nothing does, and where the user may not ask.
        """
        first = {"index": index, "shard": 0, "primary": True}
        _, answer = self.request("POST", "/_cluster/allocation/explain", first, accept=(400, 403, 404))
        nodes = answer.get("node_allocation_decisions", ())
        against = [{each["decider"] for each in node.get("deciders", ()) if each["decision"] == "NO"} for node in nodes]
        return set.intersection(*against) if against else set()

    def refresh(self, index: str) -> None:
        """Make everything that was indexed visible to searches."""
        self.request("POST", f"/{index}/_refresh")

    def merges_current(self, index: str) -> int:
        """Merges under way."""
        _, answer = self.request("GET", f"/{index}/_stats/merge?filter_path=_all.total.merges.current")
        return int(answer["_all"]["total"]["merges"]["current"])

    def store_size_bytes(self, index: str, unchanged_since_s: float) -> dict[str, int]:
        """Bytes on disk of the `primaries` and of all shards, `total`: what `_cat/indices` says when it looks anew.

        Elasticsearch looks at the files only `index.store.stats_refresh_interval` after it last did, whoever asked it.

        Args:
            unchanged_since_s: When the index was last written to or merged, by this client's clock.
        """
        name = "index.store.stats_refresh_interval"
        _, indices = self.request("GET", f"/{index}/_settings/{name}?flat_settings=true&include_defaults=true")
        kept_s = max(time_s(in_effect(described)[name]) for described in indices.values())
        self._sleep(max(0.0, unchanged_since_s + kept_s + CLOCK_STEP_S - self._clock()) if kept_s > 0 else 0.0)
        _, answer = self.request("GET", f"/{index}/_stats/store?filter_path=_all.*.store.size_in_bytes")
        return {scope: int(stats["store"]["size_in_bytes"]) for scope, stats in answer["_all"].items()}

    def marks(self, pattern: str) -> dict[str, Mapping[str, Any]]:
        """Notes of runs in the mappings (`_meta`) of the indices of a pattern, open or closed, by index.

        Indices that no run made are left out.
        """
        path = f"/{pattern}?expand_wildcards=open,closed&filter_path=*.mappings._meta.sluice"
        _, answer = self.request("GET", path)
        return {name: index["mappings"]["_meta"]["sluice"] for name, index in (answer or {}).items()}

    def mark(self, index: str, mark: Mapping[str, object]) -> None:
        """Write down in the mapping of an index what a run says of it."""
        _, answer = self.request("GET", f"/{index}/_mapping")
        meta = {**answer[index]["mappings"].get("_meta", {}), "sluice": mark}
        self.request("PUT", f"/{index}/_mapping", {"_meta": meta})

    def put_settings(self, index: str, settings: Mapping[str, object]) -> None:
        """Change settings of an index; `None` is the default.

        Raises:
            ProfileError: Elasticsearch rejects them.
        """
        status, answer = self.request("PUT", f"/{index}/_settings", settings, accept=(400,))
        if status == httpx.codes.BAD_REQUEST:
            raise ProfileError(f"index {index}: Elasticsearch rejects its settings: {error_reason(answer)}")

    def put_mapping(self, index: str, mapping: Mapping[str, object]) -> None:
        """Add to the mapping of an index that has documents; what the request does not name stays.

        Raises:
            ProfileError: Elasticsearch refuses the change, as that of a field's type.
        """
        status, answer = self.request("PUT", f"/{index}/_mapping", mapping, accept=(400,))
        if status == httpx.codes.BAD_REQUEST:
            raise ProfileError(
                f"index {index}: Elasticsearch refuses this change of a mapping in use: {error_reason(answer)}; run "
                "the profile again to load a new index"
            )

    def close_index(self, index: str) -> None:
        """Close an index: it stays on disk, and its shards take neither heap nor threads."""
        self.request("POST", f"/{index}/_close")

    def open_index(self, index: str) -> None:
        """Open an index; its shards need not be started yet."""
        self.request("POST", f"/{index}/_open?wait_for_active_shards=0")

    def clear_caches(self, index: str) -> None:
        """Empty the request cache, the query cache and field data of an index."""
        self.request("POST", f"/{index}/_cache/clear")

    def force_merge(self, index: str, segments: int, timeout_s: float) -> None:
        """Merge each shard to at most so many segments.

        The answer comes when it is done. Asked again after an answer that took too long, Elasticsearch finishes the
        first request before it answers.
        """
        self.request("POST", f"/{index}/_forcemerge?max_num_segments={segments}", patience_s=timeout_s)

    def operations(self, index: str) -> int:
        """Writes that its primary shards have seen: equal at two instants when nothing was written between them."""
        shown = "filter_path=indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no.max_seq_no"
        _, answer = self.request("GET", f"/{index}/_stats?level=shards&{shown}")
        copies = [copy for shard in answer["indices"][index]["shards"].values() for copy in shard]
        return sum(copy["seq_no"]["max_seq_no"] + 1 for copy in copies if copy["routing"]["primary"])

    def segments(self, index: str) -> dict[tuple[str, str, str], str]:
        """The segments of all copies of all shards that a search sees: shard, node and name → codec of the fields.

        The codec is that of the stored fields, as Lucene tells it: `Lucene90StoredFieldsFormat.mode: BEST_SPEED`.
        """
        _, answer = self.request("GET", f"/{index}/_segments")
        return {
            (shard, copy["routing"]["node"], name): stored_fields_codec(segment.get("attributes", {}))
            for shard, copies in answer["indices"][index]["shards"].items()
            for copy in copies
            for name, segment in copy["segments"].items()
            if segment["search"]
        }

    def count(self, index: str) -> int:
        """Documents that a search sees; nested objects are not counted."""
        _, answer = self.request("GET", f"/{index}/_count")
        return int(answer["count"])

    def ids(self, index: str) -> Iterator[list[str]]:
        """The id of every document in the index, a page at a time, in no order.

        Raises:
            StackError: A page could not be read; see `scrolled`.
        """
        for hits in self.scrolled(index, {"size": SCROLL_PAGE, "_source": False}, ("_id",)):
            yield [hit["_id"] for hit in hits]

    def contents(self, index: str) -> Iterator[list[object]]:
        """Every document in the index, parsed, a page at a time, in no order.

        Raises:
            StackError: A page could not be read; see `scrolled`.
        """
        for hits in self.scrolled(index, {"size": SOURCES_PAGE}, ("_source",)):
            yield [hit["_source"] for hit in hits]

    def scrolled(
        self, index: str, query: Mapping[str, Any], shown: Sequence[str]
    ) -> Iterator[Sequence[Mapping[str, Any]]]:
        """Every document in the index, a page at a time, in no order.

        Args:
            query: The size of a page, less where the index allows no such size, and what of the documents to return.
            shown: What of each hit is of use.

        Raises:
            StackError: A page could not be read. It is not asked for again, since the cluster may have moved on to the
                next one when only its answer was lost: the reader has to begin anew.
        """
        path = ",".join(("_scroll_id", *COMPLETE, *(f"hits.hits.{name}" for name in shown)))
        body = {**query, "size": min(int(query["size"]), self._largest_page(index)), "sort": ["_doc"]}
        vectors = self.with_vectors(index) if "_source" in shown else ""
        first = f"/{index}/_search?scroll={KEEP_ALIVE}&filter_path={path}{vectors}"
        _, answer = self.request("POST", first, body)
        try:
            while hits := complete_hits(index, answer):
                yield hits
                following = {"scroll": KEEP_ALIVE, "scroll_id": answer["_scroll_id"]}
                _, answer = self.request("POST", f"/_search/scroll?filter_path={path}", following, patience_s=0)
        finally:
            self.let_go("/_search/scroll", {"scroll_id": [answer["_scroll_id"]]})

    def let_go(self, path: str, reading: Mapping[str, object]) -> None:
        """End a reading in the cluster, also after Ctrl-C; one that stays ends by itself."""
        with suppress(SluiceError):
            self.request("DELETE", path, reading, accept=(404,), patience_s=0)

    def _largest_page(self, index: str) -> int:
        """Hits that each of the indices behind a name allows in one page."""
        name = "index.max_result_window"
        _, indices = self.request("GET", f"/{index}/_settings/{name}?flat_settings=true")
        return min((int(each["settings"].get(name, SCROLL_PAGE)) for each in indices.values()), default=SCROLL_PAGE)

    def with_vectors(self, index: str) -> str:
        """The parameter that asks for `_source` with its vectors, which 9.2 and later leave out; others refuse it."""
        path = f"/{index}/_settings/{LEAVES_VECTORS_OUT}?flat_settings=true&include_defaults=true"
        settings = map(in_effect, self.request("GET", path)[1].values())
        leaves_out = any(each.get(LEAVES_VECTORS_OUT) == "true" for each in settings)
        return "&_source_exclude_vectors=false" if leaves_out else ""

    def id_in_shard(self, index: str, shard: int) -> str | None:
        """The id of some document of a shard; `None` if it holds none."""
        path = f"/{index}/_search?preference=_shards:{shard}&filter_path=hits.hits._id"
        _, answer = self.request("POST", path, {"size": 1, "_source": False})
        hits = answer.get("hits", {}).get("hits", [])
        return str(hits[0]["_id"]) if hits else None

    def bulk(self, index: str, operations: bytes) -> None:
        """Send operations that may be sent twice; raises StackError if one of them was refused."""
        shown = "filter_path=errors,items.*.error.type"
        _, answer = self.request("POST", f"/{index}/_bulk?{shown}", operations)
        if answer["errors"]:
            kinds = sorted({item["error"]["type"] for each in answer["items"] for item in each.values()})
            raise StackError(f"index {index}: Elasticsearch rejects documents: {', '.join(kinds)}")

    def sources(self, index: str, ids: Sequence[str], routings: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The stored documents of these ids, parsed, by id; those that are not there are left out.

        Args:
            routings: By id; a document that is stored with another one is not there.
        """
        by, found = routings or {}, dict[str, Any]()
        vectors = self.with_vectors(index) if ids else ""
        path = f"/{index}/_mget?filter_path=docs._id,docs._routing,docs._source,docs.found{vectors}"
        for first in range(0, len(ids), GETS_AT_ONCE):
            some = ids[first : first + GETS_AT_ONCE]
            docs = [{"_id": each} | ({"routing": by[each]} if each in by else {}) for each in some]
            _, answer = self.request("POST", path, {"docs": docs} if by else {"ids": some})
            found |= {
                document["_id"]: document["_source"]
                for document in answer["docs"]
                if document.get("found")
                and document.get("_routing") == by.get(document["_id"], document.get("_routing"))
            }
        return found


COMPLETE = ("timed_out", "_shards.failed")
"""Parts of a search's answer that say whether it is whole."""


def complete_hits(index: str, answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The hits of a search's answer; raises StackError if not all shards have answered, or not in time."""
    if answer.get("timed_out"):
        raise StackError(f"index {index}: a search was cut off by the cluster's `search.default_search_timeout`")
    if failed := answer["_shards"]["failed"]:
        raise StackError(f"index {index}: {failed} shards could not be read")
    hits: Sequence[Mapping[str, Any]] = answer.get("hits", {}).get("hits", ())
    return hits


def setting_text(value: object) -> object:
    """A setting's value as Elasticsearch gives it back: text, or a list of texts."""
    if isinstance(value, list):
        return list(map(setting_text, value))
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def in_effect(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an index or a cluster, by an answer with `include_defaults`; a kind wins over those before it."""
    kinds = ("defaults", "settings", "persistent", "transient")
    return {name: value for kind in kinds for name, value in answer.get(kind, {}).items()}


def stored_fields_codec(attributes: Mapping[str, str]) -> str:
    """Mode of a segment's stored fields, from Lucene's attributes; `unknown` where none has it."""
    return next((f"{name}: {mode}" for name, mode in attributes.items() if "StoredFields" in name), "unknown")


def error_type(answer: object) -> str:
    """The type of an error answer, as Elasticsearch names it; empty where it names none."""
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("type", "")) if isinstance(error, dict) else ""


EXTRAS = ("match_only_text", "rank_feature", "rank_features", "scaled_float", "search_as_you_type", "token_count")
MODULES = {**dict.fromkeys(EXTRAS, "mapper-extras"), "join": "parent-join", "percolator": "percolator"}
"""Field type → the module that has it, as `MapperExtrasPlugin` and the others of Elasticsearch's `modules` say."""
UNKNOWN_TYPE = re.compile(
    r"(?:mapper type|[Hh]andler for type) \[(?P<field>\w+)\]|Unknown \w+ type \[\w+\]|"
    r"analyzer \[\w+\] has not been configured"
)
"""Words of `MapperParser` and `AnalysisRegistry` for a field type, or a part of an analyzer, that no module adds."""


def module_hint(reason: str) -> str:
    """The end of a refusal that names the module which the small local distribution lacks; empty for other reasons."""
    unknown = UNKNOWN_TYPE.search(reason)
    if unknown is None:
        return ""
    field = unknown["field"]
    module = MODULES.get(field) if field else "analysis-common"
    if module is None:
        return ""
    return (
        f"; the small local distribution lacks the module `{module}`: start the servers with `--distribution "
        "official` (docs/engines.md)"
    )


def error_reason(answer: object) -> str:
    """The reason in an error answer, in Elasticsearch's words."""
    if isinstance(answer, dict):
        error = answer.get("error", answer)
        if isinstance(error, dict):
            reason = str(error.get("reason", error))
            cause = error.get("caused_by")
            why = str(cause["reason"]) if isinstance(cause, dict) and cause.get("reason") else ""
            return f"{reason} ({why})" if why not in reason else reason
        return str(error)
    return str(answer)[:300]
