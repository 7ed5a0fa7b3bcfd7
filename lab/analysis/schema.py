"""The JSON Schemas of `result.json` and `suite.json`."""

import json
import sys

from lab.records.base import Record
from lab.records.result import Result
from lab.records.suite import SuiteResult


def result_schema() -> str:
    """The schema of the `Result` record, as `docs/result.schema.json` holds it."""
    return _schema(Result)


def suite_schema() -> str:
    """The schema of the `SuiteResult` record, as `docs/suite.schema.json` holds it."""
    return _schema(SuiteResult)


def _schema(record: type[Record]) -> str:
    schema = record.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":  # python -m lab.analysis.schema [suite] >docs/result.schema.json
    sys.stdout.write(suite_schema() if sys.argv[1:] == ["suite"] else result_schema())
