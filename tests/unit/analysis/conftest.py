"""What tests of drawings add: charts are checked, which a run spares itself, and equal ones are drawn once."""

from collections.abc import Iterator
from typing import Any

import altair as alt
import orjson
import pytest
import vl_convert


@pytest.fixture(scope="session", autouse=True)
def _charts_keep_to_the_schema() -> Iterator[None]:
    """Every chart that is drawn here is valid Vega-Lite."""
    unchecked, valid = alt.LayerChart.to_dict, set[bytes]()

    def checked(chart: alt.LayerChart, **options: Any) -> dict[str, Any]:
        made: dict[str, Any] = unchecked(chart, **(options | {"validate": False}))
        if (key := orjson.dumps(made)) not in valid:
            unchecked(chart, **(options | {"validate": True}))
            valid.add(key)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alt.LayerChart, "to_dict", checked)
        yield


@pytest.fixture(scope="session", autouse=True)
def _equal_charts_are_drawn_once() -> Iterator[None]:
    """Most reports are of the same few runs."""
    draw, drawn = vl_convert.vegalite_to_svg, dict[bytes, str]()

    def once(spec: dict[str, Any], **options: Any) -> str:
        key = orjson.dumps((spec, options))
        if key not in drawn:
            drawn[key] = draw(spec, **options)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", once)
        yield
