"""What Confluent's hub client does with a component archive, as its specification says: check it, and unpack it."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

REQUIRED = ("name", "version", "title", "description", "owner", "component_types")
COMPONENT_TYPES = {"sink", "source", "transform", "converter"}
GUARANTEES = {"at_most_once", "at_least_once", "exactly_once"}
FOLDERS = {"assets", "doc", "etc", "lib"}
DATA_DESCRIPTOR = 0x08


def install(archive: Path, folder: Path) -> Path:
    """Unpack a component archive below a folder of `plugin.path`, unless the client would refuse it.

    Returns:
        The component's folder.
    """
    with zipfile.ZipFile(archive) as content:
        tops = {name.partition("/")[0] for name in content.namelist()}
        assert tops == {archive.stem}, "the single top folder is named as the archive"
        # Java's ZipInputStream, which the client reads with, refuses sizes after the data of what is not deflated.
        stored = [member for member in content.infolist() if member.compress_type == zipfile.ZIP_STORED]
        assert [member.filename for member in stored if member.flag_bits & DATA_DESCRIPTOR] == []
        check_manifest(json.loads(content.read(f"{archive.stem}/manifest.json")), archive.stem)
        content.extractall(folder)
    component = folder / archive.stem
    assert {path.name for path in component.iterdir() if path.is_dir()} <= FOLDERS
    assert list(component.glob("lib/*.jar")) != []
    return component


def check_manifest(manifest: dict[str, Any], identity: str) -> None:
    """Hold a manifest to the component archive's specification.

    Source: Confluent's documentation, *Component Archive Specification*, and the parameters of its Maven plugin.
    """
    assert [name for name in REQUIRED if not manifest.get(name)] == []
    owner, name, version = manifest["owner"]["username"], manifest["name"], manifest["version"]
    assert f"{owner}-{name}-{version}" == identity
    assert re.fullmatch(r"[a-z0-9_]{2,255}", owner)
    assert re.fullmatch(r"[a-z0-9_-]{2,255}", name)
    assert set(manifest["component_types"]) <= COMPONENT_TYPES
    assert set(manifest["features"]["delivery_guarantee"]) <= GUARANTEES
    assert all(set(license_) == {"name", "url"} for license_ in manifest["license"])
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", manifest["release_date"])
    assert "${" not in json.dumps(manifest), "Maven has filled everything in"
