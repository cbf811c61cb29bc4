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
    """
    readable, hidden = view(path, alone=alone)
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


def view(path: Path, *, alone: bool) -> tuple[list[str], list[str]]:
    """The paths that a submission can read, outer ones first, and those inside them that are hidden.

    In the submission's own folder, entries that begin with a dot are hidden. The folder may be a home with `.ssh`.
    """
    folder = path.absolute().parent
    here = Path.cwd()
    programs = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent]
    programs += [PACKAGE, *map(Path, site.getsitepackages())]
    # Where Python looks for modules; what it adds by itself is the folder that the caller happens to be in.
    programs += [Path(place) for place in sys.path if place and Path(place).resolve() != here.resolve()]
    own = [path.absolute()] if alone else [folder]
    wanted = [Path(place) for place in SYSTEM] + programs + own
    found = {str(place) for place in wanted if place.exists()}
    found |= {os.path.realpath(place) for place in found if place.count("/") > 1}
    hidden: list[str] = []
    if not alone:
        kept = {*map(str, (*programs, path.absolute())), *map(os.path.realpath, programs)}
        for name in os.listdir(folder):
            hides = str(folder / name)
            if name.startswith(".") and not any(f"{place}/".startswith(f"{hides}/") for place in kept):
                hidden.append(hides)
    return sorted(found - {"/"}, key=lambda place: (place.count("/"), place)), sorted(hidden)


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


def bubblewrap(plan: dict[str, Any]) -> tuple[list[str], dict[str, Any]] | None:
    """The command by which bubblewrap makes a plan's namespaces, and the plan for the rest. None if it cannot.

    Root needs no bubblewrap, which would keep it from becoming another user.
    """
    program = shutil.which("bwrap")
    wanted = {"bubblewrap", "user", "mount", "pid", "network"}
    if sys.platform != "linux" or program is None or os.geteuid() == 0 or not wanted <= set(plan["means"]):
        return None
    command = [program, "--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]
    command += ["--disable-userns"] if _disables_namespaces(program) else []
    for place in plan["readable"]:
        link = os.path.islink(place) and place.count("/") == 1
        command += ["--symlink", os.readlink(place), place] if link else ["--ro-bind", place, place]
    for place in plan["hidden"]:
        command += ["--tmpfs", place] if os.path.isdir(place) else ["--ro-bind", "/dev/null", place]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", plan["scratch"], "--remount-ro", "/"]
    command += ["--chdir", plan["scratch"], "--"]
    return command, plan | {"inside": ["user", "mount", "view", "pid", "network"]}
