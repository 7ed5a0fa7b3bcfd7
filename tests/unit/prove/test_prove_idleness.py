"""A pipeline that does nothing is not judged: it would seem to lose nothing."""

from lab.prove.trial import idleness


def test_one_that_never_starts_is_not_judged() -> None:
    """Its last words are given."""
    assert idleness({0: 0}, 0, ["no host", "no client"]).endswith("; it said: no client")
    assert idleness({}, 0, []) != ""


def test_one_that_has_stored_or_committed_something_is_judged() -> None:
    """Whatever it says."""
    assert idleness({}, 1, ["stopped"]) == ""
    assert idleness({0: 7}, 0, []) == ""
