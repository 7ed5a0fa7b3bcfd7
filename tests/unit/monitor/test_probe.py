"""A fixed piece of work, timed by clocks of the test's own."""

from lab.monitor.probe import Probe, fixed_work


class Clocks:
    """A clock on the wall and a thread's CPU time, both in seconds, that only work moves."""

    def __init__(self) -> None:
        self.wall_s = 1000.0
        self.cpu_s = 7.0
        self.done = 0

    def work(self) -> None:
        """2 ms of CPU time in 5 ms."""
        self.wall_s += 0.005
        self.cpu_s += 0.002
        self.done += 1


def probe(clocks: Clocks) -> Probe:
    """A probe by these clocks."""
    return Probe(clocks.work, wall_s=lambda: clocks.wall_s, cpu_s=lambda: clocks.cpu_s)


def test_waiting_for_a_core_is_in_the_wall_time_only() -> None:
    """5 ms passed, in 2 of which the work ran."""
    assert probe(Clocks()).read() == (5.0, 2.0)


def test_probes_take_a_thousandth_of_a_core_at_most() -> None:
    """At a tick a second every other one is left out, since 2 ms are a thousandth of 2 s."""
    clocks = Clocks()
    probed = probe(clocks)
    read = []
    for tick in range(40):
        clocks.wall_s = 1000.0 + tick
        read.append(probed.read() is not None)
    assert read == [True, False] * 20
    assert clocks.cpu_s - 7.0 <= 0.001 * 40


def test_the_work_is_the_same_each_time() -> None:
    """Nothing of the machine's state is in it."""
    assert fixed_work() == fixed_work()
