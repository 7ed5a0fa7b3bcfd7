"""What was run and what came out, in two sentences that need no explanation."""

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.latency import percentiles_ms
from lab.analysis.page.queries import answers_text, clients_text, is_as_expected, is_open_loop, questions_text
from lab.analysis.text import bytes_text, count, duration, figure, number
from lab.records.queries import QueryLoadResult
from lab.records.result import Result
from lab.records.run import Environment, Run

WAITING = "For a drain this contains the time a record waited in the topic, which was filled before the sink started."


def what_was_run(run: Run) -> str:
    """The first sentence."""
    environment, is_remote = run.environment, run.environment.target == "remote"
    where = "on remote servers" if is_remote else f"on one machine with {environment.cpu_cores} cores"
    if run.load == "query" and run.query_load is not None:
        load = run.query_load
        held = f"{count(run.documents.produced)} documents in {engine(environment)}"
        return f"{questions_text(load)} were asked about {held} by {clients_text(load)}, {where}."
    documents = f"{count(run.documents.produced)} documents ({bytes_text(run.source_bytes)})"
    if run.entities != run.documents.loaded:
        documents += f" that describe {count(run.entities)} entities"
    if run.verification.expect == "consumed":
        return f"{documents} were put into Kafka and then read by a sink that stores nothing, {where}."
    return f"{documents} were {how_loaded(run)} {engine(environment)}, {where}."


def how_loaded(run: Run) -> str:
    """By which way the documents came into Elasticsearch, ending in a preposition."""
    if run.direct is not None:
        connections = f"{run.direct.connections} connection{'s' if run.direct.connections > 1 else ''}"
        pace = f" at {number(run.direct.rate_docs_per_s)} documents/s" if run.direct.rate_docs_per_s else ""
        return (
            f"sent{pace} as ready-made bulk requests over {connections}, without Kafka and Kafka Connect, straight to"
        )
    if run.rally is not None:
        clients = f"{run.rally.clients} client{'s' if run.rally.clients > 1 else ''}"
        return (
            f"sent by {clients} of Rally {run.rally.version}'s bulk task, without Kafka and Kafka Connect, straight to"
        )
    command = run.environment.connector.get("command")
    pipeline = f"the pipeline {str(command).partition(' ')[0]}" if command else "Kafka Connect"
    if run.load == "drain":
        return f"put into Kafka and then drained through {pipeline} into"
    rate = run.delivery.rate_docs_per_s if run.delivery else None
    if rate is None:
        return f"streamed through Kafka and {pipeline}, as fast as possible, into"
    return f"streamed at {number(rate)}/s through Kafka and {pipeline} into"


def what_came_out(run: Run, result: Result) -> str:
    """The second sentence."""
    if result.status == "failed":
        problems = "; ".join(problem.rstrip(".") for problem in run.verification.problems) or "no reason is recorded"
        # Questions are asked only of an index that holds what was produced.
        of_load = run.query_load.questions if run.query_load else ()
        as_expected = all(question.as_expected for question in run.questions) and all(map(is_as_expected, of_load))
        what = "What is stored is not what was produced" if as_expected else "The index gives wrong answers"
        return f"{what}, so the figures below are void: {problems}."
    if run.verification.expect == "consumed":
        return consumed_in_words(run, result)
    if run.load == "query" and run.query_load is not None:
        return queried_in_words(result, run.query_load, run.environment.product)
    rate = value_of(result.metrics, "indexing_rate_docs_per_s", "primaries")
    latency = value_of(result.metrics, "indexing_latency_ms", "primaries")
    if rate is None:
        speed = "How fast they were indexed could not be measured"
    else:
        speed = f"{run.environment.product} indexed {number(rate)} documents per second"
        speed += f" and spent {figure(latency, 'ms')} on each" if latency is not None else ""
    return f"{speed}{over_which_window(result, rate)}; {books_in_words(run)}."


def queried_in_words(result: Result, load: QueryLoadResult, product: str) -> str:
    """The second sentence of a verified run of queries alone."""
    rate = value_of(result.metrics, "query_rate_per_s")
    name = "latency" if is_open_loop(load) else "service time"
    stem = f"query_{name.replace(' ', '_')}_ms"
    median, p99 = (value_of(result.metrics, f"{stem}_{share}") for share in ("p50", "p99"))
    if rate is None:
        speed = "How fast they were answered could not be measured"
    else:
        speed = f"{product} answered {number(rate)} queries per second"
        speed += f" with a median {name} of {figure(median, 'ms')}" if median is not None else ""
        speed += f" and a p99 of {figure(p99, 'ms')}" if p99 is not None else ""
    over = duration(load.ended_s - load.started_s)
    answers = answers_text(load).rstrip(".")
    return f"{speed}, over {over}; {answers[0].lower()}{answers[1:]}."


def consumed_in_words(run: Run, result: Result) -> str:
    """The second sentence of a verified run whose sink was to store nothing."""
    rate = value_of(result.metrics, "consumed_rate_docs_per_s")
    if rate is None:
        speed = "How fast it read them could not be measured"
    else:
        speed = f"It read {number(rate)} records per second"
    books = f"it committed all {count(run.documents.delivered)} of them, and nothing is in the index"
    return f"{speed}{over_which_window(result, rate)}; {books}."


def over_which_window(result: Result, rate: float | None) -> str:
    """How long a rate was measured, as the end of a clause."""
    window = result.measured_window
    if window:
        length = f", over a measured window of {duration(window.ended_s - window.started_s)}"
        length += f" after {duration(window.warm_up_s)} of warm-up" if window.warm_up_s else ""
        return length + (" in which the rate was not steady" if window.steady is False else "")
    return "" if rate is None else " (a rough guide: the load was too short to be measured well)"


def books_in_words(run: Run) -> str:
    """What became of the documents of a verified run."""
    documents = run.documents
    compared = f"{count(documents.sampled)} drawn at random equal what was sent"
    if documents.dead_lettered:
        refused = f"{count(documents.dead_lettered)} of {count(documents.produced)} documents were rejected"
        return f"{refused} (dead letters), all others are in the index, and {compared}"
    return f"all documents are in the index, and {compared}"


def engine(environment: Environment) -> str:
    """Product and version of the servers under test; several versions are all named."""
    versions = {server.version for server in environment.servers if server.name.startswith("elasticsearch")}
    return f"{environment.product} {' and '.join(sorted(versions)) or 'of unknown version'}"


def waiting_note(run: Run) -> str | None:
    """The sentence that keeps a drain's end-to-end latency from being misread; `None` where it does not apply."""
    waited = run.load == "drain" and run.via == "kafka" and percentiles_ms(run.sink_histograms.record_age)
    return WAITING if waited else None
