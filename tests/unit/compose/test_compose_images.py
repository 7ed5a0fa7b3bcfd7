"""Where the images of the Compose files come from, and what of the checkout their containers are given."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.stack.places import ROOT
from tools.lock_images import (
    ARCHIVES,
    IMAGES,
    LOCK_FILE,
    Locked,
    Reference,
    lock_text,
    main,
    reference_of,
    settings_listed,
)

FILES = sorted([ROOT / "compose.yaml", *(ROOT / "compose").glob("*.yaml")])
LAB, WORKER = "${LAB_IMAGE:-", "${CONNECT_IMAGE:-"
DIGEST = f"sha256:{64 * 'a'}"
Service = dict[str, Any]


def services() -> list[tuple[str, Service]]:
    """Every service of every file, with its name; one that an overlay changes is there twice."""
    return [one for file in FILES for one in yaml.safe_load(file.read_text()).get("services", {}).items()]


def with_image(beginning: str) -> dict[str, Service]:
    """The services whose image begins so."""
    return {name: service for name, service in services() if str(service.get("image", "")).startswith(beginning)}


@pytest.mark.parametrize(("image", "builder"), [(LAB, "preflight"), (WORKER, "connect")])
def test_one_service_builds_an_image_of_ours(image: str, builder: str) -> None:
    """Builds of one tag at the same time fail on Docker 29 (docker/buildx#3576)."""
    assert [name for name, service in with_image(image).items() if "build" in service] == [builder]
    assert {name for name, service in services() if "build" in service} == {"preflight", "connect"}


@pytest.mark.parametrize("image", [LAB, WORKER])
def test_no_registry_is_asked_for_an_image_of_ours(image: str) -> None:
    """Nor would Docker Hub be, where somebody asks for everything anew: whose is the name there?"""
    ours = with_image(image)
    assert {service["pull_policy"] for service in ours.values()} == {"never"}
    name = re.match(r"\$\{\w+:-([^}]+)\}", next(iter(ours.values()))["image"])
    assert name is not None
    assert reference_of(name[1], "tag").host == "localhost"


def test_all_that_uses_the_lab_s_image_waits_for_it() -> None:
    """Where `up`, or `run` of one service, begins without it, it is built first."""
    needs: dict[str, set[str]] = {}
    for name, service in services():
        needs.setdefault(name, set()).update(service.get("depends_on", {}))

    def comes_after(name: str) -> set[str]:
        return needs[name].union(*(comes_after(other) for other in needs[name]))

    assert {name for name in with_image(LAB) if "preflight" not in comes_after(name)} == {"preflight"}


def test_no_file_of_the_checkout_is_mounted() -> None:
    """Whether a container may read one depends on the umask it was made with, and on SELinux."""
    mounted = [str(volume) for _, service in services() for volume in service.get("volumes", [])]
    assert {volume for volume in mounted if not re.match(r"[a-z]", volume)} == {"${DATASET_FOLDER:-no-data}:/data:ro"}
    configs = {
        name: config for file in FILES for name, config in yaml.safe_load(file.read_text()).get("configs", {}).items()
    }
    assert {name: set(config) for name, config in configs.items()} == {"kibana": {"content"}, "metricbeat": {"content"}}


def test_what_is_locked_is_the_version_that_holds() -> None:
    """A digest without its version, or one of another version, would start what nobody asked for."""
    known = settings_listed()
    versions = {name: known[version] for name, (_, version) in IMAGES.items()}
    versions |= {name: known[version] for name, version in ARCHIVES.items()}
    lines = re.findall(r"^(\w+)_LOCKED=(.*)$", LOCK_FILE.read_text(), re.MULTILINE)
    assert [name for name, _ in lines] == list(versions)
    for name, value in lines:
        assert value == "" or re.fullmatch(rf"{re.escape(versions[name])}@sha256:[0-9a-f]{{64}}", value), name


@pytest.mark.parametrize(
    ("image", "expected", "url"),
    [
        ("maven", Reference("registry-1.docker.io", "library/maven", "3"), "https://registry-1.docker.io/v2/library/maven"),
        ("apache/kafka", Reference("registry-1.docker.io", "apache/kafka", "3"), "https://registry-1.docker.io/v2/apache/kafka"),
        ("docker.elastic.co/a/b", Reference("docker.elastic.co", "a/b", "3"), "https://docker.elastic.co/v2/a/b"),
        ("127.0.0.1:5003/a", Reference("127.0.0.1:5003", "a", "3"), "http://127.0.0.1:5003/v2/a"),
        ("localhost/sluice/lab", Reference("localhost", "sluice/lab", "3"), "http://localhost/v2/sluice/lab"),
    ],
)  # fmt: skip
def test_names_are_read_as_docker_reads_them(image: str, expected: Reference, url: str) -> None:
    """Without a host an image is Docker Hub's."""
    assert reference_of(image, "3") == expected
    assert expected.url == url


def test_a_lock_is_a_version_with_its_digest() -> None:
    """One value: whoever sets a version replaces both."""
    text = lock_text(
        {"KAFKA": Locked("apache/kafka:4.3.1", "4.3.1", DIGEST, ("linux/amd64", "linux/arm64")), "MAVEN": None}
    )
    assert text.partition("\n\n")[2] == (
        "# apache/kafka:4.3.1 for linux/amd64, linux/arm64\n"
        f"KAFKA_LOCKED=4.3.1@{DIGEST}\n"
        "\n"
        "MAVEN_LOCKED=\n"
    )  # fmt: skip


def test_where_no_registry_answers_nothing_is_written(tmp_path: Path) -> None:
    """All that failed is named; the lock stays as it was."""
    file = tmp_path / "images.lock.env"
    file.write_text("as it was")
    nobody = {setting: "localhost:1/nobody" for setting, _ in IMAGES.values()}
    with pytest.raises(SystemExit) as ended:
        main(file, nobody, archives=())
    assert [line.partition(":")[0] for line in str(ended.value).splitlines()] == ["tools.lock_images", *IMAGES]
    assert file.read_text() == "as it was"


def test_a_clone_has_the_line_ends_of_linux_whatever_git_is_told(tmp_path: Path) -> None:
    """With CRLF a script fails in its container: `set: -: invalid option`."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of Git")
    clone = tmp_path / "clone"
    convert = ("--config", "core.autocrlf=true", "--config", "core.eol=crlf")
    subprocess.run(["git", "clone", "--quiet", *convert, str(ROOT), str(clone)], check=True)
    listed = subprocess.run(["git", "ls-files", "--eol"], cwd=clone, check=True, capture_output=True, text=True)
    with_crlf = {line.split("\t")[1] for line in listed.stdout.splitlines() if "w/crlf" in line or "w/mixed" in line}
    assert with_crlf == {"tests/unit/analysis/rally/index-append.csv"}
