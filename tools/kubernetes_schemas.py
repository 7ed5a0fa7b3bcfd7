"""Makes the schemas that the resources of deploy/kubernetes are checked against: what the API servers know, cut small.

    PYTHONPATH=. PYTHON -m tools.kubernetes_schemas --crds FILE… --kubernetes SWAGGER.json --source TEXT…

Of each kind that our resources use it keeps the fields that they use, with types, required fields and allowed values,
and of all other fields the name. So an unknown field is found, and one that nobody used before is found, too, as one
that this file has to be made anew for. Descriptions are left out.

Sources: `CustomResourceDefinition`s as YAML (Strimzi's generator makes them of its Java classes, `io.strimzi:api`;
Elastic's are in the Go module `github.com/elastic/cloud-on-k8s`), and Kubernetes' OpenAPI (`k8s.io/kubernetes`).
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lab.stack.places import ROOT

SCHEMAS = ROOT / "tests" / "unit" / "deploy" / "schemas"
LEFT_OUT = "x-left-out"
"""Keyword of a field that nobody uses; whoever uses it is told to make the schemas anew."""
KEPT = ("type", "enum", "pattern", "minimum", "maximum", "minItems", "maxItems", "required")
BRANCHES = ("anyOf", "oneOf", "allOf")
KUBERNETES = {"ConfigMap", "Secret", "Namespace", "Job", "Deployment", "NetworkPolicy"}
POD_TEMPLATE = "PodTemplateSpec"
"""What ECK takes without looking at it, and Kubernetes then looks at."""

Schema = dict[str, Any]


def cut(schema: Schema, instances: Sequence[Any], definitions: Mapping[str, Schema]) -> Schema:
    """A schema without what none of the instances uses.

    Args:
        definitions: What `$ref` refers to, by its last part.
    """
    if reference := schema.get("$ref"):
        schema = definitions[str(reference).rpartition("/")[2]]
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    kept = {name: schema[name] for name in KEPT if name in schema}
    kept |= {name: [plain(branch) for branch in schema[name]] for name in BRANCHES if name in schema}
    objects = [instance for instance in instances if isinstance(instance, dict)]
    if "properties" in schema:
        kept["properties"] = {
            name: of_field(below, [each[name] for each in objects if name in each], definitions)
            for name, below in sorted(schema["properties"].items())
        }
    if isinstance(values := schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = cut(values, [value for each in objects for value in each.values()], definitions)
    elif "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        kept["additionalProperties"] = False
    if "items" in schema:
        elements = [element for instance in instances if isinstance(instance, list) for element in instance]
        kept["items"] = cut(schema["items"], elements, definitions)
    return kept


def of_field(schema: Schema, instances: Sequence[Any], definitions: Mapping[str, Schema]) -> Schema:
    """A field that some instance uses, cut; or a mark."""
    return cut(schema, instances, definitions) if instances else {LEFT_OUT: True}


def plain(branch: Any) -> Any:
    """A branch of a choice without descriptions; it names fields and forbids none."""
    if isinstance(branch, dict):
        return {name: plain(below) for name, below in branch.items() if name != "description"}
    return [plain(below) for below in branch] if isinstance(branch, list) else branch


# --- sources --------------------------------------------------------------------------------------------------------


def custom_resources(files: Iterable[Path]) -> Iterator[tuple[str, str, Schema]]:
    """`apiVersion`, kind and schema of each served version of each `CustomResourceDefinition`."""
    for file in files:
        for document in yaml.safe_load_all(file.read_text("utf-8")):
            if not document or document.get("kind") != "CustomResourceDefinition":
                continue
            spec = document["spec"]
            for version in spec["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                yield f"{spec['group']}/{version['name']}", spec["names"]["kind"], schema


def kubernetes_resources(swagger: Path) -> tuple[Mapping[str, Schema], dict[tuple[str, str], Schema]]:
    """All definitions of Kubernetes' OpenAPI, and those of the kinds that we use, by `apiVersion` and kind."""
    whole = json.loads(swagger.read_text("utf-8"))
    definitions: Mapping[str, Schema] = whole.get("definitions") or whole["$defs"]
    found: dict[tuple[str, str], Schema] = {}
    for schema in definitions.values():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            if kind["kind"] in KUBERNETES:
                api = "/".join(part for part in (kind["group"], kind["version"]) if part)
                found[api, kind["kind"]] = schema
    return definitions, found


def pod_templates(resources: Iterable[Mapping[str, Any]]) -> list[Any]:
    """What the resources say of pods to ECK."""
    specs = [resource["spec"] for resource in resources if "k8s.elastic.co" in resource["apiVersion"]]
    holders = [holder for spec in specs for holder in (spec, *spec.get("nodeSets", ()))]
    return [holder["podTemplate"] for holder in holders if "podTemplate" in holder]


def main() -> None:
    """Write the schemas of all kinds that our resources use."""
    from tests.unit.deploy.resources import all_resources  # noqa: PLC0415 - needs kubectl

    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--crds", type=Path, nargs="+", required=True)
    arguments.add_argument("--kubernetes", type=Path, required=True)
    arguments.add_argument("--source", nargs="+", required=True, help="What the files are, with versions.")
    given = arguments.parse_args()

    resources = all_resources()
    definitions, schemas = kubernetes_resources(given.kubernetes)
    schemas |= {(api, kind): schema for api, kind, schema in custom_resources(given.crds)}
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for old in SCHEMAS.glob("*.json"):
        old.unlink()
    for api, kind in sorted({(resource["apiVersion"], resource["kind"]) for resource in resources}):
        used = [resource for resource in resources if (resource["apiVersion"], resource["kind"]) == (api, kind)]
        write(kind, api, cut(schemas[api, kind], used, definitions), given.source)
    template = next(schema for name, schema in definitions.items() if name.endswith(f".core.v1.{POD_TEMPLATE}"))
    write(POD_TEMPLATE, "v1", cut(template, pod_templates(resources), definitions), given.source)


def write(kind: str, api: str, schema: Schema, sources: Sequence[str]) -> None:
    """A schema with where it is from; the sources are sorted out by the reader: `apiVersion` tells whose it is."""
    whole = {"$comment": f"{api} {kind}; made by tools/kubernetes_schemas.py from {'; '.join(sources)}", **schema}
    (SCHEMAS / f"{kind}.json").write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
