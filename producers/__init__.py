"""Documents and how they are streamed into Kafka: deterministic datasets, pacing, and exact counts of what arrived."""
