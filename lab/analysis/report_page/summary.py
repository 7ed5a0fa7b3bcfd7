"""The summary of a run: a sentence on its load, and a sentence on its outcome."""

from lab.analysis.figures.load_figures import why_no_window
from lab.analysis.report_page.queries import answers_text, clients_text, questions_text
from lab.analysis.text import bytes_text, count, duration, number, pace_text, quantity
from lab.records.result import Result
from lab.records.run import Course, Environment, Run
from lab.records.verification import Documents, Verification


def load_sentence(run: Run) -> str:
    """The documents, their way into the index, and the machine."""
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
    return f"{documents} were {route_phrase(run)} {engine(environment)}, {where}."


def route_phrase(run: Run) -> str:
    """The way of the documents into Elasticsearch; the phrase ends in a preposition."""
    if run.direct is not None:
        connections = quantity(run.direct.connections, "connection")
        pace = f" at {number(run.direct.rate_docs_per_s)} documents/s" if run.direct.rate_docs_per_s else ""
        lanes = " of one shard each, to the node of its primary," if run.direct.bulk_by_shard else ""
        return (
            f"sent{pace} as ready-made bulk requests{lanes} over {connections}, without Kafka and Kafka Connect, "
            "straight to"
        )
    if run.rally is not None:
        clients = quantity(run.rally.clients, "client")
        return (
            f"sent by {clients} of Rally {run.rally.version}'s bulk task, without Kafka and Kafka Connect, straight to"
        )
    connector = run.environment.connector
    command = connector.get("command") or connector.get("pipeline")
    pipeline = f"the pipeline {str(command).partition(' ')[0]}" if command else "Kafka Connect"
    if run.load == "drain":
        return f"put into Kafka and then drained through {pipeline} into"
    return f"streamed {_pace(run)} through Kafka and {pipeline} into"


def _pace(run: Run) -> str:
    if run.course:
        return f"in stages ({stages_text(run.course)})"
    if run.document_ramp:
        return "at a rate that rose step by step"
    if run.delivery and run.delivery.pace:
        return f"at {pace_text(run.delivery.pace)}"
    rate = run.delivery.rate_docs_per_s if run.delivery else None
    return f"at {number(rate)}/s" if rate else "as fast as possible"


def stages_text(course: Course) -> str:
    """The documents of each stage, and how they came."""
    rates = [stage.rate_docs_per_s for stage in course.stages]
    paces = [f"at {number(rate)}/s" if rate else "all at once" for rate in rates]
    stages = ", ".join(f"{count(stage.documents)} {pace}" for stage, pace in zip(course.stages, paces, strict=True))
    paused = course.resumed_s and course.paused_s and course.resumed_s - course.paused_s
    return f"{stages}; nodes paused for {duration(paused)}" if paused else stages


def outcome_sentence(run: Run, result: Result) -> str:
    """The result of the verification; of a void run, the reasons."""
    documents = run.documents
    if result.status == "failed":
        problems = "; ".join(problem.rstrip(".") for problem in run.verification.problems) or "no reason is recorded"
        return f"These figures are void: {problems}."
    if run.verification.expect == "consumed":
        return f"The sink committed all {count(documents.delivered)} records, and nothing is in the index."
    if run.load == "query" and run.query_load is not None:
        return answers_text(run.query_load)
    compared = contents_phrase(documents, run.verification)
    absent = absent_documents(documents)
    where = f"{', '.join(absent)}. All others" if absent else "All documents"
    return f"{where} are in the index, and {compared}."


def contents_phrase(documents: Documents, verification: Verification) -> str:
    """The way in which the contents of a verified index were compared."""
    if verification.contents == "counts only":
        return "only their number was compared: the cluster has made their ids, and gives no contents back as sent"
    if not documents.sampled:
        return "only their ids were compared"
    if documents.sampled == documents.indexed:
        equal = "each equals what was sent"
    else:
        equal = f"{count(documents.sampled)} drawn at random equal what was sent"
    if verification.contents != "as rebuilt":
        return equal
    without = f", but for {', '.join(verification.not_compared)}" if verification.not_compared else ""
    return f"{equal}, by the rules of an index that rebuilds _source{without}"


def absent_documents(documents: Documents) -> list[str]:
    """A phrase for each kind of documents that are accounted for but not in the index, such as dead letters."""
    letters = documents.dead_lettered or 0
    rejected = "rejected (a dead letter)" if letters == 1 else "rejected (dead letters)"
    replaced = f"overwritten {'or deleted ' if documents.deleted else ''}by another one of the same id"
    absent = [(rejected, letters), (replaced, documents.already_there), *documents.elsewhere]
    whole = f" of {count(documents.produced)} documents"
    return [
        f"{count(records)}{'' if place else whole} {'was' if records == 1 else 'were'} {what}"
        for place, (what, records) in enumerate(each for each in absent if each[1])
    ]


def window_phrase(run: Run, result: Result) -> str:
    """The window of the main figure: its length and its warm-up."""
    load, window = run.query_load, result.measured_window
    if run.load == "query" and load is not None:
        return f"over {duration(load.ended_s - load.started_s)}" + _after(load.warm_up_s)
    if window is None:
        return f"no measured window: {why_no_window(result)}"
    return f"over {duration(window.ended_s - window.started_s)}{_after(window.warm_up_s)}"


def _after(warm_up_s: float | None) -> str:
    return f" after {duration(warm_up_s)} of warm-up" if warm_up_s else ""


def engine(environment: Environment) -> str:
    """Product and version of the servers under test; several versions are all named."""
    versions = {server.version for server in environment.servers if server.name.startswith("elasticsearch")}
    return f"{environment.product} {' and '.join(sorted(versions)) or 'of unknown version'}"
