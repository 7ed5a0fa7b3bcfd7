"""Monitoring events: the schema of Microsoft's guidance on Elasticsearch query performance on Azure, with real places.

The field names are that document's. It sets many fields to an empty string or to 0; here only the five custom fields
are empty, as they are custom, and all that an address register would say of the source is filled in from one city, so
that a query by country and one by coordinates find the same events.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import repeat
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Column, Dataset, DatasetError, Record, Timeline
from producers.datasets.cities import CITIES
from producers.datasets.fields import Pieces, digits_of, texts
from producers.hashing import Permutation, hashed, part

DEFAULT_EVENTS: Final = 100_000
DEFAULT_START: Final = "2016-02-01T00:00:00Z"
MOST_EVENTS: Final = 1 << 32
MOST_PAYLOAD_CHARS: Final = 100_000
TIME_FIELD: Final = "DateTimeReceivedUtc"
TIME_FIELDS: Final = {TIME_FIELD: TIME_FIELD, "timestamp": "@timestamp"}
"""How an option names the field with the instant → its name: the source's, and the one that some index modes want.

Neither YAML nor every shell takes a word that begins with `@`."""
PORTS: Final = 1 << 16
WHAT, WHERE, REQUEST, TARGET, PAYLOAD = range(5)
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

COUNTRIES: Final = tuple(dict.fromkeys(city.country_code for city in CITIES))
_COUNTRY_OF_CITY: Final = np.array([COUNTRIES.index(city.country_code) for city in CITIES])
_HOST: Final = "collector-%03d"
_HOSTS: Final = 100

COLUMNS: Final[Mapping[str, tuple[str | int, ...] | None]] = {
    "Organization": ORGANIZATION_NAMES,
    "Host": tuple(_HOST % number for number in range(_HOSTS)),
    "HttpMethod": METHODS,
    "HttpUserAgent": USER_AGENTS,
    "Rating": RATINGS,
    "SourceIp": None,
    "SourceIpCity": tuple(city.name for city in CITIES),
    "SourceIpCountryCode": COUNTRIES,
    "TargetPort": tuple(str(port) for port in range(1024)),
}
"""Fields that questions may be about → all values there are; `None` for addresses, too many to list."""


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
            f'{{"Organization":"{name}","OrganizationName":"{name}",{custom}"'.encode() for name in ORGANIZATION_NAMES
        ),
        hosts=Pieces.of(f'Z","Host":"{_HOST}","HttpMethod":"', range(_HOSTS)),
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
        payload_chars: Random base64 that each event carries besides; no codec saves more than a quarter of it.
        time_field: Name of the field with the instant.
    """

    seed: int
    documents: int
    start_us: int
    interval_us: int
    ascending: bool
    payload_chars: int = 0
    time_field: str = TIME_FIELD

    name: ClassVar[str] = "events"

    @property
    def timeline(self) -> Timeline:
        """The instant at which each event was received."""
        return Timeline(self.time_field, self.start_us, self.interval_us, self.documents)

    def column(self, field: str, start: int, stop: int) -> Column:
        """One of COLUMNS of the events [start, stop); 100,000 rows take a few milliseconds.

        Raises:
            KeyError: There is no such column.
        """
        purpose, codes_of = _CODES[field]
        codes = codes_of(hashed(self.seed, purpose, np.arange(start, stop, dtype=np.uint64))).astype(np.int64)
        values = COLUMNS[field]
        if values is None:
            return Column(codes, _address, 1 << 32)
        return Column(codes, values.__getitem__, len(values))

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and JSON of each event."""
        events = numbers.astype(np.uint64)
        table = _tables()
        what = hashed(self.seed, WHAT, events)
        where = hashed(self.seed, WHERE, events)
        target = hashed(self.seed, TARGET, events)
        source_ips = _source_addresses(where)
        columns: tuple[Iterable[bytes], ...] = (
            table.organizations(_organizations(what)),
            repeat(b'%b":"' % self.time_field.encode()),
            self._received(numbers),
            table.hosts(_hosts(what)),
            table.methods(_methods(what)),
            table.requests(part(what, 32, 12, len(table.requests))),
            table.agents(_agents(what)),
            _dotted(source_ips),
            repeat(b'","SourceIpBase10":'),
            map(b"%d".__mod__, source_ips.tolist()),
            table.places(_cities(where)),
            table.ports(1024 + part(target, 0, 16, PORTS - 1024)),
            repeat(b'","SourcedFrom":"MonitoringCollector","TargetIp":"'),
            _dotted(_target_addresses(target)),
            repeat(b'","TargetPort":"'),
            table.ports(_target_ports(target)),
            table.ratings(_ratings(what)),
        )
        values = map(b"".join, zip(*columns, strict=False))
        if self.payload_chars:
            values = map(_with_payload, values, self._payloads(events))
        return list(zip(self.keys(numbers), values, strict=True))

    def _payloads(self, events: NDArray[np.uint64]) -> Iterable[bytes]:
        # Eight random bytes a word, four characters for three bytes.
        words = -(-self.payload_chars * 3 // 4 // 8) + 1
        places = events[:, np.newaxis] * np.uint64(words) + np.arange(words, dtype=np.uint64)
        rows = hashed(self.seed, PAYLOAD, places.ravel().astype(np.uint64)).reshape(places.shape)
        return (b64encode(row.tobytes())[: self.payload_chars] for row in rows)

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Ten digits each."""
        events = numbers.astype(np.uint64)
        ids = events if self.ascending else Permutation(MOST_EVENTS, self.seed)(events)
        return texts(digits_of(ids, 10))

    def _received(self, numbers: NDArray[np.int64]) -> list[bytes]:
        instants = (self.start_us + numbers * self.interval_us).astype("datetime64[us]")
        return instants.astype("datetime64[ms]").astype("S23").tolist()  # type: ignore[no-any-return]


Bits = NDArray[np.uint64]


def _organizations(what: Bits) -> NDArray[np.intp]:
    return part(what, 0, 16, len(ORGANIZATION_NAMES))


def _hosts(what: Bits) -> NDArray[np.intp]:
    return part(what, 16, 8, _HOSTS)


def _methods(what: Bits) -> NDArray[np.intp]:
    return part(what, 24, 8, len(METHODS))


def _agents(what: Bits) -> NDArray[np.intp]:
    return part(what, 44, 10, len(USER_AGENTS))


def _ratings(what: Bits) -> NDArray[np.intp]:
    return part(what, 54, 10, len(RATINGS))


def _cities(where: Bits) -> NDArray[np.intp]:
    """A city each; the product of two choices makes the first in the table frequent and the last rare."""
    return part(where, 0, 16, len(CITIES)) * part(where, 16, 16, len(CITIES)) // len(CITIES)


def _countries(where: Bits) -> NDArray[np.intp]:
    return _COUNTRY_OF_CITY[_cities(where)]


def _source_addresses(where: Bits) -> Bits:
    """A public-looking address each, and all addresses of a city in networks of its own, 16,384 a city."""
    network = np.uint64(12) + _cities(where).astype(np.uint64) * np.uint64(2)
    return (network << np.uint64(24)) + (where >> np.uint64(32) & np.uint64(0x3F_FF))


def _target_ports(target: Bits) -> NDArray[np.intp]:
    return part(target, 32, 10, 1024)


_CODES: Final[Mapping[str, tuple[int, Callable[[Bits], NDArray[Any]]]]] = {
    "Organization": (WHAT, _organizations),
    "Host": (WHAT, _hosts),
    "HttpMethod": (WHAT, _methods),
    "HttpUserAgent": (WHAT, _agents),
    "Rating": (WHAT, _ratings),
    "SourceIp": (WHERE, _source_addresses),
    "SourceIpCity": (WHERE, _cities),
    "SourceIpCountryCode": (WHERE, _countries),
    "TargetPort": (TARGET, _target_ports),
}
"""Field → which bits its codes come from, and how."""


def _with_payload(event: bytes, payload: bytes) -> bytes:
    return b'%b,"Payload":"%b"}' % (event.removesuffix(b"}"), payload)


def _target_addresses(target: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """From 0.0.100.100 to 255.9.100.100, as in the source."""
    first = (target >> np.uint64(42)) & np.uint64(0xFF)
    second = (target >> np.uint64(50)) % np.uint64(10)
    return (first << np.uint64(24)) + (second << np.uint64(16)) + np.uint64(100 * 256 + 100)


def _address(number: int) -> str:
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


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
    payload_chars: int = 0,
    time_field: str = TIME_FIELD,
) -> Events:
    """So many events (100,000 unless asked otherwise); raises DatasetError if an option is out of range."""
    size = DEFAULT_EVENTS if documents is None else documents
    if size > MOST_EVENTS:
        raise DatasetError(f"documents: got {size}, expected at most {MOST_EVENTS} events")
    if interval_us < 0:
        raise DatasetError(f"interval_us: got {interval_us}, expected 0 or more")
    if not 0 <= payload_chars <= MOST_PAYLOAD_CHARS:
        raise DatasetError(f"payload_chars: got {payload_chars}, expected 0 to {MOST_PAYLOAD_CHARS:,}")
    if time_field not in TIME_FIELDS:
        raise DatasetError(f"time_field: got {time_field!r}, expected one of: {', '.join(TIME_FIELDS)}")
    return Events(
        seed, size, _epoch_us(start), interval_us, key_order == "ascending", payload_chars, TIME_FIELDS[time_field]
    )


def _epoch_us(start: str) -> int:
    try:
        instant = datetime.fromisoformat(start)
    except ValueError as error:
        raise DatasetError(f"start: got {start!r}, expected an instant such as {DEFAULT_START}") from error
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    since = instant - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
