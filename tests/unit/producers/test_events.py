"""Monitoring events: the source's schema, places that agree with themselves."""

import ipaddress
import json
from bisect import bisect_left
from collections import Counter
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from producers.dataset import Dataset, DatasetError
from producers.datasets.cities import CITIES
from producers.datasets.events import COLUMNS
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage

FIELDS = [
    "Organization",
    "CustomField1",
    "CustomField2",
    "CustomField3",
    "CustomField4",
    "CustomField5",
    "DateTimeReceivedUtc",
    "Host",
    "HttpMethod",
    "HttpReferrer",
    "HttpRequest",
    "HttpUserAgent",
    "HttpVersion",
    "OrganizationName",
    "SourceIp",
    "SourceIpAreaCode",
    "SourceIpAsnNr",
    "SourceIpBase10",
    "SourceIpCity",
    "SourceIpCountryCode",
    "SourceIpLatitude",
    "SourceIpLongitude",
    "SourceIpMetroCode",
    "SourceIpPostalCode",
    "SourceIpRegion",
    "SourceLatLong",
    "SourcePort",
    "SourcedFrom",
    "TargetIp",
    "TargetPort",
    "Rating",
    "UseHumanReadableDateTimes",
]


def events_of(dataset: Dataset) -> list[Any]:
    """Every event, parsed."""
    return [json.loads(value) for batch in dataset.batches(0, dataset.documents) for _, value in batch]


@pytest.fixture(scope="module")
def events() -> list[Any]:
    """Enough events to see every value of every table."""
    return events_of(make_dataset("events", documents=20_011, seed=7))


def test_events_have_the_fields_of_the_source(events: list[Any]) -> None:
    """The names are those of the source, in every event; the five custom ones count as one of its 28."""
    assert all(set(event) == set(FIELDS) for event in events)


def test_organizations_and_ratings_are_as_many_as_in_the_source(events: list[Any]) -> None:
    """There are 200 organizations and 20 ratings."""
    assert len({event["Organization"] for event in events}) == 200
    assert len({event["Rating"] for event in events}) == 20
    assert all(event["Organization"] == event["OrganizationName"] for event in events)


def test_places_agree_with_themselves(events: list[Any]) -> None:
    """City, country, region, coordinates, postal and area code come from one real city."""
    cities = {city.name: city for city in CITIES}
    for event in events:
        city = cities[event["SourceIpCity"]]
        assert (city.country_code, city.region) == (event["SourceIpCountryCode"], event["SourceIpRegion"])
        assert (city.latitude, city.longitude) == (event["SourceIpLatitude"], event["SourceIpLongitude"])
        assert event["SourceLatLong"] == {"lat": city.latitude, "lon": city.longitude}
        assert (city.postal_code, city.area_code, city.metro_code) == (
            event["SourceIpPostalCode"],
            event["SourceIpAreaCode"],
            event["SourceIpMetroCode"],
        )


def test_there_are_cities_and_countries_enough() -> None:
    """At least 60 cities in at least 25 countries, all on Earth, none twice."""
    assert len({city.name for city in CITIES}) == len(CITIES) >= 60
    assert len({city.country_code for city in CITIES}) >= 25
    assert all(-90 < city.latitude < 90 and -180 < city.longitude < 180 for city in CITIES)


def test_addresses_are_addresses(events: list[Any]) -> None:
    """Source addresses are public, written twice the same, and those of one city share a network."""
    networks: dict[str, set[int]] = {}
    for event in events:
        source, target = ipaddress.IPv4Address(event["SourceIp"]), ipaddress.IPv4Address(event["TargetIp"])
        assert source.is_global, source
        assert int(source) == event["SourceIpBase10"]
        assert str(target).endswith(".100.100")
        networks.setdefault(event["SourceIpCity"], set()).add(int(source) >> 24)
    assert Counter(len(found) for found in networks.values()) == {1: len(networks)}


def test_requests_have_the_length_of_the_source(events: list[Any]) -> None:
    """From 10 to 200 characters."""
    lengths = [len(event["HttpRequest"]) for event in events]
    assert 10 <= min(lengths) < max(lengths) <= 200


def test_events_are_received_on_schedule() -> None:
    """Event i is received at start + i * interval."""
    dataset = make_dataset("events", documents=211, start="2024-02-29T23:59:59+09:00", interval_us=2500)
    instants = [datetime.fromisoformat(event["DateTimeReceivedUtc"]) for event in events_of(dataset)]
    assert instants[0].isoformat() == "2024-02-29T14:59:59+00:00"
    assert [round((instant - instants[0]).total_seconds() * 1000) for instant in instants] == [
        number * 5 // 2 for number in range(211)
    ]


def test_the_instant_may_have_the_name_that_index_modes_want() -> None:
    """Nothing else of an event changes, and the timeline is that of the field."""
    plain, renamed = (
        make_dataset("events", documents=11, time_field=name) for name in ("DateTimeReceivedUtc", "timestamp")
    )
    assert (plain.timeline.field, renamed.timeline.field) == ("DateTimeReceivedUtc", "@timestamp")  # type: ignore[union-attr]
    assert [value.replace(b'"DateTimeReceivedUtc"', b'"@timestamp"') for _, value in plain.records(np.arange(11))] == [
        value for _, value in renamed.records(np.arange(11))
    ]


@pytest.mark.parametrize("key_order", ["shuffled", "ascending"])
def test_keys_are_unique_and_ordered_as_asked(key_order: str) -> None:
    """No key occurs twice."""
    dataset = make_dataset("events", documents=5003, key_order=key_order)
    keys = [key for batch in dataset.batches(0, 5003) for key, _ in batch]
    assert len(set(keys)) == 5003
    assert (keys == sorted(keys)) is (key_order == "ascending")


def test_batches_agree_with_single_documents() -> None:
    """Random access gives the same bytes."""
    dataset = make_dataset("events", documents=1511)
    whole = [record for batch in dataset.batches(97, 1301) for record in batch]
    assert [(dataset.key(number), dataset.document(number)) for number in range(97, 1301, 131)] == whole[::131]
    assert [key for numbers in dataset.blocks(97, 1301) for key in dataset.keys(numbers)] == [key for key, _ in whole]


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"start": "yesterday"}, ("start", "'yesterday'", "2016-02-01T00:00:00Z")),
        ({"interval_us": -1}, ("interval_us", -1, 0)),
        ({"time_field": "when"}, ("time_field", "'when'", "DateTimeReceivedUtc", "timestamp")),
    ],
)
def test_impossible_options_are_refused(
    options: dict[str, Any], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """An option out of range is one sentence."""
    with pytest.raises(DatasetError) as refusal:
        make_dataset("events", **options)
    assert str(refusal.value) == message(*facts)


@pytest.mark.parametrize("field", COLUMNS)
def test_a_column_holds_what_the_json_holds(field: str) -> None:
    """Row for row, of a part that begins and ends anywhere, and every value stands in the list of all."""
    dataset = make_dataset("events", documents=3001, seed=7)
    column = dataset.column(field, 499, 2503)
    values = [column.value(code) for code in column.codes.tolist()]
    assert values == [event[field] for event in events_of(dataset)[499:2503]]
    assert (column.size, set(values) - set(COLUMNS[field] or values)) == (len(COLUMNS[field] or range(1 << 32)), set())


@pytest.mark.parametrize("interval_us", [1, 333, 1000, 7001])
@pytest.mark.parametrize("start", ["2016-02-01T00:00:00.000999Z", "1969-12-31T23:59:59.9995Z"])
def test_the_timeline_tells_instants_as_the_json_does(start: str, interval_us: int) -> None:
    """Cut off after the millisecond, before 1970 too; the first event at an instant is the first that says so."""
    dataset = make_dataset("events", documents=2003, start=start, interval_us=interval_us)
    timeline = dataset.timeline
    assert timeline is not None
    stored = [round(datetime.fromisoformat(event[timeline.field]).timestamp() * 1000) for event in events_of(dataset)]
    assert [timeline.instant_ms(number) for number in range(2003)] == stored
    for instant in range(stored[0] - 3, min(stored[-1], stored[0] + 3001) + 3):
        assert timeline.first_at(instant) == bisect_left(stored, instant)


def test_events_of_one_instant_all_come_first_at_it() -> None:
    """Without an interval there is one instant."""
    timeline = make_dataset("events", documents=7, interval_us=0).timeline
    assert timeline is not None
    now = timeline.instant_ms(5)
    assert (timeline.first_at(now), timeline.first_at(now + 1)) == (0, 7)


def test_datasets_without_a_timeline_say_so() -> None:
    """Books come in no order of time, and have no columns."""
    books = make_dataset("aladin", books=7)
    assert books.timeline is None
    with pytest.raises(KeyError, match="Rating"):
        books.column("Rating", 0, 7)


def test_a_payload_is_the_last_field_of_the_event_it_would_be_without() -> None:
    """Of the length asked for, another one for each event, and the same each time."""
    plain, with_payload = (
        [
            json.loads(value)
            for _, value in make_dataset("events", documents=3, payload_chars=chars).records(
                np.arange(3, dtype=np.int64)
            )
        ]
        for chars in (0, 1001)
    )
    payloads = [event.pop("Payload") for event in with_payload]
    assert (plain, [len(payload) for payload in payloads]) == (with_payload, [1001] * 3)
    assert len(set(payloads)) == 3


def test_a_payload_of_no_size_is_refused(message: MakeMessage) -> None:
    """In one sentence."""
    with pytest.raises(DatasetError) as caught:
        make_dataset("events", payload_chars=-1)
    assert str(caught.value) == message("payload_chars", -1, 0, "100,000")
