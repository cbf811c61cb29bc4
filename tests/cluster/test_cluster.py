"""Work on a cluster of two workers: the numbers of one machine, whoever dies on the way."""

import contextlib
import json
import operator
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra cluster is not installed")

from attnlab_theory.cli import main
from attnlab_theory.cluster import client, worker
from attnlab_theory.cluster.client import Cluster, Stopped
from attnlab_theory.grader.classroom import markers, marking
from attnlab_theory.grader.classroom.hand_ins import hand_ins
from attnlab_theory.grader.classroom.marks import Terms
from attnlab_theory.grader.classroom.rubric import rubric_of

ROOT = Path(__file__).parents[2]
TEXT = "a cat runs\nthe dog sits\na dog runs\n" * 4
OWN = '''"""Is a mean a half?"""
import jax
from attnlab_theory.claims import Claim, Setting
from attnlab_theory.stats import Interval, bounded

class Plain(Setting):
    p: float = 0.5

CLAIM = Claim(
    name="a-half", statement="The mean is a half.", source="mine", predict=Interval.point(0.5), resolution=0.05,
    draw=lambda key, setting: jax.random.uniform(key), bound=bounded(0.0, 1.0), settings=(Plain(),),
)
'''


RUNNING: list[subprocess.Popen] = []
"""The scheduler and the nannies of the workers, each in a session with all that it starts."""


def begin(command, *options):
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{command}", *options, "--dashboard-address", "127.0.0.1:0"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a scheduler with two workers. Its nanny restarts a worker that is killed."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    running = [begin("scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(file))]
    try:
        deadline = time.monotonic() + 60
        while not file.exists() or not file.read_text().endswith("}"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        place = json.loads(file.read_text())["address"]
        told = ("--nthreads", "1", "--local-directory", str(folder))
        running += [begin("worker", place, "--host", "127.0.0.1", *told) for _ in range(2)]
        while True:
            with contextlib.suppress(ValueError), Cluster(place, tell=print) as cluster:
                if cluster.workers == 2:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.2)
        RUNNING[:] = running
        yield place
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system lists its sockets in files")
@pytest.mark.slow("the commands of the page, which say a local address, stay inside")
def test_a_cluster_listens_where_it_was_told_and_nowhere_else(address):
    """Reads the sockets of the scheduler, the nannies and the workers."""
    own, at = set(), {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(process.name)) in {each.pid for each in RUNNING}:
                own |= {os.readlink(each) for each in (process / "fd").iterdir()}
    for kind in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            _, here, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in own:
                at[inode] = here.partition(":")[0]
    assert len(at) >= 3, "a scheduler and two workers"
    assert {*at.values()} == {"0100007F"}


def test_the_page_starts_nothing_that_listens_at_all_addresses():
    """TLS guards the port of a cluster, and nothing guards the pages of its dashboard."""
    page = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith(("dask scheduler ", "dask worker "))]
    assert len(lines) == 4
    for line in lines:
        assert "--dashboard-address 127.0.0.1:" in line
        assert ("--host 127.0.0.1" in line) != ("tls" in line)


def kills_its_worker(folder, times):
    """Kill the worker at the first calls, and say afterwards how many there were."""
    calls = len(list(folder.iterdir()))
    (folder / str(calls)).touch()
    if calls < times:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return calls


def kills_itself(folder):
    if not list(folder.iterdir()):
        (folder / "begun").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def cores():
    time.sleep(0.5)
    return sorted(os.sched_getaffinity(0))


def not_able():
    return "no fence 'judge'"


def test_functions_are_called_elsewhere_and_errors_come_back(address):
    """The fixture starts a scheduler and two workers, and each worker starts a process."""
    with Cluster(address, tell=print) as cluster, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda n: cluster.call(operator.add, n, 1), range(5))) == [1, 2, 3, 4, 5]
        pids = set(threads.map(lambda _: cluster.call(os.getpid), range(6)))
        assert os.getpid() not in pids
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            cluster.call(operator.truediv, 1, 0)


@pytest.mark.slow("the cores for processes of one machine stay inside")
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins no process")
def test_processes_keep_to_one_core_each(address):
    """Starts a process on each of two workers."""
    with Cluster(address, tell=print, one_core=True) as cluster, ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: cluster.call(cores), range(2)))
    assert [len(each) for each in found] == [1, 1]
    assert len({each[0] for each in found}) == min(2, len(os.sched_getaffinity(0)))


@pytest.mark.slow("nothing inside asks this: workers must start with settings of their own")
def test_the_settings_of_jax_are_those_of_whoever_asks(address, monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    with Cluster(address, tell=print, xla_flags="--xla_cpu_multi_thread_eigen=false") as cluster:
        assert cluster.call(os.getenv, "JAX_ENABLE_X64") == "1"
        assert cluster.call(os.getenv, "XLA_FLAGS").endswith("--xla_cpu_multi_thread_eigen=false")


@pytest.mark.slow("a marker of one machine that is killed stays inside")
def test_what_a_killed_worker_did_is_done_once_more(address, tmp_path):
    """Starts a process on a worker, and another one elsewhere once that worker is killed."""
    told = []
    with Cluster(address, tell=told.append) as cluster:
        assert cluster.call(kills_its_worker, tmp_path, 1) == 1
    # A machine that is busy waits for the scheduler, and says so.
    told = [line for line in told if not line.startswith("waiting for ")]
    assert [line.endswith("is gone: its work is done again") for line in told] == [True]


@pytest.mark.slow("a marker of one machine that is killed twice stays inside")
def test_what_kills_two_workers_is_given_up(address, tmp_path):
    """Starts a process on each of two workers, which are killed and started again."""
    with (
        Cluster(address, tell=lambda _: None) as cluster,
        pytest.raises(ValueError, match="2 workers were killed at the same work"),
    ):
        cluster.call(kills_its_worker, tmp_path, 9)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow("a marker of one machine that is killed stays inside")
def test_a_killed_process_of_a_living_worker_is_started_anew(address, tmp_path):
    """Starts a process on a worker, and another after it is killed."""
    with Cluster(address, tell=lambda _: None) as cluster:
        assert cluster.call(kills_itself, tmp_path) == "done"


@pytest.mark.slow("calls and errors that come back stay inside")
def test_a_closed_cluster_stops_what_is_called_and_leaves_no_process(address):
    """Waits a second until both workers sleep."""
    with Cluster(address, tell=print) as cluster:
        pid = cluster.call(os.getpid)
        with ThreadPoolExecutor(2) as threads:
            sleeping = [threads.submit(cluster.call, time.sleep, 60) for _ in range(2)]
            time.sleep(1)
            cluster.close()
            for each in sleeping:
                with pytest.raises(Stopped):
                    each.result(timeout=20)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_worker_with_other_versions_is_refused(address, monkeypatch):
    other = {**worker.identity(), "jax": "0.1"}
    monkeypatch.setattr(worker, "identity", lambda: other)
    with pytest.raises(ValueError, match=r"has jax \S+, this machine 0\.1: install the same there"):
        Cluster(address, tell=print)


@pytest.mark.slow("the refusal of a worker with other versions stays inside")
def test_a_worker_that_is_not_able_is_refused_before_its_first_work(address):
    """Starts a process on a worker, which says what it lacks."""
    with (
        Cluster(address, tell=print, able=not_able) as cluster,
        pytest.raises(ValueError, match="cannot do this: no fence 'judge'"),
    ):
        cluster.call(os.getpid)


@pytest.mark.slow("one of two members stays inside", but=1)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("localhost:1", "--cluster is the address of a Dask scheduler, tcp://HOST:PORT, not 'localhost:1'"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers at tcp://127.0.0.1:9"),
        ("tls://127.0.0.1:9", "start one with `dask scheduler`, and name your certificate in Dask's configuration"),
    ],
)
def test_a_wrong_address_is_one_line(given, said, tmp_path, capsys, monkeypatch):
    """Waits a second for a scheduler that does not answer."""
    monkeypatch.setattr(client, "CONNECTING", 1.0)
    assert main(["run", "copying", "--cluster", given, "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_port_that_never_answers_is_one_line(tmp_path, capsys, monkeypatch):
    """Waits a second for a port that listens and says nothing."""
    monkeypatch.setattr(client, "CONNECTING", 0.5)
    monkeypatch.setattr(client, "SILENT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        # Else who waits without end would end no test.
        closing = threading.Timer(10, listening.close)
        closing.start()
        assert main(["run", "copying", "--cluster", address, "--out", str(tmp_path)]) == 2
        closing.cancel()
    waiting, said = capsys.readouterr().err.splitlines()
    assert waiting == f"waiting for {address} ..."
    assert said.startswith(f"attnlab: what listens at {address} does not answer as a Dask scheduler: name another")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow("functions that are called on workers stay inside")
def test_a_run_finds_the_numbers_of_one_machine(address, tmp_path):
    """Judges an experiment and a file of claims, here and on the cluster."""
    (tmp_path / "own.py").write_text(OWN)
    told = ["run", "averaging", str(tmp_path / "own.py"), "--out"]
    assert main([*told, str(tmp_path / "here")]) == 0
    assert main([*told, str(tmp_path / "there"), "--cluster", address]) == 0
    for name in ("averaging.json", "own.json"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def lab(folder, out, *options):
    (folder / "text").write_text(TEXT)
    texts = [part for name in ("train", "validation", "test") for part in (f"--{name}", str(folder / "text"))]
    few = ["--seeds", "2", "--arms", "separate", "zero-after", "--out", str(folder / out)]
    return ["mixers", "run", *texts, *few, *options]


def models(folder):
    found = (path for path in (folder / "models").rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.slow("functions that are called on workers stay inside")
def test_a_lab_trains_the_same_models_though_a_worker_is_killed(address, tmp_path, monkeypatch):
    """Trains four models here and four on the cluster, where a worker is killed."""
    monkeypatch.setattr("attnlab_theory.labs.mixers.tasks.Run.results", stop)
    with pytest.raises(Trained):
        main(lab(tmp_path, "here", "--processes", "2"))
    killing = threading.Thread(target=kill_one, args=(address,))
    killing.start()
    with pytest.raises(Trained):
        main(lab(tmp_path, "there", "--cluster", address))
    killing.join()
    assert models(tmp_path / "there") == models(tmp_path / "here")
    assert len(models(tmp_path / "there")) == 4


class Trained(BaseException):
    """All models are trained: what follows is the same everywhere."""


def stop(self, lab):
    raise Trained


def kill_one(address):
    """Kill the process of a worker of Dask a moment after it has begun to train."""
    from distributed import Client

    with Client(address, set_as_default=False) as there:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            busy = [name for name, tasks in there.processing().items() if tasks]
            if busy:
                time.sleep(1.0)
                with contextlib.suppress(Exception):
                    there.run(os._exit, 1, workers=busy[:1])
                return
            time.sleep(0.1)


@pytest.mark.slow("Ctrl-C among the processes of one machine stays inside")
def test_ctrl_c_keeps_what_has_come_back_and_a_resumed_run_goes_on(address, tmp_path):
    """Starts a lab in a process of its own, and waits for the first model that a worker has trained."""
    command = lab(tmp_path, "run", "--cluster", address)
    running = subprocess.Popen(
        [sys.executable, "-m", "attnlab_theory", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    first = next(line for line in running.stderr if "trained" in line)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert first == "separate, seed 0: 1 of 4 trained\n"
    kept = models(tmp_path / "run")
    assert "models/seed-0/separate" in kept
    assert not [name for name in kept if ".writing" in name]


GRADED = """
def q2b(keys, a, b):
    return {} * (keys[a] + keys[b])
"""


@pytest.mark.slow("functions that are called on workers stay inside")
def test_a_class_is_graded_as_at_home(address, tmp_path, capsys):
    """Grades a class here and on the cluster."""
    (tmp_path / "class").mkdir()
    for name, strength in (("right", 60), ("wrong", 1)):
        (tmp_path / "class" / f"{name}.py").write_text(GRADED.format(strength))
    (tmp_path / "rubric.toml").write_text('homework = "practical4"\n[points]\n2b = 1\n')
    told = [
        "grade",
        str(tmp_path / "class"),
        "--rubric",
        str(tmp_path / "rubric.toml"),
        "--json",
        "--seed",
        "7",
        "--journal",
    ]
    assert main([*told, str(tmp_path / "here.jsonl")]) == 0
    here = json.loads(capsys.readouterr().out)
    assert main([*told, str(tmp_path / "there.jsonl"), "--cluster", address]) == 0
    assert json.loads(capsys.readouterr().out) == here
    assert "right" in json.dumps(here)


def kills_its_judge(handed_in, terms):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow("a marker of one machine that is killed twice stays inside")
def test_a_submission_that_kills_two_workers_spoils_no_other_mark(address, tmp_path, monkeypatch):
    """Starts processes on the workers, which are killed one after the other."""
    place = tmp_path / "class"
    place.mkdir()
    (place / "one.py").write_text(GRADED.format(60))
    monkeypatch.setattr(marking, "marks_of_files", kills_its_judge)
    with Cluster(address, tell=lambda _: None) as cluster:
        terms = Terms(rubric=rubric_of("practical4"), time_limit=5)
        ((_, found),) = markers.marked_there(hand_ins(place), cluster, terms)
    assert found == markers.ENDED_TWICE


@pytest.mark.slow("a run with an address that is none stays inside")
@pytest.mark.parametrize("command", ["grade", "lab"])
def test_whoever_does_not_answer_is_told_of_before_anything_is_written(command, tmp_path, capsys, monkeypatch):
    """Waits a second for a scheduler that is not there."""
    monkeypatch.setattr(client, "CONNECTING", 1.0)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "one.py").write_text(GRADED.format(60))
    grade = ["grade", str(tmp_path / "class"), "--rubric", "practical4", "--journal", str(tmp_path / "out")]
    given = {"grade": grade, "lab": lab(tmp_path, "out")}[command]
    assert main([*given, "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("attnlab: no Dask scheduler answers")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow("an address that is none stays inside")
def test_one_machine_and_others_are_not_asked_at_once(tmp_path, capsys):
    """Short itself, but the last of the file: the processor time of all workers is counted where they end."""
    assert main(lab(tmp_path, "out", "--processes", "2", "--cluster", "tcp://127.0.0.1:9")) == 2
    assert "name one of them" in capsys.readouterr().err
