"""The lab: servers, runs, measurements and reports of one ingestion experiment after another."""
