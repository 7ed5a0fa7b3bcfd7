"""The three trivial servers of the stack's tests."""

from tests.unit.stack.conftest import _no_options_of_the_environment, marker, stack, wanted

__all__ = ["_no_options_of_the_environment", "marker", "stack", "wanted"]
