"""Sends a recorded run to an Elasticsearch, so that Kibana can show it, and Kibana the objects that it is shown by."""
