"""The lab: servers, runs, measurements and reports of one ingestion experiment after another."""

from pathlib import Path

VERSION = "0.2.0"
"""Of the lab and of the plugin, whose pom repeats it."""

ROOT = Path(__file__).resolve().parents[1]
"""Holds experiments/, mappings/, connect/ and kibana/: the checkout, or the installed package, laid out alike."""

IS_CHECKOUT = (ROOT / "sluice").is_file()
"""Whether the launcher is there. An installed package has neither containers nor tests, and a plugin that is built."""
