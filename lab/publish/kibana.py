"""Gives a Kibana the objects below `kibana/`, and says where in it a run is to be seen."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from lab.endpoints import HttpAccess
from lab.errors import StackError
from lab.publish.document import timestamp
from lab.publish.monitoring import CLUSTER_UUID
from lab.publish.saved_objects import DASHBOARD, RUN_FIELD, Shape
from lab.publish.server import ANSWER_WITHIN_S, refusal
from lab.stack.places import ROOT

OBJECTS = ROOT / "kibana"
HEADERS = {"kbn-xsrf": "sluice"}
"""Kibana refuses to write without it."""


def import_objects(kibana_url: str, access: HttpAccess, folder: Path = OBJECTS) -> int:
    """Import data view, panels and dashboard, over those that are there already; how many.

    Raises:
        StackError: Kibana does not answer, refuses, or cannot take one of them.
    """
    with access.client(base_url=kibana_url.rstrip("/"), timeout=ANSWER_WITHIN_S) as client:
        file = folder / shape_for(_asked(client, kibana_url, "GET", "/api/status")).file_name
        answer = _asked(
            client,
            kibana_url,
            "POST",
            "/api/saved_objects/_import?overwrite=true",
            files={"file": (file.name, file.read_bytes(), "application/ndjson")},
        )
    errors = answer.get("errors", [])
    if errors or not answer.get("success"):
        told = "; ".join(
            f"{found.get('type')} {found.get('id')}: {found.get('error', {}).get('type')}" for found in errors
        )
        raise StackError(f"{kibana_url}: could not import {file.name}: {told or 'no reason given'}")
    return int(answer["successCount"])


def shape_for(status: Any) -> Shape:
    """The shape that a Kibana takes; one that does not tell its version to us is taken for a recent one."""
    version = str(status.get("version", {}).get("number", ""))
    return Shape.KIBANA_7_17 if version.startswith("7.") else Shape.KIBANA_8


def monitoring_address(kibana_url: str, first_s: float, last_s: float) -> str:
    """Where Stack Monitoring's charts show a part of the recordings."""
    window = f"time:(from:'{timestamp(first_s)}',to:'{timestamp(last_s)}')"
    return f"{kibana_url.rstrip('/')}/app/monitoring#/elasticsearch?_g=(cluster_uuid:{CLUSTER_UUID},{window})"


def live_monitoring_address(kibana_url: str, cluster_uuid: str) -> str:
    """Where Stack Monitoring's charts show what a cluster does now, anew every 10 s."""
    window = "refreshInterval:(pause:!f,value:10000),time:(from:now-15m,to:now)"
    return f"{kibana_url.rstrip('/')}/app/monitoring#/elasticsearch?_g=(cluster_uuid:'{cluster_uuid}',{window})"


def dashboard_address(kibana_url: str, run_name: str | None = None) -> str:
    """Where our dashboard shows a run by itself, or without one the latest two."""
    address = f"{kibana_url.rstrip('/')}/app/dashboards#/view/{DASHBOARD}"
    if run_name is None:
        return address
    asked = quote(f'{RUN_FIELD}: "{run_name}"', safe="")
    return f"{address}?_a=(query:(language:kuery,query:'{asked}'))"


def _asked(client: httpx.Client, url: str, method: str, path: str, **content: Any) -> Any:
    try:
        response = client.request(method, path, headers=HEADERS, **content)
    except httpx.TransportError as error:
        raise StackError(f"{url}: no answer ({type(error).__name__}: {error}); check the address of Kibana") from error
    if not response.is_success:
        raise StackError(f"{url}: {method} {path.partition('?')[0]}: {refusal(response, 'a Kibana')}")
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError as error:
        raise StackError(f"{url}: {method} {path.partition('?')[0]}: got no JSON; is this a Kibana?") from error
