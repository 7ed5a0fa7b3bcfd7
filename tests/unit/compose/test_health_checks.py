"""The health checks of the Compose files, each run as its container would, against a server of this process."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler

import httpx
import pytest
import yaml

from lab.stack.places import ROOT
from tests.unit.http_server import serving

NO_PROXY_HERE = "http://127.0.0.1:1"
CHECKS = {"elasticsearch.yaml": ("elasticsearch",), "monitoring.yaml": ("observer", "kibana")}
"""File → services whose check is a call of curl."""


class Answers(BaseHTTPRequestHandler):
    """Says yes to everything."""

    def do_GET(self) -> None:
        """200, without a body."""
        self.send_response(200)
        self.end_headers()


@pytest.mark.parametrize(("file", "service"), [(file, name) for file, names in CHECKS.items() for name in names])
def test_a_proxy_of_the_machine_does_not_stand_before_a_health_check(file: str, service: str) -> None:
    """Compose gives every container the proxies of ~/.docker/config.json; asked through one, no server is healthy."""
    health = yaml.safe_load((ROOT / "compose" / file).read_text())["services"][service]["healthcheck"]
    _, *command, url = health["test"]
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"), NO_PROXY_HERE)
    environment = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"} | proxies
    with serving(Answers) as server:
        here = httpx.URL(url).copy_with(host="127.0.0.1", port=httpx.URL(server).port)
        ran = subprocess.run([*command, str(here)], env=environment, capture_output=True, check=False, timeout=10)
    assert ran.returncode == 0
