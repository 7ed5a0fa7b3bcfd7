"""The program of the pipeline: a topic into `ElasticsearchSink`, until it is stopped."""

import json
import sys

from elasticsearch import Elasticsearch
from quixstreams import Application
from quixstreams.sinks.community.elasticsearch import ElasticsearchSink


def main() -> None:
    """Run the application."""
    # The sink's first question, `GET /`, is answered 405 by the small distribution, which lacks the module rest-root.
    Elasticsearch.info = lambda _self: {}
    kafka, topic, group, elasticsearch, index, state, told = sys.argv[1:]
    settings = json.loads(told)
    app = Application(
        broker_address=kafka,
        consumer_group=group,
        auto_offset_reset="earliest",
        commit_interval=settings["commit_interval"],
        commit_every=settings["commit_every"],
        state_dir=state,
        auto_create_topics=False,
    )
    patience = {"retry_on_timeout": True, "max_retries": 10} if settings["patient"] else {}
    sink = ElasticsearchSink(
        url=elasticsearch,
        index=index,
        batch_size=settings["batch_size"],
        max_bulk_retries=10 if settings["patient"] else 3,
        request_timeout=settings["request_timeout"],
        **patience,
    )
    app.dataframe(app.topic(topic, key_deserializer="bytes", value_deserializer="json")).sink(sink)
    app.run()


if __name__ == "__main__":
    main()
