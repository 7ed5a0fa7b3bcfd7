"""Servers that end while a command uses them are seen within a second, and waited for half a minute."""

import pytest

from lab.errors import StackError
from lab.stack.local import LocalStack
from lab.targets.local import ServerWatch
from tests.unit.clients.rest_server import Time
from tests.unit.stack.three_servers import ALL, Wanted, kill


def test_servers_that_run_are_no_word_worth(stack: LocalStack) -> None:
    """However often it is asked."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    for _ in range(7):
        assert watch.check() == ""
        time.sleep(11)


def test_a_server_that_has_ended_is_named_at_once_and_may_come_back(stack: LocalStack) -> None:
    """With what to do; a server that ends later has half a minute of its own."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    watch.check()
    for _ in range(3):
        kill(stack, "kafka")
        time.sleep(1)
        assert watch.check() == "kafka ended: ./sluice restart kafka"
        time.sleep(29)
        assert watch.check() == "kafka ended: ./sluice restart kafka"
        stack.restart("kafka")
        time.sleep(1)
        assert watch.check() == ""


def test_a_server_that_stays_away_is_an_error_with_the_end_of_its_log(stack: LocalStack, wanted: Wanted) -> None:
    """After half a minute, not after the two that a server which does not answer is asked again."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    log = wanted.specs["connect"].log_file
    log.write_text("OutOfMemoryError\n")
    kill(stack, "connect")
    watch.check()
    time.sleep(31)
    with pytest.raises(StackError) as failure:
        watch.check()
    assert str(failure.value) == f"connect: ended while it was in use; its log is {log}"
    assert failure.value.log_lines == ("OutOfMemoryError",)


def test_servers_that_were_stopped_are_said_to_be(stack: LocalStack) -> None:
    """Nobody starts those again, so that there is nothing to wait for."""
    stack.ensure(ALL, kept=True)
    watch = ServerWatch(stack, Time().clock)
    stack.stop()
    with pytest.raises(StackError) as failure:
        watch.check()
    assert str(failure.value) == "the servers of this checkout were stopped while they were in use"
