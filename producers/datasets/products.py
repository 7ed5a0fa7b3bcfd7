"""Products of a price comparison: Korean names, makers, categories, attributes and a year of prices, about 1 kB each.

A published test (Danawa, 2020) indexes 39 to 40 million of them into each of ten indices; its documents are not public,
only what they describe is. Names, kinds and attributes agree: a drill has no screen size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset, DatasetError, Record
from producers.datasets.fields import Pieces, digits_of, texts
from producers.hashing import Permutation, hashed, part

DEFAULT_PRODUCTS: Final = 100_000
MOST_PRODUCTS: Final = 1 << 32
MONTHS: Final = 12
WHAT, WHICH, PRICES, SHOPS = range(4)
"""What the random-looking bits are for."""


@dataclass(frozen=True)
class Kind:
    """A kind of product.

    Attributes:
        path: Its categories, the widest first.
        makers: Who makes it.
        lines: The product line of each maker.
        attributes: Name → the values that there are; a product's name ends in the first two of its own.
        price: About what it costs, in won.
    """

    path: tuple[str, str, str]
    makers: tuple[str, ...]
    lines: tuple[str, ...]
    attributes: tuple[tuple[str, tuple[str, ...]], ...]
    price: int


def _kind(path: str, makers: str, lines: str, price: int, **attributes: str) -> Kind:
    first, second, third = path.split(" > ")
    named = tuple((name, tuple(values.split("|"))) for name, values in attributes.items())
    return Kind((first, second, third), tuple(makers.split("|")), tuple(lines.split("|")), named, price)


KINDS: Final = (
    _kind(
        "컴퓨터/노트북 > 노트북 > 사무용 노트북",
        "삼성전자|LG전자|레노버|ASUS|HP|MSI|한성컴퓨터",
        "갤럭시북|그램|씽크패드|비보북|파빌리온|모던|언더케이지",
        1_290_000,
        화면크기="15.6인치|14인치|16인치|13.3인치|17인치",
        메모리="16GB|8GB|32GB",
        저장장치="SSD 512GB|SSD 256GB|SSD 1TB",
        운영체제="윈도우11홈|미포함(프리도스)|리눅스",
        무게="1.19kg|1.35kg|1.62kg|0.99kg",
    ),
    _kind(
        "컴퓨터/노트북 > 저장장치 > SSD",
        "삼성전자|SK하이닉스|마이크론|WD|씨게이트",
        "990 프로|골드 P31|크루셜 P3|블랙 SN850X|파이어쿠다",
        118_000,
        용량="1TB|2TB|500GB|4TB",
        폼팩터="M.2 (2280)|6.4cm(2.5형)",
        인터페이스="PCIe4.0x4|PCIe3.0x4|SATA3",
        순차읽기="7,450MB/s|3,500MB/s|560MB/s",
        보증기간="5년|3년",
    ),
    _kind(
        "가전/TV > 영상가전 > TV",
        "삼성전자|LG전자|TCL|더함|이노스",
        "네오 QLED|올레드 에보|크리스탈 UHD|우버|제로베젤",
        1_780_000,
        화면크기="163cm(65인치)|139cm(55인치)|189cm(75인치)|108cm(43인치)",
        해상도="4K UHD|8K UHD|FHD",
        주사율="120Hz|60Hz|144Hz",
        설치형태="벽걸이형|스탠드형",
        에너지효율="1등급|2등급|3등급|4등급",
    ),
    _kind(
        "가전/TV > 생활가전 > 청소기",
        "다이슨|LG전자|삼성전자|로보락|일렉트로룩스|신일",
        "V15 디텍트|코드제로 A9S|비스포크 제트|S8 프로|웰 Q7|파워싸이클론",
        689_000,
        형태="무선 스틱형|로봇청소기|핸디형|유선 진공",
        흡입력="230W|210AW|7,000Pa|150AW",
        사용시간="60분|40분|180분|120분",
        먼지통="0.76L|0.4L|2.5L",
        색상="실버|화이트|블랙|네이비",
    ),
    _kind(
        "가전/TV > 주방가전 > 전기밥솥",
        "쿠쿠전자|쿠첸|PN풍년|키친아트",
        "트윈프레셔|121 마스터|오푸드|라팡",
        268_000,
        용량="6인용|10인용|3인용",
        압력방식="IH압력밥솥|열판압력밥솥|비압력",
        내솥="풀스테인리스|나노 다이아몬드|엑스월 블랙",
        색상="화이트|로즈골드|블랙",
        음성안내="한국어|한국어,영어,중국어",
    ),
    _kind(
        "식품/유아/완구 > 가공식품 > 라면",
        "농심|오뚜기|삼양식품|팔도|풀무원",
        "신라면|진라면 매운맛|불닭볶음면|비빔면|생면식감",
        4_100,
        수량="40개|20개|10개|5개",
        용량="120g|140g|65g|110g",
        포장="봉지면|컵면",
        매운맛="보통맛|매운맛|순한맛",
        보관="실온보관|냉장보관",
    ),
    _kind(
        "식품/유아/완구 > 유아용품 > 기저귀",
        "하기스|팸퍼스|보솜이|군|마미포코",
        "네이처메이드|베이비드라이|원더바이원더|슈퍼슬림|에어핏",
        38_900,
        단계="4단계(대형)|3단계(중형)|5단계(특대형)|2단계(소형)",
        형태="팬티형|밴드형",
        수량="128매|64매|156매|40매",
        성별="공용|남아용|여아용",
        계절="사계절용|여름용",
    ),
    _kind(
        "스포츠/골프 > 등산/캠핑 > 텐트",
        "코베아|스노우피크|노스피크|네이처하이크|콜맨",
        "고스트 플러스|랜드락|골드 벙커돔|빌리지13|웨더마스터",
        547_000,
        사용인원="4~5인용|2~3인용|6인 이상",
        형태="거실형|돔형|원터치|타프쉘",
        내수압="3,000mm|2,000mm|5,000mm",
        재질="폴리에스터|면혼방|나일론",
        무게="18.5kg|4.2kg|27kg",
    ),
    _kind(
        "자동차/공구 > 전동공구 > 드릴",
        "보쉬|디월트|마끼다|밀워키|계양전기|아임삭",
        "GSB 18V-55|DCD796|DHP484|M18 FPD2|DM18BL|BD18BL",
        214_000,
        전압="18V|14.4V|12V|220V",
        방식="충전식|유선",
        최대토크="55Nm|95Nm|135Nm|40Nm",
        구성="배터리 2개|배터리 1개|본체만",
        모터="브러시리스|브러시",
    ),
    _kind(
        "가구/조명 > 사무용가구 > 사무용의자",
        "시디즈|퍼시스|듀오백|허먼밀러|이케아",
        "T50|ITIS|브라보|에어론|마르쿠스",
        312_000,
        등받이="메쉬|가죽|패브릭",
        팔걸이="높이조절|고정형|4D 조절|없음",
        헤드레스트="있음|없음",
        색상="블랙|그레이|화이트 프레임|블루",
        최대하중="120kg|100kg|158kg",
    ),
    _kind(
        "패션/화장품 > 기초화장품 > 크림",
        "이니스프리|설화수|라네즈|닥터지|에스트라|CJ올리브네트웍스",
        "그린티|자음생|워터뱅크|레드 블레미쉬|아토베리어365|바이오힐보",
        29_800,
        용량="50ml|80ml|100ml|75ml",
        피부타입="모든피부용|건성|지성|민감성",
        기능="수분공급|주름개선|미백|진정",
        제형="크림|젤|밤",
        사용부위="얼굴용|얼굴+바디",
    ),
    _kind(
        "휴대폰/태블릿 > 주변기기 > 무선이어폰",
        "삼성전자|애플|소니|젠하이저|QCY|브리츠",
        "갤럭시 버즈|에어팟 프로|WF-1000XM5|모멘텀|멜로버즈|어쿠스틱",
        189_000,
        착용방식="커널형|오픈형|이어훅",
        블루투스="v5.3|v5.2|v5.0",
        재생시간="8시간|6시간|10시간|4.5시간",
        소음제거="액티브 노이즈캔슬링|통화 노이즈캔슬링|없음",
        색상="화이트|그라파이트|블랙|실버",
    ),
)
MAKERS: Final = tuple(dict.fromkeys(maker for kind in KINDS for maker in kind.makers))
SHOPS_SOLD_IN: Final = (
    "11번가",
    "G마켓",
    "옥션",
    "쿠팡",
    "SSG.COM",
    "롯데ON",
    "위메프",
    "인터파크",
    "하이마트",
    "전자랜드",
)
REMARKS: Final = (
    "당일발송 가능한 상품이며 지역에 따라 추가 배송비가 발생할 수 있습니다.",
    "제조사 사정에 따라 사양이 예고 없이 변경될 수 있으니 구매 전에 확인하시기 바랍니다.",
    "병행수입 상품은 국내 공식 수입처의 사후 서비스를 받지 못할 수 있습니다.",
    "카드사 할인과 쇼핑몰 쿠폰은 최저가에 포함되어 있지 않습니다.",
    "색상과 구성품은 판매처마다 다르므로 상품 상세 설명을 참고하시기 바랍니다.",
    "신제품 출시 행사 기간에는 사은품이 조기에 소진될 수 있습니다.",
    "설치가 필요한 상품은 판매처에서 설치비를 따로 받을 수 있습니다.",
    "유통기한과 제조일자는 입고 시점에 따라 다를 수 있습니다.",
)


@dataclass(frozen=True)
class _Tables:
    """Pieces of product JSON, by kind where they depend on it; each carries the JSON up to the next field.

    Attributes:
        heads: Up to the model number in the name, a kind's after each other.
        head_of_kind, heads_in_kind: Kind → its first one, and how many it has.
        bodies: From the rest of the name to the model number in its own field, likewise.
    """

    heads: Pieces
    head_of_kind: NDArray[np.int64]
    heads_in_kind: NDArray[np.int64]
    bodies: Pieces
    body_of_kind: NDArray[np.int64]
    bodies_in_kind: NDArray[np.int64]
    base_prices: NDArray[np.int64]
    numbers: Pieces
    shops: Pieces
    remarks: Pieces
    registered: Pieces
    ratings: Pieces


def _heads(kind: Kind) -> list[bytes]:
    return [
        f'{{"maker":"{maker}","brand":"{line}","name":"{maker} {line} '.encode()
        for maker, line in zip(kind.makers, kind.lines, strict=True)
    ]


BODIES_OF_A_KIND: Final = 64


def _bodies(number: int, kind: Kind) -> list[bytes]:
    """So many combinations of attribute values, the same ones in every process."""
    bits = hashed(0, number, np.arange(BODIES_OF_A_KIND, dtype=np.uint64)).tolist()
    return [_body(kind, value) for value in bits]


def _body(kind: Kind, bits: int) -> bytes:
    chosen = []
    for name, values in kind.attributes:
        bits, rest = divmod(bits, len(values))
        chosen.append((name, values[rest]))
    path = kind.path
    categories = ",".join(f'"{name}"' for name in path)
    attributes = ",".join(f'{{"name":"{name}","value":"{value}"}}' for name, value in chosen)
    return (
        f' {chosen[0][1]} {chosen[1][1]}","categories":[{categories}],"categoryPath":"{" > ".join(path)}",'
        f'"attributes":[{attributes}],"keywords":"{path[2]} {" ".join(value for _, value in chosen)}","modelNumber":"'
    ).encode()


@cache
def _tables() -> _Tables:
    heads, bodies = [_heads(kind) for kind in KINDS], [_bodies(number, kind) for number, kind in enumerate(KINDS)]
    head_counts, body_counts = ([len(each) for each in pieces] for pieces in (heads, bodies))
    return _Tables(
        heads=Pieces(piece for each in heads for piece in each),
        head_of_kind=np.cumsum([0, *head_counts[:-1]]),
        heads_in_kind=np.array(head_counts),
        bodies=Pieces(piece for each in bodies for piece in each),
        body_of_kind=np.cumsum([0, *body_counts[:-1]]),
        bodies_in_kind=np.array(body_counts),
        base_prices=np.array([kind.price for kind in KINDS]),
        numbers=Pieces.of("%d", range(1000)),
        shops=Pieces.of('%s"', SHOPS_SOLD_IN),
        remarks=Pieces.of(',"description":"%s', REMARKS),
        registered=Pieces.of('"registered":"%s"', [f"{2011 + n // 12}-{1 + n % 12:02d}" for n in range(96)]),
        ratings=Pieces.of('"rating":%s', [f"{number / 10:.1f}" for number in range(20, 51)]),
    )


@dataclass(frozen=True)
class Products(Dataset):
    """Products, each of one kind.

    Attributes:
        ascending: Keys grow with the product's number; otherwise they come in no visible order.
    """

    seed: int
    documents: int
    ascending: bool

    name: ClassVar[str] = "products"

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and JSON of each product."""
        products, table = numbers.astype(np.uint64), _tables()
        what = hashed(self.seed, WHAT, products)
        shops = hashed(self.seed, SHOPS, products)
        kinds = part(what, 0, 16, len(KINDS))
        keys = self.keys(numbers)
        models = texts(digits_of(what >> np.uint64(32), 6))
        prices = self._prices(products, table.base_prices[kinds])
        lowest = prices.min(axis=1).tolist()
        columns: tuple[Iterable[bytes], ...] = (
            table.heads(table.head_of_kind[kinds] + _below(what, 16, table.heads_in_kind[kinds])),
            models,
            table.bodies(table.body_of_kind[kinds] + _below(what, 24, table.bodies_in_kind[kinds])),
            models,
            repeat(b'","productId":'),
            map(b"%d".__mod__, self._ids(products).tolist()),
            repeat(b","),
            table.registered(part(shops, 0, 12, 96)),
            repeat(b',"lowestPrice":'),
            map(b"%d".__mod__, lowest),
            repeat(b',"priceHistory":['),
            _history(prices),
            repeat(b'],"shop":"'),
            table.shops(part(shops, 12, 12, len(SHOPS_SOLD_IN))),
            repeat(b',"shops":'),
            table.numbers(1 + part(shops, 24, 10, 300)),
            repeat(b',"reviews":'),
            table.numbers(part(shops, 34, 10, 1000)),
            repeat(b","),
            table.ratings(part(shops, 44, 8, 31)),
            table.remarks(part(shops, 52, 6, len(REMARKS))),
            repeat(b'"}'),
        )
        return list(zip(keys, map(b"".join, zip(*columns, strict=False)), strict=True))

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Ten digits each."""
        return texts(digits_of(self._ids(numbers.astype(np.uint64)), 10))

    def _ids(self, products: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return products if self.ascending else Permutation(MOST_PRODUCTS, self.seed)(products)

    def _prices(self, products: NDArray[np.uint64], base: NDArray[np.int64]) -> NDArray[np.int64]:
        """A price each month, shape (products, months): between 70 and 130 % of its kind's, to ten won."""
        places = products[:, np.newaxis] * np.uint64(MONTHS) + np.arange(MONTHS, dtype=np.uint64)
        bits = hashed(self.seed, PRICES, places.ravel().astype(np.uint64)).reshape(places.shape)
        own = 800 + part(hashed(self.seed, WHICH, products), 0, 16, 401)
        monthly = 950 + part(bits, 0, 16, 101)
        return base[:, np.newaxis] * own[:, np.newaxis] * monthly // 10_000_000 * 10


def _below(bits: NDArray[np.uint64], shift: int, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A choice below each size, from eight of the bits."""
    return ((bits >> np.uint64(shift) & np.uint64(0xFF)).astype(np.int64) * sizes) >> 8


_HISTORY: Final = ",".join(f'{{"month":"2019-{month:02d}","price":%d}}' for month in range(1, MONTHS + 1)).encode()


def _history(prices: NDArray[np.int64]) -> Iterable[bytes]:
    return (_HISTORY % tuple(row) for row in prices.tolist())


def make_products(*, documents: int | None, seed: int, key_order: str = "shuffled") -> Products:
    """So many products (100,000 unless asked otherwise); raises DatasetError if an option is out of range."""
    size = DEFAULT_PRODUCTS if documents is None else documents
    if size > MOST_PRODUCTS:
        raise DatasetError(f"documents: got {size}, expected at most {MOST_PRODUCTS} products")
    return Products(seed, size, key_order == "ascending")
