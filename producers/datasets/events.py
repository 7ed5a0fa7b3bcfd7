"""Monitoring events: the schema of Microsoft's guidance on Elasticsearch query performance on Azure, with real places.

The field names are that document's. It sets many fields to an empty string or to 0; here only the five custom fields
are empty, as they are custom, and all that an address register would say of the source is filled in from one city, so
that a query by country and one by coordinates find the same events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import repeat
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset, DatasetError, Record
from producers.datasets.cities import CITIES
from producers.datasets.fields import Pieces, digits_of, texts
from producers.hashing import Permutation, hashed, part

DEFAULT_EVENTS: Final = 100_000
DEFAULT_START: Final = "2016-02-01T00:00:00Z"
MOST_EVENTS: Final = 1 << 32
PORTS: Final = 1 << 16
WHAT, WHERE, REQUEST, TARGET = range(4)
"""What the random-looking bits are for."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


RATINGS: Final = _words(
    """Excellent Good Fair Poor Critical Unknown Trusted Suspicious Malicious Benign Low Moderate Elevated High Severe
    Info Notice Warning Alert Emergency"""
)
METHODS: Final = ("POST", "GET", "PUT")
USER_AGENTS: Final = tuple(
    f"{product}/{major}.{minor} ({system})"
    for product in ("MonitoringAgent", "HealthProbe", "UptimeCheck", "LogShipper")
    for major, minor in ((1, 4), (2, 0), (2, 7), (3, 1))
    for system in ("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15")
)
ORGANIZATION_NAMES: Final = tuple(
    f"{first} {second}"
    for first in _words(
        """Northwind Contoso Fabrikam Adatum Litware Proseware Tailspin Wingtip Lucerne Trey Alpine Blue Coho Fourth
        Graphic Humongous Margie Relecloud Southridge Woodgrove"""
    )
    for second in _words("Traders Systems Networks Energy Logistics Media Health Bank Labs Retail")
)
SERVICES: Final = _words("orders customers invoices metrics sessions devices alerts reports search catalog")
REQUEST_WORDS: Final = _words(
    """id page size sort from to filter status region zone tenant device sensor batch window limit offset
    cursor token view format locale
    version trace parent channel source target level group"""
)


@dataclass(frozen=True)
class _Tables:
    """Pieces of event JSON; each carries the JSON up to the next field."""

    organizations: Pieces
    hosts: Pieces
    methods: Pieces
    requests: Pieces
    agents: Pieces
    address_bytes: Pieces
    places: Pieces
    ports: Pieces
    ratings: Pieces


@cache
def _tables() -> _Tables:
    custom = "".join(f'"CustomField{number}":"",' for number in range(1, 6))
    bits = hashed(0, REQUEST, np.arange(4096, dtype=np.uint64)).tolist()
    return _Tables(
        organizations=Pieces(
            f'{{"Organization":"{name}","OrganizationName":"{name}",{custom}"DateTimeReceivedUtc":"'.encode()
            for name in ORGANIZATION_NAMES
        ),
        hosts=Pieces.of('Z","Host":"collector-%03d","HttpMethod":"', range(100)),
        methods=Pieces.of('%s","HttpReferrer":"https://', METHODS),
        requests=Pieces(_request(number).encode() for number in bits),
        agents=Pieces.of('%s","HttpVersion":"HTTP/1.1","SourceIp":"', USER_AGENTS),
        address_bytes=Pieces.of("%d", range(256)),
        places=Pieces(_place(number).encode() for number in range(len(CITIES))),
        ports=Pieces.of("%d", range(PORTS)),
        ratings=Pieces.of('","Rating":"%s","UseHumanReadableDateTimes":false}', RATINGS),
    )


def _request(bits: int) -> str:
    """A referrer, and a request of 10 to 200 characters."""
    service = SERVICES[bits % len(SERVICES)]
    query = []
    rest = bits // len(SERVICES)
    for _ in range(1 + bits % 9):
        query.append(f"{REQUEST_WORDS[rest % len(REQUEST_WORDS)]}={rest % 9973}")
        rest = rest // 61 + (rest % 7) * 7919
    return f'portal.example.com/{service}","HttpRequest":"/api/{service}?{"&".join(query)}","HttpUserAgent":"'


def _place(number: int) -> str:
    city = CITIES[number]
    return (
        f',"SourceIpAreaCode":{city.area_code},"SourceIpAsnNr":"AS{4000 + 97 * number:05d}",'
        f'"SourceIpCity":"{city.name}","SourceIpCountryCode":"{city.country_code}",'
        f'"SourceIpLatitude":{city.latitude},"SourceIpLongitude":{city.longitude},'
        f'"SourceIpMetroCode":{city.metro_code},"SourceIpPostalCode":"{city.postal_code}",'
        f'"SourceIpRegion":"{city.region}","SourceLatLong":{{"lat":{city.latitude},"lon":{city.longitude}}},'
        '"SourcePort":"'
    )


@dataclass(frozen=True)
class Events(Dataset):
    """Events at even intervals from one instant on.

    Attributes:
        start_us: Instant of event 0, microseconds since the Unix epoch.
        interval_us: From one event to the next.
        ascending: Keys grow with the event's number; otherwise they come in no visible order.
    """

    seed: int
    documents: int
    start_us: int
    interval_us: int
    ascending: bool

    name: ClassVar[str] = "events"

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and JSON of each event."""
        events = numbers.astype(np.uint64)
        table = _tables()
        what = hashed(self.seed, WHAT, events)
        where = hashed(self.seed, WHERE, events)
        target = hashed(self.seed, TARGET, events)
        source_ips = self._source_addresses(where)
        columns: tuple[Iterable[bytes], ...] = (
            table.organizations(part(what, 0, 16, len(table.organizations))),
            self._received(numbers),
            table.hosts(part(what, 16, 8, len(table.hosts))),
            table.methods(part(what, 24, 8, len(table.methods))),
            table.requests(part(what, 32, 12, len(table.requests))),
            table.agents(part(what, 44, 10, len(table.agents))),
            _dotted(source_ips),
            repeat(b'","SourceIpBase10":'),
            map(b"%d".__mod__, source_ips.tolist()),
            table.places(self._cities(where)),
            table.ports(1024 + part(target, 0, 16, PORTS - 1024)),
            repeat(b'","SourcedFrom":"MonitoringCollector","TargetIp":"'),
            _dotted(_target_addresses(target)),
            repeat(b'","TargetPort":"'),
            table.ports(part(target, 32, 10, 1024)),
            table.ratings(part(what, 54, 10, len(table.ratings))),
        )
        return list(zip(self.keys(numbers), map(b"".join, zip(*columns, strict=False)), strict=True))

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Ten digits each."""
        events = numbers.astype(np.uint64)
        ids = events if self.ascending else Permutation(MOST_EVENTS, self.seed)(events)
        return texts(digits_of(ids, 10))

    def _received(self, numbers: NDArray[np.int64]) -> list[bytes]:
        instants = (self.start_us + numbers * self.interval_us).astype("datetime64[us]")
        return instants.astype("datetime64[ms]").astype("S23").tolist()  # type: ignore[no-any-return]

    def _cities(self, where: NDArray[np.uint64]) -> NDArray[np.intp]:
        """A city each; the product of two choices makes the first in the table frequent and the last rare."""
        return part(where, 0, 16, len(CITIES)) * part(where, 16, 16, len(CITIES)) // len(CITIES)

    def _source_addresses(self, where: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """A public-looking address each, of a few thousand, and all addresses of a city in networks of its own."""
        network = np.uint64(12) + self._cities(where).astype(np.uint64) * np.uint64(2)
        return (network << np.uint64(24)) + (where >> np.uint64(32) & np.uint64(0x3F_FF))


def _target_addresses(target: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """From 0.0.100.100 to 255.9.100.100, as in the source."""
    first = (target >> np.uint64(42)) & np.uint64(0xFF)
    second = (target >> np.uint64(50)) % np.uint64(10)
    return (first << np.uint64(24)) + (second << np.uint64(16)) + np.uint64(100 * 256 + 100)


def _dotted(addresses: NDArray[np.uint64]) -> Iterable[bytes]:
    table = _tables().address_bytes
    parts = (table(((addresses >> np.uint64(shift)) & np.uint64(0xFF)).astype(np.intp)) for shift in (24, 16, 8, 0))
    return map(b".".join, zip(*parts, strict=True))


def make_events(
    *,
    documents: int | None,
    seed: int,
    start: str = DEFAULT_START,
    interval_us: int = 1000,
    key_order: str = "shuffled",
) -> Events:
    """So many events (100,000 unless asked otherwise).

    Raises:
        DatasetError: An option is out of range.
    """
    size = DEFAULT_EVENTS if documents is None else documents
    if size > MOST_EVENTS:
        raise DatasetError(f"documents: got {size}, expected at most {MOST_EVENTS} events")
    if interval_us < 0:
        raise DatasetError(f"interval_us: got {interval_us}, expected 0 or more")
    return Events(seed, size, _epoch_us(start), interval_us, key_order == "ascending")


def _epoch_us(start: str) -> int:
    try:
        instant = datetime.fromisoformat(start)
    except ValueError as error:
        raise DatasetError(f"start: got {start!r}, expected an instant such as {DEFAULT_START}") from error
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    since = instant - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
