"""Commands that are killed at random moments, or whose disk is full, leave folders that the next one uses."""

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.endurance.deaths import DOCUMENTED, KILLED, NEXT, SMALL, Bed, ended, kill
from tests.endurance.say import say

KINDS = (("command", 6), ("tree", 3), ("group", 2), ("child", 4), ("change", 5))
DISK_MB = 2500
GOES_ON_S = 15.0
"""Time for a command that has lost a child, or that makes fewer changes; then it is asked to end."""


@pytest.fixture
def bed(open_folder: Callable[[], Path]) -> Iterator[Bed]:
    """Folders of their own."""
    bed = Bed(open_folder())
    yield bed
    assert bed.run(("down",))[0] == 0


@pytest.mark.timeout(0)
def test_the_next_command_works_after_any_death(times: int, seed: int, bed: Bed) -> None:
    """It ends well, reads every folder, shows nothing half as whole, and `down` leaves no process."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    number = died = 0
    while died < times:
        number += 1
        command = chance.choices(KILLED, [each.weight for each in KILLED])[0]
        how = chance.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
        began_s = time.monotonic()
        if how == "change":
            at = chance.randint(1, command.changes)
            process, when, who = bed.started(command.words, dies_at=at), f"at change {at}", ""
        else:
            process, at_s = bed.started(command.words), chance.uniform(0, command.usual_s)
            try:
                process.wait(at_s)
            except subprocess.TimeoutExpired:
                who = kill(process, how, chance)
            else:
                who = "nobody: it had ended"
            when = f"at {at_s:.1f} s"
        status, text = ended(process, GOES_ON_S)
        assert status in DOCUMENTED | {-9, -15}, (command.words, text)
        died += status == -9 or (how == "child" and who != "" and not who.startswith("nobody"))
        words, statuses = NEXT[number % len(NEXT)]
        killed_s = time.monotonic() - began_s
        bed.check()
        next_status, said = bed.run(words)
        say(
            f"{died}/{times}: {' '.join(command.words[:2])}: {how} {when} {who}: status {status} after "
            f"{killed_s:.0f} s; then {' '.join(words[:2])}: {next_status} after "
            f"{time.monotonic() - began_s - killed_s:.0f} s{last_line(said) if next_status else ''}"
        )
        assert next_status in statuses, said
        bed.check()
        if words == ("down",) or chance.random() < 0.2:
            status, said = bed.run(("down",))
            assert status == 0, said
            bed.check_nothing_runs()


def last_line(text: str) -> str:
    """What a command said at last, after a colon."""
    return f": {text.strip().splitlines()[-1][:150]}" if text.strip() else ""


@pytest.fixture
def small_disk(open_folder: Callable[[], Path]) -> Iterator[Path]:
    """A disk that is easily filled."""
    folder = open_folder()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=755", "sluice-deaths", folder], check=False
    )
    if mounted.returncode:
        pytest.skip("mounts a small disk, as root may")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(path: Path) -> None:
    """Leave no byte free."""
    with path.open("wb", buffering=0) as file:
        block = bytes(1 << 20)
        while block:
            try:
                file.write(block)
            except OSError:
                block = block[: len(block) // 2]


ON_A_FULL_DISK = (
    (("run", "quickstart", *SMALL), 30),
    (("up", "--heap-mb", "512"), 20),
    (("report", "latest"), 6),
    (("suite", "a-a", "--repeats", "1", *SMALL), 60),
    (("init", "books.ndjson"), 2),
    (("mapping", "infer", "books.ndjson", "--no-check", "--out", "mappings/inferred.json"), 2),
)


@pytest.mark.timeout(0)
def test_the_next_command_works_once_a_full_disk_has_room(times: int, seed: int, small_disk: Path) -> None:
    """The one whose disk is full ends with a sentence and exit status 3; `down` and `clean` work all the same."""
    chance, bed = random.Random(seed), Bed(small_disk)  # noqa: S311 - no secret
    try:
        status, said = bed.run(("run", "quickstart", *SMALL))
        assert status == 0, said
        for number in range(max(1, times // 5)):
            words, usual_s = ON_A_FULL_DISK[number % len(ON_A_FULL_DISK)]
            at_s = chance.uniform(0, usual_s)
            process = bed.started(words)
            time.sleep(at_s)
            had_ended = process.poll() is not None
            fill(small_disk / "full")
            began_s = time.monotonic()
            status, text = ended(process)
            say(
                f"{number + 1}: {' '.join(words[:2])}: full at {at_s:.1f} s{' (it had ended)' if had_ended else ''}: "
                f"status {status} after {time.monotonic() - began_s:.0f} s more{last_line(text)}"
            )
            assert status in ({0, 2} if had_ended else {0, 3, 4}), text
            stopping = ("down",) if number % 2 else ("clean",)
            assert bed.run(stopping)[0] == 0
            bed.check_nothing_runs()
            (small_disk / "full").unlink()
            bed.check()
            status, said = bed.run(("run", "quickstart", *SMALL))
            assert status == 0, said
    finally:
        (small_disk / "full").unlink(missing_ok=True)
        bed.run(("down",))
