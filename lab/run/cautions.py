"""The warnings that a run itself gives; what figures warn of is found when they are analysed."""

from lab.profiles import Profile
from lab.records import RunWarning, WarningKind


def cold_servers() -> RunWarning:
    """The servers were started for this run."""
    return RunWarning(
        kind=WarningKind.COLD_SERVERS,
        seen="the servers were started just before the load",
        likely_cause="a JVM that has just started still compiles its code; its first drain can take twice as long",
        remedy="keep servers running (`./sluice up`; of containers `docker compose up --detach`), run once without "
        "counting, then run again",
    )


def servers_elsewhere() -> RunWarning:
    """Nothing is known of the servers' processes."""
    return RunWarning(
        kind=WarningKind.SERVERS_ELSEWHERE,
        seen="CPU, memory and disk of the servers' processes are not known",
        likely_cause="they ran on other machines, of whose processes no server tells",
        remedy="watch those machines by their own means, or run the profile with servers on this one",
    )


def shards_unassigned(unassigned: int, profile: Profile) -> RunWarning:
    """Replicas were asked for and could not be had."""
    nodes = profile.elasticsearch.data_nodes
    return RunWarning(
        kind=WarningKind.SHARDS_UNASSIGNED,
        seen=f"{unassigned} shards had no node during the load",
        likely_cause=f"{profile.number_of_replicas} replicas need as many data nodes more; there are {nodes} in all",
        remedy="raise elasticsearch.data_nodes or lower index.number_of_replicas; an unassigned replica costs nothing",
    )
