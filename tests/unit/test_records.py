"""Records: what one stage writes, another reads; nobody changes it, and nothing in it is overlooked."""

import importlib
import inspect
import pkgutil

import pytest
from pydantic import ValidationError

from lab import records
from lab.records.base import Record
from lab.records.fates import FATES
from lab.records.run import RunWarning, WarningKind
from lab.records.samples import KafkaSample, SinkSample
from lab.records.verification import Ledger


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


def test_every_fate_has_its_counts() -> None:
    """In the ledger and in the samples, which both hold nothing else beside what was read and what is in flight."""
    fates = {fate.name for fate in FATES}
    assert set(Ledger.model_fields) == fates | {"read", "in_flight"}
    assert {name for name in SinkSample.model_fields if name.startswith("records_")} == {
        f"records_{name}" for name in Ledger.model_fields
    }


def test_a_ledger_without_the_later_fates_is_read() -> None:
    """A result of before knew neither failure store nor pipelines."""
    older = dict.fromkeys(set(Ledger.model_fields) - {"redirected", "dropped_by_pipeline"}, 0)
    ledger = Ledger.model_validate(older | {"read": 3, "indexed": 3})
    assert (ledger.accounted, ledger.stored, ledger.redirected) == (3, 3, 0)


def test_what_is_redirected_or_dropped_is_accounted_for_and_not_stored() -> None:
    """It is not in the index."""
    zero = dict.fromkeys(Ledger.model_fields, 0)
    ledger = Ledger(**(zero | {"read": 12, "indexed": 5, "redirected": 3, "dropped_by_pipeline": 4}))
    assert (ledger.accounted, ledger.stored) == (12, 5)
