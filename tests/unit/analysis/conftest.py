"""What tests of drawings add: charts are checked, which a run spares itself."""

from collections.abc import Iterator
from typing import Any

import altair as alt
import pytest


@pytest.fixture(scope="session", autouse=True)
def _charts_keep_to_the_schema() -> Iterator[None]:
    """Every chart that is drawn here is valid Vega-Lite."""
    unchecked = alt.LayerChart.to_dict

    def checked(chart: alt.LayerChart, **options: Any) -> dict[str, Any]:
        return unchecked(chart, **(options | {"validate": True}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alt.LayerChart, "to_dict", checked)
        yield
