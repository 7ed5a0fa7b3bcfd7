"""The JSON Schema of `result.json`."""

import json
import sys

from lab.records import Result


def result_schema() -> str:
    """The schema of the `Result` record, as `docs/result.schema.json` holds it."""
    schema = Result.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":  # python -m lab.analysis.schema >docs/result.schema.json
    sys.stdout.write(result_schema())
