"""Submissions that attack: what each does, and the right reason for it.

Each attack is the body of an answer to uw/1.2.1. One that fails in silence ends in a wrong answer, so the reason is
`wrong`. One that succeeds says so by `won`, and the reason is `raised`. {judge} is the process that judges,
{package!r} the folder of the lab.
{marker} is a secret file: all that an attack leaves running or written is found by its name. An attack on every
process in sight is made where there are few, so that no machine falls if a fence does.
"""

from tests.grader.deceitful import DECEITFUL
from tests.grader.greedy import GREEDY

PREAMBLE = """
import atexit, base64, contextlib, ctypes, json, os, signal, socket, subprocess, sys, threading, time
import numpy as np

JUDGE, MARKER = {judge}, {marker!r}
SLEEP = ["sh", "-c", "sleep 600; :", MARKER]
tried = contextlib.suppress(OSError)

def won(what):
    raise RuntimeError("won: " + what)

def pipes():
    for descriptor in range(3, 64):
        with tried:
            os.fstat(descriptor)
            yield descriptor

def alone():
    return os.getpid() < 10

def f(keys):
"""

WRONG = "    return keys[1]\n"

PRYING: dict[str, tuple[str, str]] = {
    "rewrites the memory of the judge": (
        "wrong",
        """
    for process in (os.getppid(), JUDGE):
        with tried, open(f"/proc/{process}/mem", "r+b"):
            won("memory")
        with tried:
            os.readlink(f"/proc/{process}/fd/1")
            won("a descriptor")
""",
    ),
    "writes into the output of the judge": (
        "wrong",
        """
    for process in (os.getppid(), JUDGE):
        for descriptor in range(4):
            with tried, open(f"/proc/{process}/fd/{descriptor}", "w") as output:
                output.write('{"right": true}')
                won("output")
""",
    ),
    "traces the judge": (
        "wrong",
        """
    ptrace = ctypes.CDLL(None).ptrace
    if ptrace(16, JUDGE, None, None) == 0 or ptrace(16, os.getppid(), None, None) == 0:
        won("tracing")
""",
    ),
    "signals the judge and its parent": (
        "wrong",
        """
    for process in {JUDGE, os.getppid()} - {1}:
        with tried:
            os.kill(process, 0)
            won("a signal")
    with tried:
        os.killpg(os.getpgid(0), 0)
""",
    ),
    "kills, stops and interrupts every process that it sees": (
        "wrong",
        """
    for number in (signal.SIGINT, signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL) if alone() else ():
        for process in {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid()}:
            with tried:
                os.kill(process, number)
        with tried:
            os.kill(-1, number)
""",
    ),
    "reads secrets": (
        "wrong",
        """
    for secret in ("/etc/shadow", "/root/.ssh", MARKER, os.path.dirname(MARKER)):
        with tried:
            (os.listdir if os.path.isdir(secret) else open)(secret)
            won(secret)
    if "ATTNLAB_SECRET" in os.environ:
        won("the environment")
""",
    ),
    "writes into other folders": (
        "wrong",
        """
    places = [os.path.expanduser("~root"), "/tmp", "/var/tmp", "/dev/shm/..", "/usr/lib", os.path.dirname(__file__)]
    places += [os.path.dirname(MARKER), {package!r}, sys.prefix, "/"]
    for place in places:
        with tried:
            open(os.path.join(place, "attnlab-was-here"), "w").close()
            won(place)
""",
    ),
    "mounts and unshares": (
        "wrong",
        """
    libc = ctypes.CDLL(None)
    if libc.mount(b"none", b"/", b"tmpfs", 0, None) == 0 or libc.umount2(b"/usr", 2) == 0:
        won("mounting")
    if libc.unshare(0x10000000) == 0:
        won("a namespace")
    with tried:
        os.setuid(0)
        won("root")
""",
    ),
    "opens files by their number on the disk": (
        "wrong",
        """
    libc, number, mount = ctypes.CDLL(None), (ctypes.c_uint * 34)(128), ctypes.c_int()
    with open(__file__) as file:
        libc.name_to_handle_at(-100, __file__.encode(), number, ctypes.byref(mount), 0)
        if libc.open_by_handle_at(file.fileno(), number, os.O_RDONLY) >= 0:
            won("a file out of sight")
""",
    ),
    "opens connections": (
        "wrong",
        """
    with tried:
        socket.create_connection(("127.0.0.1", {port}), 1)
        won("a connection")
    with tried:
        socket.create_connection(("192.0.2.1", 80), 1)
    for family in {*range(1, 64)} - {socket.AF_INET, socket.AF_INET6}:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            with tried:
                socket.socket(family, kind).close()
                won(f"a socket of the family {family}")
""",
    ),
    "looks into the first process, and at what it has inherited": (
        "wrong",
        """
    for name in ("mem", "environ", "maps", "root/etc", "cwd/x", "fd/3"):
        with tried:
            os.close(os.open(f"/proc/1/{name}", os.O_RDONLY))
            won(name)
    import stat
    for descriptor in range(3, 1000):
        with tried:
            if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                won("an open file")
""",
    ),
    "raises its limits": (
        "wrong",
        """
    import resource
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_MSGQUEUE):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            won("a limit")
    with tried:
        os.nice(-5)
        won("priority")
    with tried:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        won("priority")
""",
    ),
    "takes rights, and asks for the keys of the kernel": (
        "wrong",
        """
    with open("/proc/self/status") as status:
        told = dict(line.split(":", 1) for line in status)
    if int(told["CapPrm"], 16) & ~4 or int(told["CapBnd"], 16) & ~4 or int(told["NoNewPrivs"]) != 1:
        won("rights")
    number = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
    if number and ctypes.CDLL(None).syscall(number, 0, -3, 1) >= 0:
        won("keys")
""",
    ),
    "speaks to a socket that has no file, and to terminals": (
        "wrong",
        """
    with tried, socket.socket(socket.AF_UNIX) as near:
        near.connect(f"\\0attnlab-{JUDGE}")
        won("a socket")
    import fcntl, termios
    for name in ("/dev/tty", "/dev/console", "/dev/pts/0", "/dev/stdout"):
        with tried, open(name, "w") as terminal:
            terminal.write("RIGHT")
            fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
            won("a terminal")
""",
    ),
    "changes its own file, and what lies beside it": (
        "wrong",
        """
    here = os.path.dirname(__file__)
    for change in (
        lambda: open(__file__, "a"),
        lambda: os.truncate(__file__, 0),
        lambda: os.chmod(__file__, 0o777),
        lambda: os.utime(__file__),
        lambda: os.unlink(__file__),
        lambda: os.rename(__file__, here + "/other.py"),
        lambda: os.link(__file__, "linked.py"),
        lambda: os.mkdir(here + "/__pycache__"),
        lambda: open(here + "/sitecustomize.py", "w"),
    ):
        with tried:
            change()
            won("its own file")
""",
    ),
}
"""Those that reach for what lies outside."""

ATTACKS = PRYING | GREEDY | DECEITFUL
