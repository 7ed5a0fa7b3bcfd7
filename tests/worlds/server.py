"""A server that answers as Elasticsearch does, at the pace that it is told."""

import asyncio
import fnmatch
import re
import secrets
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson

from lab.prove.http import Request, Response
from tests.worlds.answers import PRODUCT, answer, bulk_answer, failure, no_such_index
from tests.worlds.figures import NODE_ID, Node, cluster_health, index_stats, node_info, node_stats
from tests.worlds.indices import Index, Outcome
from tests.worlds.pace import Capacity, Pace, Rule, Workers, pace_of
from tests.worlds.settings import flat, nested, settings_of

ANALYZERS = {"standard", "simple", "whitespace", "keyword", "english", "cjk"}
CPU_EVERY_S = 0.05
LEAST_DEBT_S = 0.02
TEXT = {"content-type": "text/plain; charset=UTF-8", "x-elastic-product": "Elasticsearch"}


class NoSuchIndexError(Exception):
    """An index that a request names does not exist."""


class Server:
    """One node with its indices.

    Attributes:
        ever: All indices, the deleted ones, too, in the order in which they were made.
        unknown: Requests that have no answer here, and how often they came.
        told_cpu_s: CPU that all documents have cost, as of the last tick.
        used_cpu_s: CPU that this process had used at each tick, with the instant.
        cpu_before_s: CPU that this process has used for anything but documents.
        burns: Whether this process is to use that CPU; until it has, merges are under way, for which the lab waits.
    """

    def __init__(self, pace: Pace, rules: Sequence[Rule], node: Node, *, seed: int = 1) -> None:
        self.pace = pace
        self.rules = rules
        self.node = node
        self.seed = seed
        self.indices: dict[str, Index] = {}
        self.ever: list[Index] = []
        self.unknown: dict[str, int] = {}
        self.cluster_uuid = secrets.token_urlsafe(16)
        self.cluster_settings: dict[str, dict[str, Any]] = {"persistent": {}, "transient": {}}
        self._workers = Workers()
        self._scrolls: dict[str, tuple[Index, Iterator[str], Mapping[str, Any]]] = {}
        self.told_cpu_s = 0.0
        self.burns = False
        self.cpu_before_s = time.process_time()
        self.used_cpu_s: list[tuple[float, float]] = []
        self._cpu_s: list[tuple[float, float]] = []
        self._routes = [(method, re.compile(pattern), getattr(self, name)) for method, pattern, name in ROUTES]

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        try:
            for method, pattern, handler in self._routes:
                if request.method in method.split("|") and (match := pattern.fullmatch(request.path)):
                    found: Response | Awaitable[Response] = handler(request, *match.groups())
                    return await found if isinstance(found, Awaitable) else found
        except NoSuchIndexError as error:
            return no_such_index(str(error))
        key = f"{request.method} {request.path}"
        self.unknown[key] = self.unknown.get(key, 0) + 1
        what = f"no handler found for uri [{request.target}] and method [{request.method}]"
        return Response(orjson.dumps({"error": what}), 400, PRODUCT)

    # --- time and CPU -----------------------------------------------------------------------------------------------

    @staticmethod
    def now_s() -> float:
        """The event loop's clock."""
        return asyncio.get_running_loop().time()

    def cpu_s(self) -> float:
        """CPU that all documents have cost by now."""
        now_s = self.now_s()
        return sum(index.served(now_s) * index.capacity.pace.cpu_us for index in self.ever) / 1e6

    @property
    def debt_s(self) -> float:
        """CPU that documents have cost, and that this process has not used yet."""
        return self.told_cpu_s - (time.process_time() - self.cpu_before_s) if self.burns else 0.0

    def settle(self) -> None:
        """Bring indices and CPU up to now."""
        now_s = self.now_s()
        self.told_cpu_s = self.cpu_s()
        if not any(sum(index.active(now_s)) for index in self.indices.values()):
            # What is used between loads, as for reading ids back, pays for no document.
            self.cpu_before_s -= min(0.0, self.debt_s)
        for index in self.indices.values():
            index.settle(now_s)
            index.owes = self.debt_s > LEAST_DEBT_S and index.ended_s > 0

    async def tick(self) -> None:
        """Refresh indices when it is time, and note CPU, for ever."""
        while True:
            self.settle()
            now_s = self.now_s()
            self.used_cpu_s.append((now_s, time.process_time()))
            self._cpu_s = [*(each for each in self._cpu_s if each[0] > now_s - 1), (now_s, self.told_cpu_s)]
            await asyncio.sleep(CPU_EVERY_S)

    # --- names ------------------------------------------------------------------------------------------------------

    def named(self, expression: str, parameters: Mapping[str, str] | None = None) -> list[Index]:
        """The indices of an expression with commas and asterisks.

        Raises:
            NoSuchIndexError: One that it names does not exist.
        """
        found: dict[str, Index] = {}
        for name in expression.split(","):
            pattern = "*" if name == "_all" else name
            if "*" in pattern:
                found |= {each: index for each, index in self.indices.items() if fnmatch.fnmatchcase(each, pattern)}
            elif name in self.indices:
                found[name] = self.indices[name]
            elif (parameters or {}).get("ignore_unavailable") != "true":
                raise NoSuchIndexError(name)
        return list(found.values())

    def make(self, name: str, body: Mapping[str, Any]) -> Index:
        """Make an index."""
        settings = flat(body.get("settings", {}))
        now_s = self.now_s()
        whole = {
            "index.number_of_shards": "1",
            "index.number_of_replicas": "1",
            **settings,
            "index.creation_date": str(int(1000 * time.time())),
            "index.provided_name": name,
            "index.routing.allocation.include._tier_preference": "data_content",
            "index.uuid": secrets.token_urlsafe(16),
            "index.version.created": "8537000",
        }
        capacity = Capacity(pace_of(self.pace, self.rules, name, whole), f"{self.seed}/{len(self.ever)}")
        index = Index(name, whole["index.uuid"], whole, dict(body.get("mappings", {})), capacity, now_s)
        self.indices[name] = index
        self.ever.append(index)
        return index

    # --- cluster ----------------------------------------------------------------------------------------------------

    def root(self, request: Request) -> Response:
        """Who it is."""
        version = {
            "number": self.node.version,
            "build_flavor": "default",
            "build_type": "tar",
            "build_hash": "played",
            "build_date": "2026-01-01T00:00:00.000Z",
            "build_snapshot": False,
            "lucene_version": "9.12.2",
            "minimum_wire_compatibility_version": "7.17.0",
            "minimum_index_compatibility_version": "7.0.0",
        }
        content = {
            "name": self.node.name,
            "cluster_name": "sluice",
            "cluster_uuid": self.cluster_uuid,
            "version": version,
            "tagline": "You Know, for Search",
        }
        return answer(content, request.parameters)

    def health(self, request: Request, _all: str, expression: str | None) -> Response:
        """Its colour, which no waiting changes."""
        indices = self.named(expression or "*")
        wanted = request.parameters.get("wait_for_status")
        described = cluster_health(indices, timed_out=False)
        if wanted == "green" and described["status"] == "yellow":
            return answer({**described, "timed_out": True}, request.parameters, 408)
        return answer(described, request.parameters)

    def state(self, request: Request) -> Response:
        """The id of the cluster, and no more of its state."""
        return answer({"cluster_name": "sluice", "cluster_uuid": self.cluster_uuid, "version": 1}, request.parameters)

    def settings_of_cluster(self, request: Request) -> Response:
        """Settings of the cluster, which do nothing here."""
        if request.method == "PUT":
            for kind, changed in orjson.loads(request.body).items():
                kept = {**self.cluster_settings.get(kind, {}), **flat(changed, prefix="", keep_none=True)}
                self.cluster_settings[kind] = {name: value for name, value in kept.items() if value is not None}
            return answer({"acknowledged": True, **self.cluster_settings}, request.parameters)
        return answer(self.cluster_settings, request.parameters)

    def nodes(self, request: Request, _what: str | None) -> Response:
        """The one node."""
        return answer(self._of_node(node_info(self.node)), request.parameters)

    def nodes_stats(self, request: Request, _what: str | None, _of_indices: str | None) -> Response:
        """What the node counts."""
        before = self._cpu_s[0][1] if self._cpu_s else 0.0
        since_s = self.now_s() - self._cpu_s[0][0] if self._cpu_s else 1.0
        cpu_s = self.cpu_s()
        recent = (cpu_s - before) / since_s if since_s else 0.0
        stats = node_stats(self.node, self.ever, list(self.indices.values()), self.now_s(), (cpu_s, recent))
        return answer(self._of_node(stats), request.parameters)

    @staticmethod
    def _of_node(described: Mapping[str, Any]) -> dict[str, Any]:
        count = {"total": 1, "successful": 1, "failed": 0}
        return {"_nodes": count, "cluster_name": "sluice", "nodes": {NODE_ID: described}}

    def no_repositories(self, request: Request) -> Response:
        """The snapshot repositories, of which there are none."""
        return answer({}, request.parameters)

    def analyze(self, request: Request) -> Response:
        """Whether an analyzer is there: of none it has the words."""
        given = orjson.loads(request.body)
        if given.get("analyzer") not in ANALYZERS:
            reason = f"failed to find global analyzer [{given.get('analyzer')}]"
            return failure(400, "illegal_argument_exception", reason)
        token = {"token": given["text"], "start_offset": 0, "end_offset": 1, "type": "<HANGUL>", "position": 0}
        return answer({"tokens": [token]}, request.parameters)

    def resolve(self, request: Request, name: str) -> Response:
        """What a name stands for."""
        indices = [{"name": index.name, "attributes": ["open"]} for index in self.named(name)]
        return answer({"indices": indices, "aliases": [], "data_streams": []}, request.parameters)

    def cat_indices(self, _request: Request, _expression: str | None) -> Response:
        """The indices as a table."""
        lines = [f"green open {index.name} {index.uuid} {len(index.documents)}" for index in self.indices.values()]
        return Response("".join(f"{line}\n" for line in lines).encode(), 200, TEXT)

    # --- indices ----------------------------------------------------------------------------------------------------

    def create(self, request: Request, name: str) -> Response:
        """Make an index; `Server.make` without the checks of settings and mapping that Elasticsearch has."""
        if there := self.indices.get(name):
            of_index = {"index_uuid": there.uuid, "index": name}
            reason = f"index [{name}/{there.uuid}] already exists"
            return failure(400, "resource_already_exists_exception", reason, of_index)
        self.make(name, orjson.loads(request.body or b"{}"))
        return answer({"acknowledged": True, "shards_acknowledged": True, "index": name}, request.parameters)

    def delete(self, request: Request, expression: str) -> Response:
        """Delete indices; what they did is still known."""
        for index in self.named(expression, request.parameters):
            index.settle(self.now_s())
            del self.indices[index.name]
            index.close()
            index.documents = {}
        return answer({"acknowledged": True}, request.parameters)

    def exists(self, _request: Request, expression: str) -> Response:
        """Whether indices exist."""
        self.named(expression)
        return Response(b"", 200, PRODUCT)

    def described(self, request: Request, expression: str) -> Response:
        """Aliases, mappings and settings of indices."""
        indices = self.named(expression)
        content = {
            index.name: {"aliases": {}, "mappings": index.mappings, "settings": nested(index.settings)}
            for index in indices
        }
        return answer(content, request.parameters)

    def mapping(self, request: Request, expression: str) -> Response:
        """The mappings of indices, or a change of them."""
        indices = self.named(expression)
        if request.method == "GET":
            return answer({index.name: {"mappings": index.mappings} for index in indices}, request.parameters)
        for index in indices:
            index.mappings |= orjson.loads(request.body)
        return answer({"acknowledged": True}, request.parameters)

    def settings(self, request: Request, expression: str, names: str | None) -> Response:
        """The settings of indices, or a change of them."""
        indices = self.named(expression)
        if request.method == "PUT":
            changed = flat(orjson.loads(request.body), keep_none=True)
            for index in indices:
                kept = {**index.settings, **changed}
                index.settings = {name: value for name, value in kept.items() if value is not None}
            return answer({"acknowledged": True}, request.parameters)
        content = {index.name: settings_of(index, names or "*", request.parameters) for index in indices}
        return answer(content, request.parameters)

    def stats(self, request: Request, expression: str, _what: str | None) -> Response:
        """What indices count."""
        self.settle()
        indices = self.named(expression)
        return answer(index_stats(indices, self.now_s(), request.parameters.get("level", "")), request.parameters)

    def segments(self, request: Request, expression: str) -> Response:
        """One segment for each shard."""
        segment = {"search": True, "attributes": {"Lucene90StoredFieldsFormat.mode": "BEST_SPEED"}}
        copy = {"routing": {"state": "STARTED", "primary": True, "node": NODE_ID}, "segments": {"_0": segment}}
        content = {
            index.name: {"shards": {str(number): [copy] for number in range(index.shards)}}
            for index in self.named(expression)
        }
        return answer({"_shards": self._shards(self.named(expression)), "indices": content}, request.parameters)

    def refresh(self, request: Request, expression: str, what: str) -> Response:
        """Refresh; flushes, merges and caches have nothing to do here."""
        indices = self.named(expression)
        for index in indices if what == "_refresh" else ():
            index.settle(self.now_s())
            index.refresh(self.now_s())
        return answer({"_shards": self._shards(indices)}, request.parameters)

    @staticmethod
    def _shards(indices: Sequence[Index]) -> dict[str, int]:
        shards = sum(index.shards for index in indices)
        return {"total": shards, "successful": shards, "failed": 0}

    # --- documents --------------------------------------------------------------------------------------------------

    async def bulk(self, request: Request, target: str | None) -> Response:
        """Store documents, and answer when the pace has served them."""
        outcomes = list(self._written(request.body, target))
        if not outcomes:
            return failure(400, "parse_exception", "request body is required")
        index = outcomes[0][0]
        done = [outcome for _, outcome in outcomes if outcome.error is None]
        indexed = sum(outcome.action != "delete" and outcome.result != "noop" for outcome in done)
        created = sum(outcome.result == "created" for outcome in done)
        service = self._workers.take(
            index.capacity, len(outcomes), request.received_s, indexed=indexed, created=created
        )
        index.add(service)
        content = bulk_answer(outcomes, int(1000 * (service.answered_s - service.received_s)), request.parameters)
        await asyncio.sleep(max(0.0, service.answered_s - self.now_s()))
        index.held_ms.append(1000 * (self.now_s() - service.received_s))
        index.late_ms.append(1000 * (self.now_s() - service.answered_s))
        return content

    def _written(self, body: bytes, target: str | None) -> Iterator[tuple[Index, Outcome]]:
        """Each operation of a bulk request, done."""
        lines, place = body.split(b"\n"), 0
        kept: dict[str, int] = {}
        begins_at = 0
        while place < len(lines):
            line = lines[place]
            if not line.strip():
                place, begins_at = place + 1, begins_at + len(line) + 1
                continue
            ((action, given),) = orjson.loads(line).items()
            name = given.get("_index", target)
            index = self.indices.get(name) or self.make(name, {})
            if name not in kept:
                # The whole body: action lines take little room beside what they are about.
                kept[name] = index.keep(body)
            begins_at += len(line) + 1
            has_source = action != "delete"
            source = lines[place + 1] if has_source else b""
            yield index, index.write(action, given, source, kept[name] + begins_at)
            begins_at += len(source) + 1 if has_source else 0
            place += 1 + has_source

    def mget(self, request: Request, target: str | None) -> Response:
        """Stored documents by their ids."""
        given = orjson.loads(request.body)
        wanted = given.get("docs") or [{"_id": each} for each in given["ids"]]
        content = [self._got(each.get("_index", target), str(each["_id"])) for each in wanted]
        if request.parameters.get("filter_path"):
            return answer({"docs": content}, request.parameters)
        return answer({"docs": content}, {})

    def _got(self, name: str, document: str) -> dict[str, Any]:
        index = self.named(name)[0]
        index.gets += 1
        if not (stored := index.documents.get(document)):
            return {"_index": name, "_id": document, "found": False}
        return {
            "_index": name,
            "_id": document,
            "_version": stored.version,
            "_seq_no": stored.seq_no,
            "_primary_term": 1,
            "found": True,
            "_source": orjson.Fragment(index.source(stored)),
        }

    def get(self, request: Request, name: str, document: str) -> Response:
        """A stored document."""
        got = self._got(name, document)
        return answer(got, request.parameters, 200 if got["found"] else 404)

    def count(self, request: Request, expression: str) -> Response:
        """Documents that a search sees."""
        indices = self.named(expression)
        for index in indices:
            index.settle(self.now_s())
        shards = {**self._shards(indices), "skipped": 0}
        return answer({"count": sum(index.searchable for index in indices), "_shards": shards}, request.parameters)

    def search(self, request: Request, expression: str) -> Response:
        """The first documents of an index, in no order; only a query for values that are not indexed is read."""
        index = self.named(expression)[0]
        index.settle(self.now_s())
        body = orjson.loads(request.body or b"{}")
        size = int(body.get("size", request.parameters.get("size", 10)))
        asked = {**body, "size": size}
        ids = index.seen()
        content = self._hits(index, ids, asked)
        if asked.get("query") == {"exists": {"field": "_ignored"}}:
            # Every value is taken as it is.
            nothing = {"doc_count_error_upper_bound": 0, "sum_other_doc_count": 0, "buckets": []}
            hits = {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}
            content = {**content, "hits": hits, "aggregations": dict.fromkeys(asked["aggs"], nothing)}
        if "scroll" in request.parameters:
            scroll = secrets.token_urlsafe(16)
            self._scrolls[scroll] = (index, ids, asked)
            content = {"_scroll_id": scroll, **content}
        return answer(content, request.parameters)

    def scroll(self, request: Request) -> Response:
        """The next page of a search, or its end."""
        body = orjson.loads(request.body)
        if request.method == "DELETE":
            freed = sum(self._scrolls.pop(each, None) is not None for each in body["scroll_id"])
            return answer({"succeeded": True, "num_freed": freed}, request.parameters)
        if (scroll := body["scroll_id"]) not in self._scrolls:
            return failure(404, "search_context_missing_exception", f"No search context found for id [{scroll}]")
        content = self._hits(*self._scrolls[scroll])
        return answer({"_scroll_id": scroll, **content}, request.parameters)

    def _hits(self, index: Index, ids: Iterator[str], asked: Mapping[str, Any]) -> dict[str, Any]:
        index.searches += 1
        page = list(islice(ids, asked["size"]))
        shows_source = asked.get("_source", True) is not False
        hits = [
            {"_index": index.name, "_id": document, "_score": 1.0}
            | ({"_source": orjson.Fragment(index.source(index.documents[document]))} if shows_source else {})
            for document in page
        ]
        total = {"value": index.searchable, "relation": "eq"}
        return {
            "took": 1,
            "timed_out": False,
            "_shards": {**self._shards([index]), "skipped": 0},
            "hits": {"total": total, "max_score": 1.0, "hits": hits},
        }


NAME = "/([^/_][^/]*|_all)"
ROUTES = (
    ("GET|HEAD", "/", "root"),
    ("GET", "/_cluster/health(/([^/]+))?", "health"),
    ("GET", "/_cluster/state/version", "state"),
    ("GET|PUT", "/_cluster/settings", "settings_of_cluster"),
    ("GET", "/_nodes/stats(?:/([^/]+))?(?:/([^/]+))?", "nodes_stats"),
    ("GET", "/_nodes(?:/([^/]+))?", "nodes"),
    ("GET", "/_snapshot", "no_repositories"),
    ("GET|POST", "/_analyze", "analyze"),
    ("GET", "/_resolve/index/([^/]+)", "resolve"),
    ("GET", "/_cat/indices(?:/([^/]+))?", "cat_indices"),
    ("POST|DELETE", "/_search/scroll", "scroll"),
    ("POST|PUT", f"(?:{NAME})?/_bulk", "bulk"),
    ("POST|GET", f"(?:{NAME})?/_mget", "mget"),
    ("GET", f"{NAME}/_doc/([^/]+)", "get"),
    ("GET|POST", f"{NAME}/_count", "count"),
    ("GET|POST", f"{NAME}/_search", "search"),
    ("GET|PUT", f"{NAME}/_mappings?", "mapping"),
    ("GET|PUT", f"{NAME}/_settings(?:/([^/]+))?", "settings"),
    ("GET", f"{NAME}/_stats(?:/([^/]+))?", "stats"),
    ("GET", f"{NAME}/_segments", "segments"),
    ("POST|GET", f"{NAME}/(_refresh|_flush|_forcemerge|_cache/clear)", "refresh"),
    ("PUT", NAME, "create"),
    ("DELETE", NAME, "delete"),
    ("HEAD", NAME, "exists"),
    ("GET", NAME, "described"),
)
"""Methods, path and who answers; the first that matches does."""
