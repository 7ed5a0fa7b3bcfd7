"""Writes connect/etc/jolokia-access.xml, what Jolokia in a Connect worker allows: to read what our readers read.

PYTHONPATH=. PYTHON -m tools.metrics_policy
"""

from collections.abc import Mapping
from xml.sax.saxutils import escape

import yaml

from lab.endpoints import METRICS_ORIGIN
from lab.monitor.sink import READ
from lab.stack.metrics_agent import POLICY
from lab.stack.places import ROOT

METRICBEAT = ROOT / "compose" / "metricbeat.yaml"
HEAD = """\
<?xml version="1.0" encoding="utf-8"?>
<!-- What Jolokia in a Connect worker allows: to read these attributes. Written by tools/metrics_policy.py.
     Tried with Jolokia 2.6.0; docs/sink-metrics.md says what each part stops. -->
<restrict>
  <!-- No command is allowed as such: a command that stood here would be allowed for every MBean. -->
  <commands/>
  <http><method>get</method></http>
  <!-- No page can name this origin. Without an origin here, strict checking would let every page in. -->
  <cors>
    <allow-origin>{origin}</allow-origin>
    <strict-checking/>
  </cors>
  <allow>
"""
TAIL = "  </allow>\n</restrict>\n"


def read_by_metricbeat() -> dict[str, tuple[str, ...]]:
    """Attributes that Metricbeat reads, by name or pattern of the MBean."""
    written = yaml.safe_load(METRICBEAT.read_text("utf-8"))["configs"]["metricbeat"]["content"]
    modules = yaml.safe_load(written.replace("$$", "$"))["metricbeat.modules"]
    (jolokia,) = (module for module in modules if module["module"] == "jolokia")
    return {
        each["mbean"]: tuple(attribute["attr"] for attribute in each["attributes"]) for each in jolokia["jmx.mappings"]
    }


def policy(beans: Mapping[str, tuple[str, ...]]) -> str:
    """The policy file that allows to read these attributes."""
    return HEAD.format(origin=METRICS_ORIGIN) + "".join(map(entry, beans, beans.values())) + TAIL


def entry(bean: str, attributes: tuple[str, ...]) -> str:
    """The part that allows to read attributes of one MBean, or of all that a pattern matches."""
    lines = [
        f"<name>{escape(bean)}</name>",
        *(f'<attribute mode="read">{escape(name)}</attribute>' for name in attributes),
    ]
    return "    <mbean>\n" + "".join(f"      {line}\n" for line in lines) + "    </mbean>\n"


if __name__ == "__main__":
    POLICY.write_text(policy({**READ, **read_by_metricbeat()}), "utf-8")
