"""`docker compose up`, tried: a Docker engine, images that stand in for the official ones, and the tests."""
