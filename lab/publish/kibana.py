"""A Kibana: imports the objects below `kibana/` into it, and gives the addresses at which it shows a run."""

from enum import StrEnum
from urllib.parse import quote

import httpx

from lab.endpoints import HttpAccess
from lab.errors import StackError
from lab.publish.document import timestamp
from lab.publish.monitoring import CLUSTER_UUID
from lab.publish.server import ANSWER_WITHIN_S, answer_of
from lab.stack.places import ROOT

OBJECTS = ROOT / "kibana"
DASHBOARD = "sluice-experiment"
RUN_FIELD = "run.name"
HEADERS = {"kbn-xsrf": "sluice"}
"""Kibana refuses to write without it."""


class Shape(StrEnum):
    """Format of Kibana's objects, by the oldest version that takes it."""

    KIBANA_7_17 = "7.17"
    KIBANA_8 = "8"

    @property
    def file_name(self) -> str:
        """Below `kibana/`."""
        return f"sluice-{self}.ndjson"


def import_objects(kibana_url: str, access: HttpAccess) -> int:
    """Import data view, panels and dashboard, over those that exist already; how many.

    Raises:
        StackError: Kibana does not answer, refuses, or cannot import one of them.
    """
    kibana_url = kibana_url.rstrip("/")
    with access.client(HEADERS, base_url=kibana_url, timeout=ANSWER_WITHIN_S) as client:
        try:
            status = answer_of(client.get("/api/status"), kibana_url, "a Kibana")
            # One that gives us no version is taken for a recent one.
            version = str(status.get("version", {}).get("number", ""))
            shape = Shape.KIBANA_7_17 if version.startswith("7.") else Shape.KIBANA_8
            content = (shape.file_name, (OBJECTS / shape.file_name).read_bytes(), "application/ndjson")
            response = client.post("/api/saved_objects/_import?overwrite=true", files={"file": content})
            answer = answer_of(response, kibana_url, "a Kibana")
        except httpx.TransportError as error:
            advice = "check the address of Kibana"
            raise StackError(f"{kibana_url}: no answer ({type(error).__name__}: {error}); {advice}") from error
    errors = answer.get("errors", [])
    if errors or not answer.get("success"):
        reasons = "; ".join(
            f"{each.get('type')} {each.get('id')}: {each.get('error', {}).get('type')}" for each in errors
        )
        raise StackError(f"{kibana_url}: could not import {shape.file_name}: {reasons or 'no reason given'}")
    return int(answer["successCount"])


def monitoring_address(kibana_url: str, first_s: float, last_s: float) -> str:
    """Address of Stack Monitoring's charts of a part of the recordings."""
    window = f"time:(from:'{timestamp(first_s)}',to:'{timestamp(last_s)}')"
    return _monitoring(kibana_url, CLUSTER_UUID, window)


def live_monitoring_address(kibana_url: str, cluster_uuid: str) -> str:
    """Address of Stack Monitoring's charts of a cluster now, refreshed every 10 s."""
    window = "refreshInterval:(pause:!f,value:10000),time:(from:now-15m,to:now)"
    return _monitoring(kibana_url, f"'{cluster_uuid}'", window)


def _monitoring(kibana_url: str, cluster: str, window: str) -> str:
    return f"{kibana_url.rstrip('/')}/app/monitoring#/elasticsearch?_g=(cluster_uuid:{cluster},{window})"


def dashboard_address(kibana_url: str, run_name: str | None = None) -> str:
    """Address of our dashboard with one run, or without a name with the latest two."""
    address = f"{kibana_url.rstrip('/')}/app/dashboards#/view/{DASHBOARD}"
    if run_name is None:
        return address
    query = quote(f'{RUN_FIELD}: "{run_name}"', safe="")
    return f"{address}?_a=(query:(language:kuery,query:'{query}'))"
