"""A first hour as a user has it: every command of README, guide and tutorial, in order, with its time, as a transcript.

`python3 tools/first_hour.py > transcript.md`, in a fresh clone, on a machine with Python alone: it needs no package.
The transcript says which commands were left out, and why.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/guide.md", "docs/tutorial.md")
COMMAND_TIMEOUT_S = 1500
SHOWN_LINES = 45
EXPECTATION_FAILED = 5
"""With which a run ends that is slower than its reader asks for: this depends on the machine."""

REPLACED = {
    "BOOKS.ndjson": "books.ndjson",
    "TOMORROW.ndjson": "books.ndjson",
    "http://localhost:9201 --kibana http://localhost:5601": "$ELASTICSEARCH_URL",
    "localhost:9092": "$KAFKA_BOOTSTRAP",
    "compare RUN RUN": "compare $(ls runs/quickstart | head -2)",
    "./sluice logs connect --follow": "timeout --signal INT 5 ./sluice logs connect --follow || test $? = 124",
    "./sluice page": "timeout --signal INT 5 ./sluice page || test $? = 124",
    "batch.size=2000,500,5000": "batch.size=2000,500,5000 --minutes 5",
    "--minutes 20": "--minutes 5",
    "report latest --open": "report latest",
    "export latest -o ": "export latest -o - > ",
    "report race-orders --open": "report race-orders",
}
"""What the pages leave to the reader, and what waits for one."""

LEFT_OUT = {
    "./sluice test": "takes 20 minutes",
    "docker ": "needs Docker",
    "--target compose": "needs Docker",
    "--minutes 40": "takes 40 minutes",
    "--minutes 60": "takes an hour",
    "--rate 70%": "takes 20 minutes",
    "--resume": "goes on with the suite of 40 minutes",
    "codec-search": "takes an hour",
    "./sluice watch": "runs until it is stopped",
    "dead-letters discard": "leaves nothing to replay",
    "dead-letters replay used-books": "needs a connector of the reader's",
}

ON_SERVERS = 'eval "$(./sluice env)"; '
BOOKS = """python3 -c '
import json
for n in range(20_000):
    published = "soon" if n == 7_000 else f"20{n % 26:02}-{n % 12 + 1:02}-01"
    book = {"isbn13": f"97889{n:08}", "title": f"A used book, volume {n}", "price": n % 97 * 100}
    print(json.dumps(book | {"published": published}))
' > books.ndjson"""
TARGET = r"""printf 'kafka: {bootstrap_servers: "%s"}\nconnect: {url: "%s"}\nelasticsearch: {urls: ["%s"]}\n' \
  "$KAFKA_BOOTSTRAP" "$CONNECT_URL" "$ELASTICSEARCH_URL" > target.yaml"""
BEFORE = {
    "./sluice init books.ndjson": (BOOKS,),
    "./sluice dead-letters show latest": ("./sluice run books",),
    "./sluice dead-letters replay latest": (
        """sed -i 's/"strict_date[a-z_]*"/&, "ignore_malformed": true/' mappings/books.json""",
    ),
    "./sluice run quickstart --target remote": (ON_SERVERS + TARGET,),
}
"""What a page takes for granted before a command; done before the first one alone."""


def main() -> int:
    """Run everything and write the transcript; how many commands failed."""
    failed, before = 0, dict(BEFORE)
    begun_s = time.monotonic()
    for page in PAGES:
        say(f"# {page}")
        for command in commands((ROOT / page).read_text("utf-8")):
            if reason := next((reason for part, reason in LEFT_OUT.items() if part in command), None):
                say(f"`{command}`: left out, {reason}.")
                continue
            start = next((start for start in before if command.startswith(start)), "")
            earlier = before.pop(start, ())
            failed += sum(not run(line) for line in (*earlier, command))
    say(f"{failed} commands failed; all of it took {time.monotonic() - begun_s:,.0f} s.")
    return failed


def commands(text: str) -> Iterator[str]:
    """The commands of a page, without their remarks; a block whose quotes span lines is one command."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = [block] if "'\n" in block else [re.split(r"\s+# ", line, maxsplit=1)[0] for line in block.splitlines()]
        for line in lines:
            command = line.strip()
            for part, replacement in REPLACED.items():
                command = command.replace(part, replacement)
            if command:
                yield command


def run(command: str) -> bool:
    """Run a command in the checkout and write down what it says; whether it ended well."""
    uses_servers = re.search(r"\$(ELASTICSEARCH_URL|KAFKA_BOOTSTRAP)", command) and ON_SERVERS not in command
    begun_s = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", (ON_SERVERS if uses_servers else "") + command],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    shown = lines if len(lines) <= SHOWN_LINES else [*lines[:15], f"… {len(lines) - 35} lines …", *lines[-20:]]
    ending = f"[exit {done.returncode}, {time.monotonic() - begun_s:.1f} s]"
    say("```\n" + "\n".join([f"$ {command}", *shown, ending]) + "\n```")
    return done.returncode in {0, EXPECTATION_FAILED if "--expect" in command else 0}


def say(text: str) -> None:
    """Write a paragraph of the transcript."""
    sys.stdout.write(text + "\n\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
