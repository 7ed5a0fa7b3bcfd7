"""Records: what one stage writes, another reads; nobody changes it, and nothing in it is overlooked."""

import importlib
import inspect
import pkgutil

import pytest
from pydantic import ValidationError

from lab import records
from lab.records.base import Record
from lab.records.run import RunWarning, WarningKind
from lab.records.samples import KafkaSample


def record_types() -> list[type[Record]]:
    """Every kind of record."""
    names = [module.name for module in pkgutil.iter_modules(records.__path__)]
    modules = [importlib.import_module(f"lab.records.{name}") for name in names]
    kinds = {kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)}
    return sorted((kind for kind in kinds if issubclass(kind, Record)), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("record", record_types(), ids=lambda record: record.__name__)
def test_a_record_cannot_be_changed(record: type[Record]) -> None:
    """What was written down stays."""
    assert record.model_config.get("frozen") is True
    made = record.model_construct()
    with pytest.raises(ValidationError, match="Instance is frozen"):
        setattr(made, next(iter(record.model_fields), "anything"), 7)


@pytest.mark.parametrize("record", record_types(), ids=lambda record: record.__name__)
def test_a_record_refuses_a_key_that_it_does_not_know(record: type[Record]) -> None:
    """A reader of another version must not overlook what the writer says."""
    with pytest.raises(ValidationError) as refusal:
        record.model_validate({"said_by_a_later_version": 7})
    refused = {error["loc"] for error in refusal.value.errors() if error["type"] == "extra_forbidden"}
    assert refused == {("said_by_a_later_version",)}


@pytest.mark.parametrize("record", record_types(), ids=lambda record: record.__name__)
def test_a_record_says_what_it_is(record: type[Record]) -> None:
    """Its docstring is its own."""
    assert record.__doc__ != Record.__doc__ or record is Record


@pytest.mark.parametrize(("end", "committed", "lag"), [(1009, 1000, 9), (7, 7, 0), (7, 11, 0)])
def test_the_lag_is_end_minus_committed_and_never_negative(end: int, committed: int, lag: int) -> None:
    """The two are read one after the other."""
    assert KafkaSample(end_offset=end, committed_offset=committed).lag_records == lag


def test_a_count_is_never_negative() -> None:
    """A counter that fell is not written down as one."""
    with pytest.raises(ValidationError):
        KafkaSample(end_offset=-1, committed_offset=0)


def test_a_warning_is_of_a_known_kind() -> None:
    """The enum is closed."""
    with pytest.raises(ValidationError):
        RunWarning.model_validate({"kind": "bad_weather", "seen": "", "likely_cause": "", "remedy": ""})
    assert RunWarning(kind=WarningKind.COLD_SERVERS, seen="", likely_cause="", remedy="").kind == "cold_servers"
