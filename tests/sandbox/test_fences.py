"""What each fence needs, and what a submission finds inside the fences."""

import contextlib
import ctypes
import errno
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from attnlab_theory.sandbox import control_group, fences, kernel
from attnlab_theory.sandbox.submission import Submission
from tests.sandbox.system import missing_fences

linux = pytest.mark.skipif(sys.platform != "linux", reason="no other system has these fences")


def told(path: Path, **changes):
    """The plan of a harmless submission."""
    asked = {"seconds": 3, "memory": 2**27, "means": fences.MEANS, "groups": [], "status": 1}
    asked |= {"alone": False, "searched": False}
    return fences.plan(path / "mine.py", path / "scratch", **(asked | changes))


@pytest.mark.parametrize("fence", fences.FENCES, ids=lambda fence: fence.name)
def test_a_fence_stands_with_any_of_its_sets_of_means_and_with_no_less(fence):
    for needed in fence.means:
        assert fence.stands(needed)
        assert fence.stands(fences.MEANS | needed)
    assert not fence.stands(frozenset())
    enough = frozenset().union(*fence.means)
    assert not fence.stands((fences.MEANS | {"view"}) - enough)


def test_a_plan_is_plain_values_and_its_outer_paths_come_first(tmp_path):
    plan = told(tmp_path)
    assert json.loads(json.dumps(plan)) == plan
    depths = [place.count("/") for place in plan["readable"]]
    assert depths == sorted(depths)
    assert str(tmp_path) in plan["readable"]


@pytest.mark.parametrize("cores", [None, 1, 64])
def test_a_submission_may_have_some_processes_for_every_core(cores, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert fences.most_processes() == 256 + 16 * (cores or 1)


@linux
class TestBubblewrap:
    @pytest.fixture(autouse=True)
    def installed(self, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
        monkeypatch.setattr(fences, "_disables_namespaces", lambda program: True)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)

    def test_the_command_shows_what_the_plan_names_and_hides_what_it_hides(self, tmp_path):
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".netrc").write_text("secret")
        plan = told(tmp_path)
        found = fences.bubblewrap(plan)
        assert found is not None
        command, left = found
        text = " ".join(command)
        assert command[0] == "/usr/bin/bwrap"
        for place in plan["readable"]:
            is_link = os.path.islink(place) and os.path.dirname(place) == "/"
            shown = f"--symlink {os.readlink(place)} {place} " if is_link else f"--ro-bind {place} {place} "
            assert shown in text
        assert f"--tmpfs {tmp_path}/.ssh " in text
        assert f"--ro-bind /dev/null {tmp_path}/.netrc " in text
        assert {"--unshare-all", "--die-with-parent", "--disable-userns"} <= set(command)
        assert command[-1] == "--"
        assert set(left["inside"]) == {"user", "mount", "view", "pid", "network"}

    def test_root_does_without_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert fences.bubblewrap(told(tmp_path)) is None

    @pytest.mark.parametrize("absent", ["bubblewrap", "user", "mount", "pid", "network"])
    def test_without_one_of_its_means_there_is_none(self, tmp_path, absent):
        assert fences.bubblewrap(told(tmp_path, means=fences.MEANS - {absent})) is None

    def test_where_it_is_not_installed_there_is_none(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda program: None)
        assert fences.bubblewrap(told(tmp_path)) is None


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="others need bubblewrap")
def test_where_root_may_leave_its_namespaces_every_fence_can_be_had():
    """The tests of attacks are passed over where one is missing, and so cannot tell that the lab has lost it."""
    apart = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--net",
        "--ipc",
        "--uts",
        "--fork",
        "true",
    ]
    if shutil.which("unshare") is None or subprocess.run(apart, capture_output=True).returncode:
        pytest.skip("this system lets nobody leave its namespaces")
    assert missing_fences() == ()


@linux
def test_a_submission_has_the_processor_time_and_the_files_that_it_may_have(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import resource\n"
        "def f(): return [resource.getrlimit(kind) for kind in "
        "(resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)]\n"
    )
    with Submission(f"{path}::f", time_limit=6.5) as submission:
        # The first word of the kernel can be taken; the second, a second later, cannot.
        assert submission().tolist() == [[7, 8], [fences.FILE_SIZE] * 2, [0, 0]]


@linux
def test_links_below_the_root_are_links_in_the_view_too(tmp_path, monkeypatch):
    places = [place for place in fences.SYSTEM if os.path.exists(place) and place.count("/") == 1]
    bound = []
    for name in ("_mount", "_set_attributes"):
        monkeypatch.setattr(kernel, name, lambda *_, **__: None)
    for name in ("chdir", "chroot"):
        monkeypatch.setattr(os, name, lambda _: None)
    monkeypatch.setattr(kernel, "_bind", lambda path, place, root: bound.append(path))
    (tmp_path / "dev").mkdir()
    kernel._build_view(str(tmp_path), places, [], 2**20)
    links = {place: os.readlink(place) for place in places if os.path.islink(place)}
    assert {place: os.readlink(f"{tmp_path}{place}") for place in links} == links
    assert {path for path in bound if not path.startswith("/dev/")} == {*places} - {*links}


@linux
@pytest.mark.parametrize(("refused", "found"), [(0, ["mount", "pid"]), (-1, [])])
def test_who_may_have_no_user_namespace_leaves_the_others_one_by_one(monkeypatch, refused, found):
    asked = []
    monkeypatch.setattr(kernel, "_unshared_user", lambda flags: False)
    monkeypatch.setattr(kernel, "LIBC", SimpleNamespace(unshare=lambda flag: asked.append(flag) or refused))
    assert kernel.unshared({"user", "mount", "pid"}) == found
    spaces = kernel.NAMESPACES
    assert asked == [spaces["mount"], spaces["pid"] | spaces["ipc"]]


VERSION_1 = "4:memory:/above/own\n3:pids:/own\n2:cpu,cpuacct:/\n0::/\n"
VERSION_2 = "0::/above/own\n"


@linux
@pytest.mark.parametrize(
    ("listed", "folders"),
    [(VERSION_1, {"memory/above/own", "pids/own"}), (VERSION_2, {"above"})],
    ids=["version 1", "version 2"],
)
def test_a_control_group_lies_below_or_beside_that_of_the_judge(tmp_path, monkeypatch, listed, folders):
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "cgroup.subtree_control").write_text("cpu memory pids")
    read = Path.read_text
    monkeypatch.setattr(control_group, "ROOT", tmp_path)
    monkeypatch.setattr(Path, "read_text", lambda self: listed if str(self) == "/proc/self/cgroup" else read(self))
    entrances = [Path(place) for place in control_group.ControlGroup(2**20, 7).entrances]
    assert {str(place.parents[1].relative_to(tmp_path)) for place in entrances} == folders
    limits = {file.name: file.read_text() for place in entrances for file in place.parent.iterdir()}
    assert limits["pids.max"] == "7"
    assert {limits.get("memory.max"), limits.get("memory.limit_in_bytes")} == {None, str(2**20)}


@linux
def test_a_judge_that_ended_and_was_not_asked_about_left_its_groups(tmp_path, monkeypatch):
    ended, runs = subprocess.Popen(["true"]), os.getpid()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    os.kill(ended.pid, 0)
    for process in (ended.pid, runs):
        (tmp_path / f"attnlab-{process}-1").mkdir()
    # A folder has no list of its processes; the kernel's is empty.
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self: "" if self.name == "cgroup.procs" else read(self))
    control_group._remove_abandoned(tmp_path)
    ended.wait()
    assert [left.name for left in tmp_path.iterdir()] == [f"attnlab-{runs}-1"]


def answer_of(program, processor, number, argument=2, kind=1):
    """What a filter of system calls says: Berkeley's packet filter, as far as ours goes."""
    at, loaded = 0, 0
    while True:
        code, if_so, if_not, value = program[at]
        if code == 0x06:
            return value
        if code == 0x20:
            loaded, jump = {0: number, 4: processor, 16: argument, 24: kind}[value], 0
        elif code == 0x54:
            loaded, jump = loaded & value, 0
        else:
            holds = loaded == value if code == 0x15 else loaded >= value
            jump = if_so if holds else if_not
        at += 1 + jump


@linux
@pytest.mark.skipif(os.uname().machine not in kernel.PROCESSORS, reason="its numbers of calls are not known")
def test_the_filter_lets_calls_of_this_processor_through_that_it_does_not_name_and_no_others(monkeypatch):
    caught = []

    def prctl(option, mode, filtering, *_):
        length, address = struct.unpack("HxxxxxxP", filtering)
        caught.extend(struct.iter_unpack("HBBI", ctypes.string_at(address, 8 * length)))
        return 0

    monkeypatch.setattr(kernel, "LIBC", SimpleNamespace(prctl=prctl))
    assert kernel._forbid_calls()
    here = kernel.PROCESSORS[os.uname().machine]
    named = {call[list(kernel.PROCESSORS).index(os.uname().machine)] for call in kernel.CALLS.values()}
    for number in {*range(600), 2**30 - 1, 2**30, 2**30 + 1, 2**32 - 1}:
        is_let_through = number not in named and number < 2**30
        assert answer_of(caught, here, number) == (0x7FFF0000 if is_let_through else 0x00050000 | errno.EPERM)
        if number == kernel.SOCKET[list(kernel.PROCESSORS).index(os.uname().machine)]:
            families = [n for n in range(64) if answer_of(caught, here, number, n) == 0x7FFF0000]
            assert families == [socket.AF_INET, socket.AF_INET6]
        if number == kernel.PAIR[list(kernel.PROCESSORS).index(os.uname().machine)]:
            kinds = [n for n in range(16) if answer_of(caught, here, number, kind=n) == 0x7FFF0000]
            assert kinds == [socket.SOCK_STREAM]
            flags = socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
            assert answer_of(caught, here, number, kind=socket.SOCK_STREAM | flags) == 0x7FFF0000
            assert answer_of(caught, here, number, kind=socket.SOCK_DGRAM | flags) != 0x7FFF0000
        for processor in (here ^ 1, 20):
            assert answer_of(caught, processor, number) == 0x00050000 | errno.EPERM


LIMITED = """
import importlib.util, json, resource, sys
spec = importlib.util.spec_from_file_location("part", sys.argv[1])
part = importlib.util.module_from_spec(spec)
spec.loader.exec_module(part)
kind, ceiling, asked = getattr(resource, sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
resource.setrlimit(kind, (ceiling, ceiling))
if sys.argv[2] == "RLIMIT_NPROC":
    part.unprivileged(None, asked, ["user", "pid"])
else:
    part._limited(asked)
print(*resource.getrlimit(kind))
"""


@linux
@pytest.mark.parametrize(
    ("part", "kind", "ceiling", "wanted"),
    [
        ("launcher", "RLIMIT_CPU", 1000, "30 31"),
        ("launcher", "RLIMIT_CPU", 20, "20 20"),
        ("launcher", "RLIMIT_FSIZE", 2**20, "4096 4096"),
        ("kernel", "RLIMIT_NPROC", 5000, "40 40"),
        ("kernel", "RLIMIT_NPROC", 30, "30 30"),
    ],
)
def test_a_limit_is_the_lower_of_the_labs_and_of_what_the_caller_may_have(part, kind, ceiling, wanted):
    file = Path(fences.__file__).with_name(f"{part}.py")
    asked = {"means": ["limits"], "seconds": 30, "file_size": 4096, "processes": 40}
    command = [sys.executable, "-c", LIMITED, str(file), kind, str(ceiling), json.dumps(asked)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.stdout.strip() == wanted, found.stderr


@linux
def test_a_spare_uid_is_nobodys():
    uid, held = kernel.spare_uid()
    with held:
        assert 20_000 <= uid < 60_000
        assert kernel._tasks_of(uid) == 0
        assert kernel._tasks_of(os.getuid()) > 0


@linux
def test_a_spare_uid_is_given_to_one_run_at_a_time(monkeypatch):
    """Whatever is drawn, the second run gets the next one, and a uid is free again when its run has ended."""
    monkeypatch.setattr(kernel.os, "urandom", lambda n: bytes(n))
    with kernel.spare_uid()[1] as held:
        first = held.getsockname()
        with kernel.spare_uid()[1] as other:
            assert other.getsockname() != first
    with kernel.spare_uid()[1] as again:
        assert again.getsockname() == first


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become another user")
def test_runs_at_one_time_have_users_of_their_own(tmp_path):
    """Four processes, in namespaces that count their processes from one."""
    (tmp_path / "mine.py").write_text("import os\ndef f(): return os.getuid()")
    with contextlib.ExitStack() as block:
        runs = [block.enter_context(Submission(f"{tmp_path}/mine.py::f")) for _ in range(4)]
        uids = [int(run()) for run in runs]
        assert len({*uids}) == 4
        assert all(kernel._tasks_of(uid) for uid in uids)


@linux
def test_a_judge_that_has_become_undumpable_says_so():
    get_dumpable = "__import__('ctypes').CDLL(None).prctl(3, 0, 0, 0, 0)"
    asked = f"from attnlab_theory.sandbox import fences; print(fences.become_undumpable(), {get_dumpable})"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert found.stdout.split() == ["True", "0"], found.stderr


def test_what_is_hidden_comes_in_the_order_of_names_whatever_the_disk_says(tmp_path, monkeypatch):
    names = [".a", ".b", ".c", "mine.py"]
    for order in (names, names[::-1]):
        monkeypatch.setattr(fences.os, "listdir", lambda _, order=order: order)
        hidden = fences.view(tmp_path / "mine.py", alone=False, searched=True)[1]
        assert hidden == [str(tmp_path / name) for name in names[:3]]
