"""Submissions that attack: what each does, and the honest word for it.

Each attack is the body of an answer to uw/1.2.1. What fails in silence ends in a wrong answer, so that the word is
`wrong`; what succeeds says so by `won`, and the word is `raised`. {judge} is the process that judges, {marker} a
secret file, by whose name everything that is left behind is found. An attack on every process in sight is made
where few are: should a fence fall, nobody's machine falls with it.
"""

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

ATTACKS: dict[str, tuple[str, str]] = {
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
    "leaves sleepers in sessions of their own": (
        "wrong",
        """
    for _ in range(3):
        subprocess.Popen(SLEEP, start_new_session=True)
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.execvp("sh", SLEEP)
        os._exit(0)
""",
    ),
    "ends and leaves a child that keeps the pipe": (
        "ended",
        """
    if os.fork():
        os._exit(0)
    os.setsid()
    os.execvp("sh", SLEEP)
""",
    ),
    "fills the pipe of replies": (
        "ended",
        """
    for descriptor in pipes():
        with tried:
            while True:
                os.write(descriptor, b"[" * 2**20)
""",
    ),
    "claims to be right": (
        "ended",
        """
    for descriptor in pipes():
        with tried:
            os.write(descriptor, b'{"right": true, "reason": "right"}\\n')
""",
    ),
    "answers in the name of the child": (
        "ended",
        """
    right = {"shape": [3], "kind": "float64", "data": base64.b64encode(np.zeros(3).tobytes()).decode()}
    for descriptor in pipes():
        for number in range(9):
            with tried:
                forged = {"number": number, "seconds": 0, "arrays": [right]}
                os.write(descriptor, json.dumps(forged).encode() + b"\\n")
""",
    ),
    "rewrites json and numpy": (
        "ended",
        """
    json.dumps = lambda *_, **__: '{"number": 1, "right": true, "verdict": "RIGHT"}'
    np.asarray = lambda *_, **__: np.zeros(3)
    np.ascontiguousarray = lambda *_, **__: np.zeros(3)
""",
    ),
    "rewrites numpy alone": (
        "wrong",
        """
    kept = np.asarray([0.0, 0.0, 0.0])
    np.asarray = lambda *_, **__: kept
""",
    ),
    "changes its answers": (
        "wrong",
        """
    f.calls = getattr(f, "calls", 0) + 1
    if f.calls == 1:
        return 1e5 * keys[0]
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
    import attnlab_theory
    places = [os.path.expanduser("~root"), "/tmp", "/var/tmp", "/dev/shm/..", "/usr/lib", os.path.dirname(__file__)]
    places += [os.path.dirname(MARKER), os.path.dirname(attnlab_theory.__file__), sys.prefix, "/"]
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
""",
    ),
    "forks without end": (
        "raised",
        """
    while True:
        os.fork()
""",
    ),
    "forks without end and says nothing": (
        "timed out",
        """
    while True:
        with tried:
            os.fork()
""",
    ),
    "fills the memory": (
        "too much memory",
        """
    held = []
    while True:
        held.append(np.ones(2**21))
""",
    ),
    "fills the memory by its children": (
        "too much memory",
        """
    for _ in range(8):
        if not os.fork():
            held = np.ones(2**22)
            time.sleep(600)
    time.sleep(600)
""",
    ),
    "burns the processor": (
        "timed out",
        """
    while True:
        pass
""",
    ),
    "burns the processor and will not hear of it": (
        "timed out",
        """
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass
""",
    ),
    "sleeps": (
        "timed out",
        """
    time.sleep(600)
""",
    ),
    "stops itself": (
        "timed out",
        """
    os.kill(os.getpid(), signal.SIGSTOP)
""",
    ),
    "writes a giant file": (
        "raised",
        """
    with open("giant", "wb") as file:
        while True:
            file.write(bytes(2**18))
""",
    ),
    "exits": ("ended", "    sys.exit(0)\n"),
    "exits at once": ("ended", "    os._exit(0)\n"),
    "kills itself": ("ended", "    os.kill(os.getpid(), signal.SIGKILL)\n"),
    "crashes": ("ended", "    ctypes.string_at(0)\n"),
    "closes everything": ("ended", "    os.closerange(0, 64); time.sleep(600)\n"),
    "has more to do when it ends": (
        "wrong",
        """
    def forge():
        for descriptor in pipes():
            with tried:
                os.write(descriptor, b'{"right": true}\\n')
        time.sleep(600)
    atexit.register(forge)
    signal.signal(signal.SIGTERM, lambda *_: forge())
""",
    ),
    "goes on in threads": (
        "wrong",
        """
    def go_on():
        while True:
            time.sleep(0.001)
    for _ in range(8):
        threading.Thread(target=go_on).start()
""",
    ),
    "prints without end": (
        "timed out",
        """
    while True:
        print("RIGHT" * 2**14)
""",
    ),
    "speaks to the terminal": (
        "raised",
        """
    print("\\x1b[2J\\x1b]0;RIGHT\\x07 \\x9b2J")
    raise ValueError("\\x1b[2J RIGHT \\x9b")
""",
    ),
}
