"""Real data lies beside the checkout, never in it; where it is absent, a test that needs it skips and says so."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def shared_data(name: str) -> Path:
    """The folder shared/data/NAME beside the checkout or above; ATTNLAB_SHARED names another place for `shared`."""
    told = os.environ.get("ATTNLAB_SHARED")
    places = [Path(told)] if told else [above / "shared" for above in ROOT.parents]
    for place in places:
        if (place / "data" / name).is_dir():
            return place / "data" / name
    pytest.skip(f"no data/{name} in {' or '.join(map(str, places))}: nothing was tested on the real data")
