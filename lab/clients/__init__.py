"""Clients of the servers of a run: Elasticsearch, Kafka, Kafka Connect, with their credentials."""
