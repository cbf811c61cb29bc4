"""Fences between a submission and the machine, and the means that put them up.

A *means* is something that the system may allow: a namespace, another user, a control group. A *fence* keeps the
submission from doing something. A fence stands if any of its means is in force. `launcher` tries the means.
"""

import dataclasses
import functools
import importlib.util
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

MEANS = frozenset(
    {"bubblewrap", "user", "mount", "pid", "network", "uid", "undumpable", "group", "polling", "limits"}
)
"""All means. A test leaves some out to see what is said without them."""

PACKAGE = Path(__file__).parents[1]

MEMORY = 4 * 2**30
"""Bytes that all processes of a submission may hold together. torch and jax in one process need one GB."""

FILE_SIZE = 256 * 2**20
"""The most bytes of one file that a submission writes."""


def most_processes() -> int:
    """How many processes and threads a submission may have. Libraries start some for every core."""
    return 256 + 16 * (os.cpu_count() or 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fence:
    """One thing that a submission cannot do."""

    name: str
    missing: str
    """What the submission can do without it."""
    means: tuple[frozenset[str], ...]
    """Each of these sets of means is enough."""

    def stands(self, in_force: Collection[str]) -> bool:
        """Whether it stands with these means."""
        return any(needed <= set(in_force) for needed in self.means)


def _any(*means: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(each.split("+")) for each in means)


JUDGE = Fence(
    name="judge",
    missing="it can rewrite the memory of the judge, and with it the verdict",
    means=_any("user", "uid", "undumpable"),
)
"""Without this one no verdict is worth anything."""

FENCES = (
    JUDGE,
    Fence(
        name="processes",
        missing="it can stop other programs of yours, and leave its own running",
        means=_any("pid", "uid"),
    ),
    Fence(name="files", missing="it can read your files, and write those that you may write", means=_any("view")),
    Fence(name="network", missing="it can open connections", means=_any("network")),
    Fence(name="memory", missing="it can fill the memory", means=_any("group", "polling")),
    Fence(
        name="limits", missing="it can use the processor, and fill the disk, without limit", means=_any("limits")
    ),
)
"""All fences, the most important first."""


def missing(in_force: Collection[str]) -> tuple[Fence, ...]:
    """The fences that do not stand."""
    return tuple(fence for fence in FENCES if not fence.stands(in_force))


def warning(absent: Iterable[Fence]) -> str:
    """One line about the fences that do not stand; empty if all stand."""
    return "; ".join(f"no fence '{fence.name}': {fence.missing}" for fence in absent)


def become_undumpable() -> bool:
    """Let no other process of this user read or write the memory of this one. Returns whether that worked."""
    if sys.platform != "linux":
        return False
    import ctypes

    return ctypes.CDLL(None).prctl(4, *map(ctypes.c_ulong, (0, 0, 0, 0))) == 0


def plan(
    path: Path,
    scratch: Path,
    *,
    seconds: int,
    memory: int,
    means: frozenset[str],
    groups: list[str],
    status: int,
    alone: bool,
    searched: bool,
) -> dict[str, Any]:
    """The plan for the launcher, as plain values.

    Args:
        path: the file of the submission, which sees its folder.
        scratch: an empty folder, the only one in which it may write.
        seconds: of processor time.
        memory: bytes that its processes may hold together.
        means: the means that may be tried.
        groups: the files of the control groups into which a process writes 0 to enter.
        status: the descriptor on which the launcher says how the submission ended.
        alone: whether the submission sees its own file alone, and no other of its folder.
        searched: whether it sees every folder in which this Python searches for modules.
    """
    readable, hidden = view(path, alone=alone, searched=searched)
    return {
        "means": sorted(means),
        "inside": [],
        "judge": os.getpid(),
        "status": status,
        "scratch": str(scratch),
        "readable": readable,
        "needed": [str(path.absolute()), *_needed()],
        "hidden": hidden,
        "seconds": seconds,
        "memory": memory,
        "file_size": FILE_SIZE,
        "processes": most_processes(),
        "groups": groups,
    }


@functools.cache
def _needed() -> list[str]:
    """The folders that every submission must read. Another user may not, if Python lies in somebody's home."""
    found = (importlib.util.find_spec(name) for name in ("contextlib", "numpy"))
    return [spec.origin for spec in found if spec is not None and spec.origin is not None]


SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/sys/devices/system"),
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf"),
)
"""Programs, libraries and their settings. Nobody's own files, and no passwords."""


def view(path: Path, *, alone: bool, searched: bool) -> tuple[list[str], list[str]]:
    """The paths that a submission can read, outer ones first, and those inside them that are hidden.

    What can be read lies above what is hidden, and what is hidden above what can be read inside of it. In the
    submission's own folder, entries that begin with a dot are hidden. The folder may be a home with `.ssh`. A link
    cannot be hidden. It leads to nothing that is not in view.

    Args:
        path: the file of the submission, or another file or folder that it may read with its neighbours.
        alone: whether it sees no neighbours.
        searched: whether it sees every folder in which this Python searches for modules: those of `PYTHONPATH` and
            of projects that are installed as they lie. If not, it sees what is installed and not this package,
            which has the reference solutions.
    """
    programs = _installed()
    if searched:
        # Where Python looks for modules; what it adds by itself is the folder that the caller happens to be in.
        here = Path.cwd().resolve()
        programs += [PACKAGE, *(Path(place) for place in sys.path if place and Path(place).resolve() != here)]
    own = [path.absolute()] if alone else [path.absolute().parent]
    wanted = [Path(place) for place in SYSTEM] + programs + own + [PACKAGE / "sandbox"]
    found = {str(place) for place in wanted if place.exists()}
    found |= {os.path.realpath(place) for place in found if place.count("/") > 1}
    # By every name by which it is in view: a folder may have several.
    package = Path(os.path.realpath(PACKAGE))
    above = {place: os.path.realpath(place) for place in found if package.is_relative_to(os.path.realpath(place))}
    hidden = {str(Path(place, package.relative_to(real))) for place, real in above.items()}
    hidden = set() if searched else {str(PACKAGE), str(package), *hidden}
    if not alone:
        # The folder may have two names, and each is in view.
        for folder in {str(own[0]), os.path.realpath(own[0])}:
            hidden |= {f"{folder}/{name}" for name in os.listdir(folder) if name.startswith(".")}
    hidden -= {*found, str(path.absolute()), os.path.realpath(path)}
    return _outer_first(found - {"/"}), _outer_first(place for place in hidden if not os.path.islink(place))


def _outer_first(places: Iterable[str]) -> list[str]:
    return sorted(places, key=lambda place: (place.count("/"), place))


def _installed() -> list[Path]:
    """The interpreter, and the folders of installed packages."""
    programs = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent]
    programs += map(Path, [*site.getsitepackages(), site.getusersitepackages()])
    # The modules of a cluster of computers stand in PYTHONPATH.
    return programs + [Path(place) for place in sys.path if Path(place).name in ("site-packages", "dist-packages")]


def visible(place: Path) -> str:
    """The folder through which every submission can read a place of the judge's; empty if there is none."""
    inside = Path(os.path.realpath(place))
    if inside.is_relative_to(os.path.realpath(PACKAGE)) and not inside.is_relative_to(PACKAGE / "sandbox"):
        return ""
    readable = [*map(Path, SYSTEM), *_installed()]
    return next((str(each) for each in readable if inside.is_relative_to(os.path.realpath(each))), "")


KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")


def environment(scratch: Path) -> dict[str, str]:
    """The variables of a submission. They hold no secret of the caller, and no path of the compilation cache.

    Each library gets one thread. Matrices are small here, and threads that wait would use up the processor time.
    """
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    threads = {f"{library}_THREADS": "1" for library in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM")}
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR"), str(scratch))
    return {**kept, **threads, **places, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}


@functools.cache
def _disables_namespaces(program: str) -> bool:
    # Since version 0.8: the submission shall not be root in a namespace of its own.
    return "--disable-userns" in subprocess.run([program, "--help"], capture_output=True, text=True).stdout


@functools.cache
def bubblewrap_works() -> bool:
    """Whether bubblewrap makes a view on this system. Then a view that it does not make has a fault of its own."""
    program = shutil.which("bwrap")
    command = ["--unshare-all", "--ro-bind", "/", "/", "--", sys.executable, "-c", ""]
    return program is not None and subprocess.run([program, *command], capture_output=True).returncode == 0


def bubblewrap(plan: dict[str, Any]) -> tuple[list[str], dict[str, Any]] | None:
    """The command by which bubblewrap makes a plan's namespaces, and the plan for the rest. None if it may not.

    Root needs no bubblewrap, which would keep it from becoming another user.
    """
    program = shutil.which("bwrap")
    wanted = {"bubblewrap", "user", "mount", "pid", "network"}
    if sys.platform != "linux" or program is None or os.geteuid() == 0 or not wanted <= set(plan["means"]):
        return None
    command = [program, "--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]
    command += ["--disable-userns"] if _disables_namespaces(program) else []
    hidden = [*plan["hidden"]]
    for place in _outer_first([*plan["readable"], *hidden]):
        if place in hidden:
            command += ["--tmpfs", place] if os.path.isdir(place) else ["--ro-bind", "/dev/null", place]
        elif os.path.islink(place) and place.count("/") == 1:
            command += ["--symlink", os.readlink(place), place]
        else:
            command += ["--ro-bind", place, place]
    read_only = [place for place in hidden if os.path.isdir(place)] + ["/"]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", plan["scratch"]]
    command += [word for place in read_only for word in ("--remount-ro", place)]
    command += ["--chdir", plan["scratch"], "--"]
    return command, plan | {"inside": ["user", "mount", "view", "pid", "network"]}
