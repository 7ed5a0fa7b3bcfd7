"""Where the servers of a run are: on this machine, in containers, or elsewhere."""

from enum import StrEnum


class TargetName(StrEnum):
    """What `--target` may say."""

    LOCAL = "local"
    COMPOSE = "compose"
    REMOTE = "remote"
