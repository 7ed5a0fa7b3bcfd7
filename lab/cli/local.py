"""The servers on this machine, as a run uses them."""

from collections.abc import Iterable

from lab.cli.display import StackDisplay
from lab.errors import StackError
from lab.profiles import Profile
from lab.records import Server
from lab.run import Target, plugin_folders
from lab.stack.interrupts import uninterrupted
from lab.stack.local import LocalStack, StackShape
from lab.stack.server import STACK_MARKER


def stop(stack: LocalStack) -> None:
    """Stop the servers of this run, come what may."""
    with uninterrupted(), StackDisplay().showing() as progress:
        stack.stop(progress)


def started_target(
    stack: LocalStack, profile: Profile, *, kept: bool, before: set[int], beside: Iterable[Profile] = ()
) -> Target:
    """The local servers in the shape that the profile asks for.

    Args:
        beside: Profiles that will run on the same servers, so that one worker has the plugins of all of them.
    """
    shape = StackShape(
        elasticsearch_version=profile.elasticsearch.version,
        data_nodes=profile.elasticsearch.data_nodes,
        elasticsearch_heap_mb=profile.elasticsearch.heap_mb,
        node_settings=profile.elasticsearch.node_settings,
        plugin_folders=plugin_folders(profile, *beside),
    )
    with StackDisplay().showing() as progress:
        endpoints = stack.ensure(shape, kept=kept, progress=progress)
    state = stack.state()
    if state is None:
        raise StackError("the servers' state file has vanished while they were starting")
    return Target(
        name="local",
        endpoints=endpoints,
        process_ids=stack.process_ids,
        servers=[
            Server(
                name=entry.spec.name, version=entry.spec.version, pid=entry.pid, command_line_options=entry.spec.options
            )
            for entry in state.servers
        ],
        java_versions={entry.spec.name: entry.spec.java_version for entry in state.servers},
        fresh=not {entry.pid for entry in state.servers} <= before,
        child_environment={STACK_MARKER: str(stack.folder)},
    )
