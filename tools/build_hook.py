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
        from lab.stack.jdk import Jdk, find_jdks, java_for_kafka  # noqa: PLC0415
        from lab.stack.places import cache_dir  # noqa: PLC0415
        from lab.stack.plugin import build_plugin  # noqa: PLC0415
        from lab.stack.runtimes import choose_java, java_runtime  # noqa: PLC0415

        try:
            java = choose_java(find_jdks(), java_for_kafka(), "the sink plugin")
            jdk = java if isinstance(java, Jdk) else java_runtime(java, cache_dir())
            build_plugin(Path(self.root) / "connect", jdk, ArtifactCache(cache_dir()), read_lock())
        except StackError as error:
            self.app.abort("\n".join((*error.log_lines, str(error))))
