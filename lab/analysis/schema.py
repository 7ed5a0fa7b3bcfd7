"""The JSON Schemas of `result.json` and `suite.json`."""

import json
import sys

from lab.records.base import Record
from lab.records.result import Result
from lab.records.suite import SuiteResult


def json_schema(record: type[Record]) -> str:
    """The schema of a record, as `docs/result.schema.json` and `docs/suite.schema.json` hold them."""
    schema = record.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":  # python -m lab.analysis.schema [suite] >docs/result.schema.json
    sys.stdout.write(json_schema(SuiteResult if sys.argv[1:] == ["suite"] else Result))
