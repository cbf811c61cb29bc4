"""The plugin that pytest finds by itself: known failures of conformance tests, each with its reason.

It does nothing unless `--xfails-file FILE` asks for it, and imports nothing of the lab. A line of the file is
the id of a test, a # and the reason. A known failure that passes is reported as a failure: its line is to go.

The conftest of array-api-tests has an option of that name. So it is added after the conftests are loaded, and only
where none of them has it. `--conform-xfails` is the same, and always there.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


NAME = "--xfails-file"


def pytest_addoption(parser: "pytest.Parser", pluginmanager: "pytest.PytestPluginManager") -> None:
    """Add the option."""
    import pytest

    group = parser.getgroup("attnlab")
    group.addoption(
        "--conform-xfails", metavar="FILE", help="known failures of conformance tests: lines of ID # reason"
    )

    class Afterwards:
        """Adds the short name, unless a conftest or another plugin has it."""

        @pytest.hookimpl(wrapper=True)
        def pytest_load_initial_conftests(self) -> "Iterator[None]":
            found = yield
            _, unknown = parser.parse_known_and_unknown_args([f"{NAME}=FILE"])
            if unknown:
                group.addoption(NAME, dest="conform_xfails", metavar="FILE", help="the same as --conform-xfails")
            return found

    pluginmanager.register(Afterwards())


def pytest_collection_modifyitems(config: "pytest.Config", items: "list[pytest.Item]") -> None:
    """Mark what is known to fail."""
    path = config.getoption("conform_xfails")
    if path is None:
        return
    import pytest

    known = _known(Path(path))
    for item in items:
        if item.nodeid in known:
            item.add_marker(pytest.mark.xfail(reason=known.pop(item.nodeid), strict=True))
    # Who names single tests collects only those; else a line that names nothing is a misspelt one.
    files = {item.nodeid.partition("::")[0] for item in items}
    left = [name for name in known if name.partition("::")[0] in files]
    if left and not any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"{path} names {left[0]!r}, and there is no such test")


def _known(path: Path) -> dict[str, str]:
    import pytest

    from attnlab_theory import inputs

    try:
        lines = inputs.content(path).decode().splitlines()
    except ValueError:
        raise pytest.UsageError(f"{NAME}: {path} cannot be read") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, reason = line.partition("#")
        if not reason.strip():
            raise pytest.UsageError(f"{path}, line {number}: write ID # reason, for a known failure has a reason")
        found[name.strip()] = reason.strip()
    return found
