"""The resources of deploy/kubernetes: as the files have them, and as Kustomize puts them together."""

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lab.stack.places import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("laptop", "cluster")
KUSTOMIZE = shutil.which("kubectl")

Resource = dict[str, Any]


def profiles() -> list[Path]:
    """The generated file of each profile."""
    return sorted(path for path in (FOLDER / "profiles").rglob("*.yaml") if path.name != "kustomization.yaml")


def documents(file: Path) -> list[Resource]:
    """The resources of a file."""
    return [document for document in yaml.safe_load_all(file.read_text("utf-8")) if document]


@cache
def rendered(overlay: str) -> tuple[Resource, ...]:
    """The resources of an overlay, put together; `kubectl` must be there."""
    done = subprocess.run(
        (str(KUSTOMIZE), "kustomize", str(FOLDER / "overlays" / overlay)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return tuple(document for document in yaml.safe_load_all(done.stdout) if document)


def all_resources() -> list[Resource]:
    """Everything that is ever sent to an API server."""

    def every() -> Iterator[Resource]:
        for overlay in OVERLAYS:
            yield from rendered(overlay)
        for file in profiles():
            yield from documents(file)

    return list(every())


def the(kind: str, name: str, resources: tuple[Resource, ...]) -> Resource:
    """The resource of a kind and name."""
    (found,) = (each for each in resources if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found
