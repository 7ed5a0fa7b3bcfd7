"""The lab: servers, runs, measurements and reports of one ingestion experiment after another."""

VERSION = "0.2.0"
