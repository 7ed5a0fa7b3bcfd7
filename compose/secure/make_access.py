"""Lets the parts of the pipeline into Elasticsearch: API keys for sink and lab, passwords for the users built in."""

import os
import secrets
import ssl
import sys
import time
from pathlib import Path

import httpx

FOLDER = Path("/secrets")
OWNER = 1000
PATIENCE_S = 60.0
ROLES = {
    # Writes documents, adds fields to mappings that are dynamic, looks at the index; sees no other index.
    "sink": {
        "indices": [{"names": ["sluice-*"], "privileges": ["index", "delete", "auto_configure", "view_index_metadata"]}]
    },
    # Makes, reads and deletes our indices, reads the cluster's figures, sets what an experiment asks of the cluster.
    "lab": {"cluster": ["monitor", "manage"], "indices": [{"names": ["sluice-*"], "privileges": ["all"]}]},
    # Keeps samples in the observer.
    "samples": {
        "cluster": ["monitor", "manage_index_templates"],
        "indices": [{"names": ["sluice-samples*", ".monitoring-es-*"], "privileges": ["all"]}],
    },
    # Imports our objects into Kibana's default space; may do nothing in Elasticsearch itself.
    "dashboards": {
        "applications": [
            {"application": "kibana-.kibana", "privileges": ["space_all"], "resources": ["space:default"]}
        ],
    },
}


def client(url: str) -> httpx.Client:
    """A client that trusts our authority and authenticates as the superuser."""
    context = ssl.create_default_context(cafile=str(FOLDER / "ca.pem"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    password = (FOLDER / "elastic.password").read_text()
    return httpx.Client(base_url=url, verify=context, auth=("elastic", password), timeout=30, trust_env=False)


def asked(server: httpx.Client, method: str, path: str, body: object = None) -> httpx.Response:
    """An answer; just after its start a cluster may not have its users yet."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        response = server.request(method, path, json=body)
        if response.is_success or time.monotonic() > deadline:
            break
        time.sleep(1)
    if not response.is_success:
        reason = response.json().get("error", {}).get("reason", "no reason given") if response.content else "no answer"
        sys.exit(f"access: {server.base_url}: {method} {path}: status {response.status_code}: {reason}")
    return response


def keep(file: Path, content: str) -> None:
    """Write a secret, whole or not at all."""
    part = file.with_name(f".{file.name}")
    part.touch(mode=0o400)
    part.write_text(content)
    os.chown(part, OWNER, 0)
    part.rename(file)


def is_valid(server: httpx.Client, name: str) -> bool:
    """Whether the cluster knows the key that is kept; each version of Elasticsearch has keys of its own."""
    file = FOLDER / f"{name}.api-key"
    if not file.is_file():
        return False
    header = {"Authorization": f"ApiKey {file.read_text()}"}
    return server.get("/_security/_authenticate", headers=header, auth=None).is_success


def make_key(server: httpx.Client, name: str) -> None:
    """A key, unless the one that is kept still serves."""
    if not is_valid(server, name):
        body = {"name": f"sluice-{name}", "role_descriptors": {name: ROLES[name]}}
        keep(FOLDER / f"{name}.api-key", asked(server, "POST", "/_security/api_key", body).json()["encoded"])


def tell_lab(name: str) -> None:
    """Give our own commands a key."""
    keep(FOLDER / "for" / "lab" / f"{name}.api-key", (FOLDER / f"{name}.api-key").read_text())


def tell_worker() -> None:
    """Write down what connectors may look up; the password guards nothing but the authority's own certificate."""
    key = (FOLDER / "sink.api-key").read_text()
    known = FOLDER / "for" / "connect" / "sink.properties"
    if not known.is_file() or f"api.key={key}" not in known.read_text().splitlines():
        keep(known, f"api.key={key}\ntrust.password={secrets.token_hex(16)}\n")


def set_password(server: httpx.Client, user: str, name: str) -> None:
    """Give a user that is built in the password that was made for it."""
    password = (FOLDER / f"{name}.password").read_text()
    asked(server, "POST", f"/_security/user/{user}/_password", {"password": password})


def main() -> None:
    """Everything; again and again with the same result."""
    with client("https://elasticsearch:9200") as measured:
        make_key(measured, "sink")
        make_key(measured, "lab")
        tell_worker()
        tell_lab("lab")
        set_password(measured, "remote_monitoring_user", "metricbeat")
    if os.environ.get("OBSERVERS", "1") != "0":
        with client("https://observer:9200") as observer:
            for name in ("samples", "dashboards"):
                make_key(observer, name)
                tell_lab(name)
            set_password(observer, "kibana_system", "kibana")
            set_password(observer, "remote_monitoring_user", "metricbeat")
    print("access: keys and passwords are set")  # noqa: T201 - a container's log


main()
