"""What a profile asks of the containers, as the environment files that Docker Compose reads.

Of all that a profile says, containers differ in little: how many nodes, which version, how much memory, and settings
that a node reads when it starts. The rest is done by commands inside, which read the profile themselves.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.engines import DEFAULT
from lab.errors import ProfileError
from lab.profiles.loader import load_profile, profile_names
from lab.profiles.memory import limit_mb, memory_settings
from lab.profiles.models import Profile

FOLDER = Path("compose") / "experiments"
MEMORY_FILE = Path("compose") / "memory.env"
MOST_NODES = 4
DEFAULT_VERSION = DEFAULT.version
NEED_MORE = {"file": ("dataset.path=FILE", "dataset.key=KEY")}
"""Profiles that are complete only with something of the user's, and what stands for it here; no container depends on
it."""

HEADER = "# Made by `./sluice compose-env` from experiments/profiles/{name}.yaml; do not edit.\n"
MEMORY_HEADER = """\
# Made by `./sluice compose-env` from lab/profiles/memory.py; do not edit. Change a value in .env.
# Heaps, and limits of containers that hold them (docs/compose.md, Memory). Elasticsearch's are those of the experiment.
"""


def environment(profile: Profile) -> dict[str, str]:
    """The variables of the Compose files that the profile decides."""
    cluster = profile.elasticsearch
    rate = profile.load.rate_docs_per_s
    return {
        "ELASTICSEARCH_VERSION": cluster.version,
        "ELASTICSEARCH_HEAP": f"{cluster.heap_mb}m",
        "ELASTICSEARCH_MEMORY": f"{elasticsearch_limit_mb(profile)}m",
        "ELASTICSEARCH_NODES": str(cluster.data_nodes),
        "ELASTICSEARCH_BOOTSTRAP": "single-node" if cluster.data_nodes == 1 else "elasticsearch-1",
        "ELASTICSEARCH_URLS": ",".join(f"http://{host(node)}:9200" for node in range(1, cluster.data_nodes + 1)),
        **{f"ELASTICSEARCH_{node}": str(int(node <= cluster.data_nodes)) for node in range(2, MOST_NODES + 1)},
        "RATE": "max" if rate is None else f"{rate:g}",
    }


def elasticsearch_limit_mb(profile: Profile) -> int:
    """What a container of Elasticsearch may take, in MiB: what the profile says, or else what its heap needs."""
    cluster = profile.elasticsearch
    return cluster.memory_limit_mb or limit_mb("elasticsearch", cluster.heap_mb)


def host(node: int) -> str:
    """The service that is the n-th node, from 1."""
    return "elasticsearch" if node == 1 else f"elasticsearch-{node}"


def node_settings(profile: Profile) -> dict[str, str]:
    """The settings of each node, as Elasticsearch's image takes them; empty for most profiles.

    Raises:
        ProfileError: A value is empty. Elasticsearch from 8 on passes such a variable on
            (`EnvironmentAwareCommand.putDockerEnvSettings`) and then refuses the setting as null
            (`Settings.Builder`, "null-valued setting found for key").
    """
    settings = {name: setting_text(value) for name, value in profile.elasticsearch.node_settings.items()}
    for name, text in settings.items():
        if not text:
            raise ProfileError(
                f"elasticsearch.node_settings.{name}: got an empty value, expected one that containers can pass on; "
                "leave the setting out"
            )
    return settings


def setting_text(value: object) -> str:
    """A setting's value as text; a list as Elasticsearch reads one."""
    if isinstance(value, list):
        return ",".join(map(setting_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def env_text(name: str, values: Mapping[str, str]) -> str:
    """An environment file of the profile of that name."""
    return HEADER.format(name=name) + lines_of(values)


def lines_of(values: Mapping[str, str]) -> str:
    """A line for each variable."""
    return "".join(f"{key}={value}\n" for key, value in values.items())


def memory_file() -> tuple[Path, str]:
    """The file of the heaps and limits that no profile decides, relative to the checkout, and what stands in it."""
    return MEMORY_FILE, MEMORY_HEADER + lines_of(memory_settings())


def env_files(root: Path) -> Iterator[tuple[Path, str]]:
    """Every file below `compose/experiments`, relative to the checkout, and what has to stand in it.

    A profile of more nodes than there are services has none, nor has one of an engine without images, or of several
    indices, which no stream fills.
    """
    for name in profile_names(root):
        profile = load_profile(name, overrides=NEED_MORE.get(name, ()), root=root)
        too_large = profile.elasticsearch.data_nodes > MOST_NODES or profile.indices > 1
        if too_large or not profile.release.engine.has_images:
            continue
        values = environment(profile)
        if values["ELASTICSEARCH_VERSION"] == DEFAULT_VERSION:
            # The Compose files have it too, with the digest that is locked.
            del values["ELASTICSEARCH_VERSION"]
        yield FOLDER / f"{name}.env", env_text(name, values)
        if settings := node_settings(profile):
            yield FOLDER / f"{name}.settings.env", env_text(name, settings)
