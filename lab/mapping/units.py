"""Units of a mapping whose cost can be measured: fields, nested arrays as a whole, small fields as one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError
from lab.profiles.mapping import MappingFile

NOT_THERE = (400, 404, 405, 501)
"""What servers answer to a request that they do not have."""


@dataclass(frozen=True)
class Unit:
    """Fields that are left out together.

    Attributes:
        name: What a table calls it: the field's own name, or `the other 7 fields`.
        type: The field's; empty for several.
        disk_bytes: What the sample's index spends on it, as Elasticsearch estimates; `None` where it does not say.
    """

    name: str
    fields: tuple[str, ...]
    type: str
    disk_bytes: int | None = field(default=None, compare=False)


def units_of(mapping: MappingFile, name: str) -> list[Unit]:
    """Every field of a mapping that costs something, in its order.

    Args:
        name: Of the mapping, for the message.

    Raises:
        ProfileError: It declares none: with dynamic mapping, documents decide what there is.
    """
    units = list(_units_below(mapping.get("mappings", {}).get("properties", {})))
    if not units:
        raise ProfileError(
            f"mapping {name}: declares no field that is indexed, expected a static mapping; "
            "`./sluice mapping infer` writes one"
        )
    return units


def _units_below(properties: Mapping[str, Any], prefix: str = "") -> Iterator[Unit]:
    for name, of in properties.items():
        kind = str(of.get("type", "object"))
        is_off = of.get("enabled") is False or (of.get("index") is False and of.get("doc_values") is False)
        if kind == "object" and "properties" in of and not is_off:
            yield from _units_below(of["properties"], f"{prefix}{name}.")
        elif not is_off and kind not in ("alias", "object"):
            yield Unit(f"{prefix}{name}", (f"{prefix}{name}",), kind)


def disk_bytes(cluster: ElasticsearchClient, index: str) -> dict[str, int] | None:
    """Field → bytes of an index that it takes, as `_disk_usage` estimates; `None` where the servers lack that.

    It is there from 7.15 on. Stored fields are counted as `_source`, and not by field.
    """
    status, answer = cluster.request("POST", f"/{index}/_disk_usage?run_expensive_tasks=true", accept=NOT_THERE)
    if status in NOT_THERE or index not in answer:
        return None
    return {name: int(of["total_in_bytes"]) for name, of in answer[index]["fields"].items()}


def with_disk_bytes(units: Sequence[Unit], sizes: Mapping[str, int] | None) -> list[Unit]:
    """The units with what they take, sub-fields and the fields of nested objects included; the largest first."""
    if sizes is None:
        return list(units)
    sized = [Unit(unit.name, unit.fields, unit.type, _bytes_of(unit, sizes)) for unit in units]
    return sorted(sized, key=lambda unit: -(unit.disk_bytes or 0))


def _bytes_of(unit: Unit, sizes: Mapping[str, int]) -> int:
    return sum(
        size for name, size in sizes.items() if any(name == of or name.startswith(f"{of}.") for of in unit.fields)
    )


def grouped(units: Sequence[Unit], most: int) -> list[Unit]:
    """No more than so many units: the first ones, and all others as one."""
    if len(units) <= most:
        return list(units)
    alone, rest = units[: most - 1], units[most - 1 :]
    known = [unit.disk_bytes for unit in rest if unit.disk_bytes is not None]
    together = tuple(name for unit in rest for name in unit.fields)
    return [*alone, Unit(f"the other {len(rest)} fields", together, "", sum(known) if known else None)]
