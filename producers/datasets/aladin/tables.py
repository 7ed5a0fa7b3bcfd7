"""Ready-made pieces of book JSON, so that a document is one look-up per field and one join.

Every piece carries the JSON up to the next field. A title, for instance, ends with `","author":"`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from producers.datasets.aladin import words
from producers.datasets.fields import Pieces
from producers.hashing import hashed

PRODUCT_LINK: Final = b'"https://www.aladin.co.kr/shop/wproduct.aspx?ItemId='
OFFER_LINK: Final = b'"https://www.aladin.co.kr/shop/UsedShop/wuseditemall.aspx?ItemId='
SHELF_ORDERS: Final = 1024
"""How many different orders of shops there are for a book to take its first ones from."""
ITEM_COUNTS: Final = 30
PRICE_STEP_WON: Final = 100


@dataclass(frozen=True)
class Tables:
    """Every table of pieces, in the order of the fields.

    Attributes:
        first_prices: By priceStandard in steps of 100 won: it, priceSales (a tenth less), the next name.
        sales_prices: By the same number: priceSales again, for the new book, up to its link.
        offers: By shop * ITEM_COUNTS + itemCount - 1: from the opening brace up to the price.
        offer_prices: By minPrice in steps of 100 won, up to the link.
        shops: The shop ids themselves.
    """

    title_beginnings: Pieces
    title_endings: Pieces
    authors: Pieces
    publishers: Pieces
    publication_dates: Pieces
    categories: Pieces
    first_prices: Pieces
    sales_points: Pieces
    ranks: Pieces
    sales_prices: Pieces
    offers: Pieces
    offer_prices: Pieces
    shops: Pieces


LOWEST_PRICE: Final = 60
HIGHEST_PRICE: Final = 450
"""Bounds of priceStandard in steps of 100 won; the tables of prices begin at 0 so that a price is its own number."""


@cache
def tables() -> Tables:
    """The tables, made once per process."""
    dates = np.arange("1990-01-01", "2024-01-01", dtype="datetime64[D]").astype(str).tolist()
    prices = range(HIGHEST_PRICE + 1)
    return Tables(
        title_beginnings=Pieces.of(
            '","title":"[중고] %s', (f"{first} {then}" for first in words.DESCRIPTIONS for then in words.SUBJECTS)
        ),
        title_endings=Pieces.of('%s","author":"', words.ENDINGS),
        authors=Pieces.of(
            '%s 지음","publisher":"', (family + given for family in words.SURNAMES for given in words.GIVEN_NAMES)
        ),
        publishers=Pieces.of('%s","pubDate":"', words.PUBLISHERS),
        publication_dates=Pieces.of('%s","categoryId":', dates),
        categories=Pieces.of('%d,"categoryName":"%s","priceStandard":', words.CATEGORIES),
        first_prices=Pieces.of(
            '%d,"priceSales":%d,"salesPoint":', ((p * PRICE_STEP_WON, p * PRICE_STEP_WON * 9 // 10) for p in prices)
        ),
        sales_points=Pieces.of('%d,"customerReviewRank":', (point * point // 40 for point in range(2048))),
        ranks=Pieces.of('%d,"cover":"https://image.aladin.co.kr/product/', range(11)),
        sales_prices=Pieces(
            b'","priceSales":%d,"link":' % (p * PRICE_STEP_WON * 9 // 10) + PRODUCT_LINK for p in prices
        ),
        offers=Pieces.of(
            '{"shop_id":"%s","itemCount":%d,"minPrice":',
            ((shop, count) for shop in words.SHOPS for count in range(1, ITEM_COUNTS + 1)),
        ),
        offer_prices=Pieces(b'%d,"link":' % (p * PRICE_STEP_WON) + OFFER_LINK for p in prices),
        shops=Pieces.of("%s", words.SHOPS),
    )


@cache
def shelf_orders(seed: int) -> NDArray[np.intp]:
    """SHELF_ORDERS orders of all shops, drawn without replacement, a popular shop more likely early.

    Shape (SHELF_ORDERS, shops). The weight of the shop at position k is 60 / (k + 3), in integers.
    """
    shops = len(words.SHOPS)
    weights = np.tile(6000 // np.arange(3, shops + 3), (SHELF_ORDERS, 1))
    rows = np.arange(SHELF_ORDERS)
    orders = np.empty((SHELF_ORDERS, shops), dtype=np.intp)
    for place in range(shops):
        sums = weights.cumsum(axis=1)
        draws = hashed(seed, 1000 + place, rows.astype(np.uint64)) % sums[:, -1].astype(np.uint64)
        chosen = (sums > draws.astype(np.int64)[:, None]).argmax(axis=1)
        orders[:, place] = chosen
        weights[rows, chosen] = 0
    return orders
