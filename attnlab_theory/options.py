"""The options of a run, apart from the loop that runs: the command line reads them before it imports jax."""

import dataclasses
from pathlib import Path
from typing import Literal

Budget = Literal["quick", "full"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run."""

    budget: Budget = "quick"
    """How many draws a claim may use: quick for a look, full for the committed results."""
    seed: int = 0
    """Every random number of the run follows from it."""
    out: Path = Path("lab")
    """Folder for the JSON and the figures; made if absent."""
    json: bool = False
    """Print one JSON value on standard output and nothing else."""
