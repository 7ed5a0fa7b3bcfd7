"""Builds the sink plugin before a wheel takes it in, so that an installed Sluice needs neither Maven nor a compiler."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PluginHook(BuildHookInterface[Any]):
    """What `./sluice run` does in a checkout whose plugin is not built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - as hatchling calls it
        """Build it unless it is up to date."""
        sys.path.insert(0, self.root)
        from lab.errors import StackError  # noqa: PLC0415 - only now can they be found
        from lab.stack.artifacts import ArtifactCache, read_lock  # noqa: PLC0415
        from lab.stack.jdk import choose_jdk, find_jdks, java_for_kafka  # noqa: PLC0415
        from lab.stack.places import cache_dir  # noqa: PLC0415
        from lab.stack.plugin import build_plugin, find_maven  # noqa: PLC0415

        try:
            jdk = choose_jdk(find_jdks(), java_for_kafka(), "the sink plugin")
            mvn = find_maven(ArtifactCache(cache_dir()), read_lock().sets["maven"][0])
            build_plugin(Path(self.root) / "connect", mvn, jdk)
        except StackError as error:
            self.app.abort("\n".join((*error.log_lines, str(error))))
