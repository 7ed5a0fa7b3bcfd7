"""Documents on their way into the index: through Kafka and a sink, or directly by bulk requests."""
