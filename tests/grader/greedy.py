"""Submissions that take all resources, end badly, or leave something running. `hostile` explains the form."""

GREEDY: dict[str, tuple[str, str]] = {
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
    "fills memory that is shared": (
        "too much memory",
        """
    import mmap
    held = []
    while True:
        held.append(mmap.mmap(-1, 2**22))
        held[-1].write(bytes(2**22))
""",
    ),
    "fills memory by files that have no name": (
        "too much memory",
        """
    held = []
    while True:
        held.append(os.memfd_create("x"))
        os.write(held[-1], bytes(2**20 - 1))
""",
    ),
    "leaves shared memory, semaphores and queues behind": (
        "wrong",
        """
    libc = ctypes.CDLL(None)
    for made in (libc.shmget(0, 4096, 0o1666), libc.semget(0, 1, 0o1666), libc.msgget(0, 0o1666)):
        if made < 0:
            won("System V has nothing to be taken away")
    if ctypes.CDLL("librt.so.1").mq_open(b"/attnlab", 0o102, 0o666, None) >= 0:
        won("a queue")
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
    "plants modules, links and pipes": (
        "wrong",
        """
    packages = f"{os.environ['HOME']}/.local/lib/python3.{sys.version_info[1]}/site-packages"
    os.makedirs(packages, exist_ok=True)
    for name in ("sitecustomize.py", "usercustomize.py", "numpy.py", "planted.pth"):
        with open(f"{packages}/{name}", "w") as planted:
            planted.write("import os; os._exit(0)")
    with tried:
        os.symlink("/", "root")
        os.symlink(MARKER, "marker")
        os.symlink(os.path.dirname(MARKER), "folder")
        os.mkfifo("pipe")
        os.mkdir("closed", 0)
    with tried, socket.socket(socket.AF_UNIX) as near:
        near.bind("socket")
""",
    ),
    "digs a thousand folders deep": (
        "wrong",
        """
    if not os.path.exists("deep"):
        for _ in range(1100):
            os.mkdir("deep")
            os.chdir("deep")
        os.chdir(os.environ["HOME"])
""",
    ),
    "shares memory by name": (
        "wrong",
        """
    from multiprocessing import resource_tracker, shared_memory
    resource_tracker.register = lambda *_: None
    with tried:
        shared_memory.SharedMemory("attnlab-was-here", create=True, size=4096)
""",
    ),
    "opens files until there are no more": (
        "wrong",
        """
    with tried:
        while True:
            os.open("/dev/null", os.O_RDONLY)
""",
    ),
    "starts threads without end": (
        "raised",
        """
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
""",
    ),
    "recurses until the stack is full": (
        "ended",
        """
    sys.setrecursionlimit(10**9)
    def deeper(_):
        return list(map(deeper, [0]))
    deeper(0)
""",
    ),
    "rings an alarm": ("ended", "    signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(600)\n"),
    "exits with RIGHT on its lips": ("ended", "    print('{\"right\": true}', flush=True); os._exit(0)\n"),
    "lets its children burn the processor": (
        "timed out",
        """
    for _ in range(4):
        if not os.fork():
            while True:
                pass
    time.sleep(600)
""",
    ),
    "answers with a billion zeros": ("wrong shape", "    return np.broadcast_to(0.0, (2**50,))\n"),
}
