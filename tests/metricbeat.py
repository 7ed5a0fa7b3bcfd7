"""Metricbeat's settings, as its container has them."""

from typing import Any

import yaml

from lab.stack.places import ROOT


def settings_text() -> str:
    """The file that Compose writes into the container."""
    written = yaml.safe_load((ROOT / "compose" / "metricbeat.yaml").read_text())
    return str(written["configs"]["metricbeat"]["content"]).replace("$$", "$")


def settings() -> dict[str, Any]:
    """What the file says."""
    return dict(yaml.safe_load(settings_text()))
