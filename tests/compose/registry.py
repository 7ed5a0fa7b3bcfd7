"""A registry of container images on this machine, which asks for a token as the public ones do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import DEVNULL, Popen
from threading import Thread

import httpx

from lab.stack.ports import accepts_connections
from tests.compose.machine import needed_program
from tests.compose.project import free_ports, wait_until

CONFIGURATION = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
auth: {{silly: {{realm: "http://127.0.0.1:{tokens}/token", service: test}}}}
"""
"""`silly` asks for any token at all; the way to get one is that of the public registries."""
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


class Tokens(BaseHTTPRequestHandler):
    """Gives a token to everybody."""

    def do_GET(self) -> None:
        """Answer."""
        body = json.dumps({"token": "anybody"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Registry:
    """Where it is found, as in an image's name."""

    host: str

    def push(self, repository: str, tag: str, *platforms: str) -> str:
        """Store an image without layers for each platform, and the index of them; the index' digest."""
        with httpx.Client(
            base_url=f"http://{self.host}/v2/{repository}/",
            headers={"Authorization": "Bearer anybody"},
            trust_env=False,
        ) as client:
            entries = [{**pushed_image(client, one), "platform": platform_of(one)} for one in platforms]
            entries.append({**pushed_image(client, "unknown/unknown"), "platform": platform_of("unknown/unknown")})
            index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
            return str(put_manifest(client, tag, INDEX, index)["digest"])


def platform_of(name: str) -> dict[str, str]:
    """`linux/arm64/v8` as an index says it."""
    return dict(zip(("os", "architecture", "variant"), name.split("/"), strict=False))


def pushed_image(client: httpx.Client, platform: str) -> dict[str, object]:
    """Store an image of one platform; how an index names it."""
    config = json.dumps({**platform_of(platform), "rootfs": {"type": "layers", "diff_ids": []}}).encode()
    digest = f"sha256:{sha256(config).hexdigest()}"
    place = client.post("blobs/uploads/").raise_for_status().headers["Location"]
    client.put(place, params={**httpx.URL(place).params, "digest": digest}, content=config).raise_for_status()
    described = {"mediaType": CONFIG, "digest": digest, "size": len(config)}
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": []}
    return put_manifest(client, None, MANIFEST, manifest)


def put_manifest(client: httpx.Client, tag: str | None, kind: str, manifest: object) -> dict[str, object]:
    """Store a manifest, under its digest where it has no tag; how an index names it."""
    body = json.dumps(manifest).encode()
    digest = f"sha256:{sha256(body).hexdigest()}"
    client.put(f"manifests/{tag or digest}", content=body, headers={"Content-Type": kind}).raise_for_status()
    return {"mediaType": kind, "digest": digest, "size": len(body)}


@contextmanager
def running_registry(folder: Path) -> Iterator[Registry]:
    """A registry for as long as the block lasts.

    Raises:
        EngineMissingError: Its package cannot be installed here.
    """
    program = needed_program("docker-registry", package="docker-registry")
    port = int(free_ports()["KAFKA_PORT"])
    tokens = ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    Thread(target=tokens.serve_forever, daemon=True).start()
    configuration = folder / "registry.yml"
    configuration.write_text(CONFIGURATION.format(folder=folder / "images", port=port, tokens=tokens.server_address[1]))
    process = Popen([program, "serve", str(configuration)], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    try:
        wait_until(lambda: accepts_connections(port))
        yield Registry(f"127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(30)
        tokens.shutdown()
        tokens.server_close()
