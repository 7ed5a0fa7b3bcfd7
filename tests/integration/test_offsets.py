"""Offsets that a user sets or resets by the worker's REST API (KIP-875)."""

from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice
from tests.integration.keyed_drain import keyed_drain

RECORDS = 1_009
PARTITIONS = 2


def test_offsets_are_set_and_reset_without_a_warning(sluice: Sluice) -> None:
    """Nothing is kept elsewhere; what is read again finds itself already there."""
    endpoints = sluice.stack.ensure(StackShape(), kept=True)
    with keyed_drain(endpoints, partitions=PARTITIONS, keys=101, index_settings={}) as drain:
        drain.fill(RECORDS)
        drain.connector.configure(tasks__max=1)
        drain.check_everything_arrived(tasks=1)

        drain.connector.stop()
        assert drain.connector.set_offset(0, -1) == f"got offset -1 for {drain.name}-0, expected an offset >= 0"
        altered = "The offsets for this connector have been altered successfully"
        reset = "The offsets for this connector have been reset successfully"
        assert drain.connector.set_offset(0, 7) == altered
        assert drain.connector.reset_offsets() == reset
        assert drain.connector.lag() == RECORDS

        drain.connector.resume()
        drain.check_everything_arrived(tasks=1)
        assert drain.connector.read() == RECORDS
