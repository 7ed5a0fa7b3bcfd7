"""What is written down of a machine and a profile, and what is not."""

from lab.endpoints import words_without_secrets
from lab.profiles import load_profile
from lab.run.environment import profile_without_secrets


def test_a_secret_of_the_command_line_is_not_written_down() -> None:
    """Its key stays, its value does not; other words are left as they are."""
    words = ["run", "quickstart", "--set", "sink.config={connection.password: hunter2}", "--set", "topic.partitions=3"]
    words += ["--set", "index.analysis.analyzer.mine.max_token_length=7"]
    assert words_without_secrets(words) == [
        "run", "quickstart", "--set", "sink.config=(hidden)", "--set", "topic.partitions=3",
        "--set", "index.analysis.analyzer.mine.max_token_length=7",
    ]  # fmt: skip


def test_a_secret_of_the_profile_is_not_written_down() -> None:
    """Neither the sink's nor the producer's; what is no secret stays."""
    profile = load_profile(
        "quickstart",
        overrides=[
            "sink.config={connection.password: hunter2, batch.size: 7}",
            "producer.client={sasl.password: hunter3, linger.ms: 5}",
        ],
    )
    written = profile_without_secrets(profile)
    assert written.sink.config == {"connection.password": "(hidden)", "batch.size": 7}
    assert written.producer.client == {"sasl.password": "(hidden)", "linger.ms": 5}
