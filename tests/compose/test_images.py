"""Images by digest, from a real registry; and containers of a checkout that nobody but its owner can read."""

import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.stack.places import ROOT
from tests.compose.conftest import MISSING
from tests.compose.engine import Engine
from tests.compose.machine import EngineMissingError
from tests.compose.project import Project, checkout_name, free_ports, own_images
from tests.compose.registry import Registry, running_registry
from tools.lock_images import IMAGES, Locked, LockError, lock, main, settings_listed

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry; where it cannot be installed, tests are skipped."""
    try:
        with running_registry(tmp_path_factory.mktemp("registry")) as found:
            yield found
    except EngineMissingError as error:
        MISSING.append(str(error))
        pytest.skip(str(error))


def settings_at(registry: Registry, **settings: str) -> dict[str, str]:
    """The listed settings, every image at the registry."""
    images = {setting: f"{registry.host}/{setting.lower()}" for setting, _ in IMAGES.values()}
    return {**settings_listed(), **images, **settings}


def test_a_lock_is_the_digest_of_all_platforms_together(registry: Registry) -> None:
    """That of one platform would start on no other; statements about the build are no platform."""
    digest = registry.push("kafka_image", "4.3.1", "linux/amd64", "linux/arm64/v8")
    assert lock(["KAFKA"], settings_at(registry, KAFKA_VERSION="4.3.1")) == {
        "KAFKA": Locked(f"{registry.host}/kafka_image:4.3.1", "4.3.1", digest, ("linux/amd64", "linux/arm64/v8"))
    }


def test_a_tag_that_is_not_there_is_named(registry: Registry) -> None:
    """With its address and the registry's answer."""
    with pytest.raises(
        LockError, match=r"KAFKA: http://\S+/kafka_image/manifests/0\.0\.1: got status 404, expected 200"
    ):
        lock(["KAFKA"], settings_at(registry, KAFKA_VERSION="0.0.1"))


def test_the_lock_file_is_written_anew_as_a_whole(registry: Registry, tmp_path: Path) -> None:
    """Every image, each with its version."""
    known = settings_listed()
    pushed = {
        name: registry.push(image.lower(), known[version], "linux/amd64") for name, (image, version) in IMAGES.items()
    }
    main(tmp_path / "lock", settings_at(registry), archives=())
    written = dict(re.findall(r"^(\w+)_LOCKED=(.+)$", (tmp_path / "lock").read_text(), re.MULTILINE))
    assert written == {name: f"{known[IMAGES[name][1]]}@{digest}" for name, digest in pushed.items()}


def pushed_by_docker(engine: Engine, folder: Path, name: str, content: str) -> str:
    """Push an image with one file, as Docker does it; the image's id."""
    archive = folder / "image.tar"
    with tarfile.open(archive, "w") as tar:
        entry = tarfile.TarInfo("file")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content.encode()))
    image = engine.docker("import", str(archive), name).stdout.strip()
    engine.docker("push", name)
    return image


def test_what_is_locked_is_pulled_though_its_tag_has_moved(engine: Engine, registry: Registry, tmp_path: Path) -> None:
    """By the lock Compose gets what was locked; by the tag alone, what it stands for today."""
    image = f"{registry.host}/moved/kafka"
    first = pushed_by_docker(engine, tmp_path, f"{image}:4.3.1", "what was tried")
    locked = lock(["KAFKA"], {"KAFKA_IMAGE": image, "KAFKA_VERSION": "4.3.1"})["KAFKA"]
    assert locked.platforms == ("linux/amd64",)
    second = pushed_by_docker(engine, tmp_path, f"{image}:4.3.1", "what came later")
    engine.docker("image", "rm", "--force", first, second)
    project = Project(engine, f"{checkout_name()}-pull", {"KAFKA_IMAGE": image, "MONITORING": "off"})
    for version, expected in ((f"{locked.version}@{locked.digest}", first), ("4.3.1", second)):
        project("pull", "--quiet", "kafka", settings={"KAFKA_VERSION": version})
        name = f"{image}:{version}".replace(":4.3.1@", "@")
        assert engine.docker("image", "inspect", "--format", "{{.Id}}", name).stdout.strip() == expected
    engine.docker("image", "rm", "--force", first, second)


@pytest.fixture(scope="module")
def guarded(
    engine: Engine, stand_ins: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """A clone made with the umask 077 by a Git that makes CRLF of line ends, as Compose's project."""
    clone = tmp_path_factory.mktemp("guarded") / "clone"
    subprocess.run(
        ["git", "clone", "--quiet", "--config", "core.autocrlf=true", str(ROOT), str(clone)], check=True, umask=0o077
    )
    assert (clone / "compose/images/connect.sh").stat().st_mode & 0o077 == 0
    images = {name: image.replace("/", "-guarded/") for name, image in own_images().items()}
    named = {**stand_ins, **free_ports(), **images, "KIBANA_IMAGE": stand_ins["ELASTICSEARCH_IMAGE"]}
    named["METRICBEAT_IMAGE"] = stand_ins["ELASTICSEARCH_IMAGE"]
    made = Project(engine, f"{checkout_name()}-guarded", named, clone)
    made.remove()
    yield made
    made.remove()
    made.called("down", "--rmi", "local")
    engine.docker("image", "rm", "--force", *(f"{image}:0.2.0" for image in images.values()), check=False)


@pytest.mark.long
def test_a_checkout_that_only_its_owner_reads_starts_all_the_same(guarded: Project) -> None:
    """Broker and worker are healthy by their own users, and the lab's commands find their files."""
    guarded("up", "--build", "--detach", "--wait", "kafka", "connect")
    assert guarded.states() == {"preflight": "exited 0", "kafka": "healthy", "connect": "healthy"}
    listed = guarded("run", "--rm", "--no-deps", "verify", "profiles")
    assert "quickstart" in listed


@pytest.mark.long
@pytest.mark.parametrize(
    ("service", "file", "line"),
    [
        ("kibana", "/usr/share/kibana/config/kibana.yml", "server.publicBaseUrl: ${PUBLIC_URL}"),
        ("metricbeat", "/usr/share/metricbeat/metricbeat.yml", "metricbeat.modules:"),
    ],
)
def test_a_server_of_monitoring_reads_its_settings(guarded: Project, service: str, file: str, line: str) -> None:
    """As the user whom it runs as; its variables are its own to fill in, and nobody else may write."""
    said = guarded(
        "run", "--rm", "--no-deps", "--entrypoint", "bash", service, "-c", f"id -u; stat -c %a {file}; cat {file}"
    )
    user, mode, *lines = said.splitlines()
    assert (user, mode) == ("1000", "444")
    assert line in lines


@pytest.mark.long
def test_the_scripts_of_the_secured_pipeline_are_in_the_image(guarded: Project) -> None:
    """They make the secrets."""
    files = {"COMPOSE_FILE": "compose.yaml:compose/secure.yaml"}
    said = guarded("run", "--rm", "--no-deps", "secrets", settings=files)
    assert said == "" or "secrets" in said
    listed = guarded("run", "--rm", "--no-deps", "--entrypoint", "ls", "secrets", "/secrets", settings=files)
    assert "complete" in listed.split()
