"""Submissions that lie to the judge: as `hostile` says."""

DECEITFUL: dict[str, tuple[str, str]] = {
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
    "speaks to the terminal": (
        "raised",
        """
    print("\\x1b[2J\\x1b]0;RIGHT\\x07 \\x9b2J")
    raise ValueError("\\x1b[2J RIGHT \\x9b")
""",
    ),
    "says that it has used up all of its time": (
        "ended",
        """
    frame = sys._getframe()
    while "request" not in frame.f_locals:
        frame = frame.f_back
    number = frame.f_locals["request"]["number"]
    kept = {"shape": [3], "kind": "float64", "data": base64.b64encode((1e5 * keys[0]).tobytes()).decode()}
    for descriptor in pipes():
        with tried:
            forged = {"number": number, "seconds": 1e300, "arrays": [kept]}
            os.write(descriptor, json.dumps(forged).encode() + b"\\n")
""",
    ),
    "gives the reason that only a judge gives": (
        "ended",
        """
    frame = sys._getframe()
    while "request" not in frame.f_locals:
        frame = frame.f_back
    forged = {"number": frame.f_locals["request"]["number"], "seconds": 0, "broken": "", "reason": "right"}
    for descriptor in pipes():
        with tried:
            os.write(descriptor, json.dumps(forged).encode() + b"\\n")
""",
    ),
    "reads the requests that are meant for its caller": (
        "wrong",
        """
    for descriptor in pipes():
        os.set_blocking(descriptor, False)
        with tried:
            os.read(descriptor, 2**20)
        os.set_blocking(descriptor, True)
""",
    ),
    "changes its caller": (
        "wrong",
        """
    frame = sys._getframe()
    while "_encoded" not in frame.f_globals:
        frame = frame.f_back
    right = {"shape": [3], "kind": "float64", "data": base64.b64encode(np.zeros(3).tobytes()).decode()}
    frame.f_globals["_encoded"] = lambda value: right
    sys.settrace(lambda *_: None)
    sys.setprofile(lambda *_: None)
""",
    ),
    "looks for what is wanted": (
        "wrong",
        """
    import gc
    if any(name.startswith("attnlab_theory") for name in sys.modules):
        won("the contracts")
    for found in gc.get_objects():
        if isinstance(found, dict) and not {"wanted", "measure", "contract"}.isdisjoint(map(str, found)):
            if found is not globals():
                won("what is wanted")
""",
    ),
    "answers right until it is asked again": (
        "wrong",
        """
    asked = f.__dict__.setdefault("asked", set())
    if keys.tobytes() not in asked:
        asked.add(keys.tobytes())
        return 1e5 * keys[0]
""",
    ),
    "answers right for a while": (
        "wrong",
        """
    time.sleep(0.001)
    if time.monotonic() - f.__dict__.setdefault("begun", time.monotonic()) < 0.002:
        return 1e5 * keys[0]
""",
    ),
    "is an array that says that it is right": (
        "wrong",
        """
    class Right(np.ndarray):
        def __eq__(self, other): return True
        __ne__ = __lt__ = __gt__ = lambda self, other: False
        def __sub__(self, other): return np.zeros(3)
        def astype(self, *_, **__): return np.zeros(3)
        def tobytes(self, *_, **__): return b""
    return keys[1].view(Right)
""",
    ),
    "changes as it is read": (
        "wrong",
        """
    class Changing:
        reads = 0
        def __array__(self, dtype=None, copy=None):
            Changing.reads += 1
            return 1e5 * keys[0] * (-1) ** Changing.reads
    f.__dict__.setdefault("kept", Changing)
    return f.kept()
""",
    ),
    "lies about where its numbers are": (
        "ended",
        """
    class Lying:
        __array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (8, False), "version": 3}
    return Lying()
""",
    ),
    "raises what hangs when it is read": (
        "timed out",
        """
    class Hanging(Exception):
        def __str__(self):
            while True:
                pass
    raise Hanging
""",
    ),
    "raises what exits when it is read": (
        "raised",
        """
    class Exiting(BaseException):
        def __str__(self):
            raise SystemExit(0)
        __repr__ = __str__
    raise Exiting
""",
    ),
    "raises what has no name": (
        "ended",
        """
    class Nameless(type):
        __name__ = property(lambda self: 1 / 0)
    class Words(str):
        def split(self, *_): return [self] * 10**9
        def isprintable(self): return True
    class Strange(Exception, metaclass=Nameless):
        def __str__(self): return Words("\\x1b[2J RIGHT")
    raise Strange
""",
    ),
}
