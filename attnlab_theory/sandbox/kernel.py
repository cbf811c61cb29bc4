"""What the launcher asks of Linux: namespaces, a view of the files, another user, no privileges.

Python 3.11 has no `os.unshare`, and no Python can mount: these are calls of the C library. Every function that puts
up a fence returns the means that are now in force. It returns none if the system refuses.

Source: the manual pages namespaces(7), mount_setattr(2), capabilities(7), prctl(2), seccomp(2) and unix(7).
"""

import contextlib
import ctypes
import errno
import os
import pwd
import resource
import signal
import stat
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

LIBC = ctypes.CDLL(None, use_errno=True)
NAMESPACES = {
    "mount": 0x00020000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "network": 0x40000000,
}
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
BIND, MOVE, RECURSIVE, PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
READ_EVERYTHING = 2
"""The capability CAP_DAC_READ_SEARCH, by which another user still reads the files that the caller can read."""

PROCESSORS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The processors, by their numbers in seccomp(2)."""

CALLS = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
}
"""Calls that no answer needs, and that reach around the fences. Each has a number for each of `PROCESSORS`."""

SOCKET = (41, 198)
"""The number of the call that makes a socket, for each of `PROCESSORS`."""

FAMILIES = (2, 10)
"""The sockets that may be made: those that end at a network namespace. Others may lead out of it: those to the host
of a virtual machine, and local ones through a file beside the submission."""

PAIR = (53, 199)
"""The number of the call that makes a pair of local sockets, as pipes need, for each of `PROCESSORS`."""

STREAM, OF_TYPE = 1, 0xF
"""The pairs that may be made, and the bits that say it. Half of another pair can send through a file."""

DEVICES = ("null", "zero", "full", "random", "urandom")


class MountAttributes(ctypes.Structure):
    """The argument of mount_setattr(2)."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace")]


def _call(function: Any, *arguments: Any) -> int:
    found = function(*arguments)
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


def _prctl(option: int, value: int = 0, more: int = 0) -> int:
    return _call(LIBC.prctl, option, *map(ctypes.c_ulong, (value, more, 0, 0)))


def die_with_parent() -> None:
    """Have this process killed when its parent ends."""
    _prctl(1, signal.SIGKILL)


def adopt_orphans() -> None:
    """Keep every process below this one that comes from it, even if its own parent has ended."""
    _prctl(36, 1)


def set_dumpable(dumpable: bool) -> None:
    """Allow, or forbid, processes of the same user to read and write the memory of this one."""
    _prctl(4, int(dumpable))


def may_take_uids() -> bool:
    """Whether this process is root, and can become another user."""
    return os.geteuid() == 0


def unshared(wanted: set[str]) -> list[str]:
    """Leave the caller's namespaces. Returns the namespaces that this process now has of its own.

    The user namespace comes first: inside it no process has a right over anything outside, whatever its uid. Root
    can do without one.
    """
    chosen = [name for name in ("user", "mount", "pid", "network") if name in wanted]
    flags = {name: NAMESPACES[name] for name in chosen}
    if "user" in chosen and _unshared_user(sum(flags.values()) | NAMESPACES["ipc"] | NAMESPACES["uts"]):
        return chosen
    found: list[str] = []
    # What processes share in memory outlives them, but not their namespace.
    flags |= {"pid": NAMESPACES["pid"] | NAMESPACES["ipc"]} if "pid" in flags else {}
    for name, flag in flags.items():
        if name != "user" and LIBC.unshare(flag) == 0:
            found.append(name)
    return found


def _unshared_user(flags: int) -> bool:
    """Enter a user namespace whose uids are the same as outside, as far as the caller may choose."""
    uid, gid = os.geteuid(), os.getegid()
    maps = {"uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}
    if uid == 0:
        # One who stays outside has to write these: inside, root is nobody to the kernel.
        known = {name: Path(f"/proc/self/{name}").read_text().splitlines() for name in maps}
        maps = {name: "\n".join(f"{n} {n} {k}" for n, _, k in map(str.split, known[name])) for name in maps}
    left, made = os.pipe()
    launcher = os.getpid()
    writer = os.fork()
    if not writer:
        os.close(made)
        if os.read(left, 1):
            with contextlib.suppress(OSError):
                if uid:
                    Path(f"/proc/{launcher}/setgroups").write_text("deny")
                for name, text in maps.items():
                    Path(f"/proc/{launcher}/{name}").write_text(text)
        os._exit(0)
    os.close(left)
    unshared = LIBC.unshare(flags) == 0
    os.write(made, b"." if unshared else b"")
    os.close(made)
    os.waitpid(writer, 0)
    return unshared and bool(Path("/proc/self/uid_map").read_text())


class Unviewable(Exception):
    """The system can make a view, but not this one. No submission runs without it then."""


def viewed(plan: dict[str, Any]) -> list[str]:
    """Give the process its own root folder: the plan's paths, read-only, a /proc, and an empty scratch folder.

    Returns:
        The means that are now in force; none if this system makes no view, whatever is in it.

    Raises:
        Unviewable: if it is something in this view that cannot be mounted.
    """
    root = plan["scratch"]
    try:
        _mount("none", "/", flags=RECURSIVE | PRIVATE)
        _mount("tmpfs", root, "tmpfs", NO_SETUID | NO_DEVICES, "size=4m,mode=755")
        # Older systems cannot do that.
        _set_attributes(root, NO_SETUID, deep=False)
    except OSError:
        return []
    try:
        _build_view(root, plan["readable"], plan["hidden"], plan["file_size"])
    except OSError as error:
        raise Unviewable(f"{error.filename or root}: {error.strerror}") from None
    return ["view"]


def _build_view(root: str, readable: list[str], hidden: list[str], size: int) -> None:
    veils: list[str] = []
    for path in sorted([*readable, *hidden], key=lambda path: path.count("/")):
        place = root + path
        if path in hidden:
            veils += _hide(place)
        elif os.path.islink(path) and not os.path.dirname(path).strip("/"):
            os.symlink(os.readlink(path), place)
        # A path inside of one that is there already is there, too.
        elif not os.path.lexists(place):
            _bind(path, place, root)
            _set_attributes(place, READ_ONLY | NO_SETUID | NO_DEVICES, deep=True)
    for veil in veils:
        _set_attributes(veil, READ_ONLY, deep=False)
    for name in DEVICES:
        _bind(f"/dev/{name}", f"{root}/dev/{name}", root)
    for link, target in {"fd": "/proc/self/fd", "shm": root}.items():
        os.symlink(target, f"{root}/dev/{link}")
    os.makedirs(root + root, exist_ok=True)
    _mount("tmpfs", root + root, "tmpfs", NO_SETUID | NO_DEVICES, f"size={2 * size},nr_inodes=65536,mode=1777")
    os.makedirs(f"{root}/proc", exist_ok=True)
    # Forbidden where a container hides parts of /proc: then there is none.
    with contextlib.suppress(OSError):
        _mount("proc", f"{root}/proc", "proc", NO_SETUID | NO_DEVICES | NO_PROGRAMS)
    # In a user namespace of its own the submission would be root again, if only over itself.
    with contextlib.suppress(OSError):
        Path(f"{root}/proc/sys/user/max_user_namespaces").write_text("0")
    _set_attributes(root, READ_ONLY, deep=False)
    os.chdir(root)
    _mount(".", "/", flags=MOVE)
    os.chroot(".")
    os.chdir(root)


def _hide(place: str) -> list[str]:
    """Put something empty over a folder or a file. Returns the folder, which has to become read-only.

    By its handle, for a name may be a link by now, and a mount would follow it out of the view. A link stays: it
    leads to nothing that is not in view.
    """
    try:
        handle = os.open(place, os.O_PATH | os.O_NOFOLLOW)
    except FileNotFoundError:
        return []
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISLNK(mode):
            return []
        if stat.S_ISDIR(mode):
            _mount("tmpfs", f"/proc/self/fd/{handle}", "tmpfs", NO_SETUID | NO_DEVICES, "size=64k,mode=555")
            return [place]
        _mount("/dev/null", f"/proc/self/fd/{handle}", flags=BIND)
        return []
    finally:
        os.close(handle)


def _mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _call(LIBC.mount, *texts[:3], ctypes.c_ulong(flags), texts[3])


def _bind(path: str, place: str, root: str) -> None:
    # A link in a folder of the view may lead out of it.
    if not f"{os.path.realpath(os.path.dirname(place))}/".startswith(f"{root}/"):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if os.path.isdir(path):
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        Path(place).touch()
    _mount(path, place, flags=BIND | RECURSIVE)


def _set_attributes(path: str, attributes: int, *, deep: bool) -> None:
    # mount_setattr, which has this number on every processor; a remount would leave what is mounted below writable.
    asked = MountAttributes(set=attributes)
    numbers = map(ctypes.c_long, (442, -100))
    _call(
        LIBC.syscall,
        *numbers,
        os.fsencode(path),
        ctypes.c_long(0x8000 * deep),
        ctypes.byref(asked),
        ctypes.c_long(32),
    )


def spare_uid() -> tuple[int, "socket.socket"]:
    """A uid that no other process has, and the socket that keeps it from other runs until it is closed.

    Ask before leaving the namespaces of the caller: from inside of new ones no other run can be seen.

    Two runs never meet, because the kernel gives a name to one socket at a time, and the name is made of the uid.
    A process that is killed cannot forget to give it back: the name ends with the last copy of the socket. The
    launcher holds one, and ends after everything inside. Nothing is left on a disk, and nobody needs a folder.
    Such names end at a network namespace. So two containers do not see each other's: there chance keeps them
    apart, for the first uid that is tried is drawn. Whatever holds no such name shows its processes in /proc, or
    its name among the users.
    """
    import socket

    least, most = 20_000, 60_000
    drawn = int.from_bytes(os.urandom(8)) % (most - least)
    for uid in (least + (drawn + i) % (most - least) for i in range(most - least)):
        with contextlib.suppress(KeyError):
            pwd.getpwuid(uid)
            continue
        held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            # The byte 0 makes it a name that is no file's: unix(7).
            held.bind(f"\0attnlab-uid-{uid}")
            if not _tasks_of(uid):
                return uid, held
        held.close()
    raise OSError("no uid is free")


def unprivileged(uid: int | None, plan: dict[str, Any], in_force: list[str]) -> list[str]:
    """Become that user, with no right but to read, for good. Returns the means that are now in force."""
    found: list[str] = []
    with contextlib.suppress(OSError):
        for capability in range(64):
            if capability != READ_EVERYTHING:
                _prctl(24, capability)
    if uid is not None:
        with contextlib.suppress(OSError):
            os.chown(plan["scratch"], uid, uid)
            _prctl(8, 1)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            found.append("uid")
    with contextlib.suppress(OSError):
        _prctl(38, 1)
    # Who may read everything may open files by number, whatever is in view; in a user namespace nobody may.
    reads_what_it_sees = _forbid_calls() or "user" in in_force
    _keep_capabilities({READ_EVERYTHING} if found and reads_what_it_sees else set())
    # A new user makes a process undumpable, and one that forked from the supervisor is.
    set_dumpable(True)
    if "pid" not in in_force:
        die_with_parent()
    if "group" not in in_force:
        most = plan["processes"]
        if "uid" not in found and not _counts_by_namespace(in_force):
            most += _tasks_of(os.getuid())
        ceiling = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return found


def _tasks_of(uid: int) -> int:
    """How many processes and threads a user has."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            count += len(os.listdir(entry / "task")) if entry.stat().st_uid == uid else 0
    return count


def _counts_by_namespace(in_force: list[str]) -> bool:
    # Before Linux 5.14 the limit counts all that the user runs anywhere.
    release = os.uname().release.split(".")
    return "user" in in_force and (int(release[0]), int(release[1].split("-")[0])) >= (5, 14)


def _forbid_calls() -> bool:
    """Have the kernel refuse `CALLS` to this process and to all that it starts. Returns whether it does."""
    machine = os.uname().machine
    if machine not in PROCESSORS or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    here = list(PROCESSORS).index(machine)
    load, equal, at_least, masked, answer = 0x20, 0x15, 0x35, 0x54, 0x06
    # Beyond 2^30 are the same calls once more, for programs with short pointers.
    tests = [(equal, call[here]) for call in CALLS.values()] + [(at_least, 2**30)]
    # Where a step goes if it holds, and if it does not: on, to the answer that allows, to the one that refuses.
    steps = [(load, 4, "on", "on"), (equal, PROCESSORS[machine], "on", "refused"), (load, 0, "on", "on")]
    steps += [(test, number, "refused", "on") for test, number in tests]
    steps += [(equal, SOCKET[here], "on", "no socket"), (load, 16, "on", "on")]
    steps += [(equal, family, "allowed", "on") for family in FAMILIES[:-1]]
    steps += [(equal, FAMILIES[-1], "allowed", "refused")]
    ends = {"no socket": len(steps)}
    steps += [(equal, PAIR[here], "on", "allowed"), (load, 24, "on", "on"), (masked, OF_TYPE, "on", "on")]
    steps += [(equal, STREAM, "allowed", "refused")]
    ends |= {"allowed": len(steps), "refused": len(steps) + 1}
    program = [
        (code, ends.get(so, i + 1) - i - 1, ends.get(if_not, i + 1) - i - 1, value)
        for i, (code, value, so, if_not) in enumerate(steps)
    ]
    program += [(answer, 0, 0, 0x7FFF0000), (answer, 0, 0, 0x00050000 | errno.EPERM)]
    packed = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    filtering = struct.pack("HxxxxxxP", len(program), ctypes.addressof(packed))
    return LIBC.prctl(22, ctypes.c_ulong(2), filtering, None, None) == 0


def _keep_capabilities(kept: set[int]) -> None:
    """Give up all other capabilities.

    Raises:
        OSError: if the kernel refuses: the process could then take the others up again.
    """
    header, now = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _call(LIBC.capget, header, now)
    # No more than this process has: in a container root may not read everything.
    mask = sum(1 << capability for capability in kept) & now[1]
    _call(LIBC.capset, header, (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0))
    if mask:
        # What the submission starts keeps it, too: its Python may lie where only the caller can read.
        _prctl(47, 2, READ_EVERYTHING)
