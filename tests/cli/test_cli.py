"""The front door: help, one-line refusals, and lazily imported rooms."""

import errno
import importlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory import compilation, exits
from attnlab_theory.cli import bounds, main, own_claims


def run(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "copyin"], "did you mean copying?"),
        (["run", "copying", "--budget", "huge"], "quick"),
        (["run", "copying", "--seed", "x"], "x"),
        (["lisst"], "no command is called 'lisst'; did you mean list?"),
        (["zzz"], "no command is called 'zzz'; attnlab --help names them"),
        (["-h", "lisst"], "did you mean list?"),
        (["--json", "list"], "--json stands where a command should; name one first: list, run, "),
        (["list", "--jsn"], "Perhaps you meant: --json"),
        (["knowledge", "rum"], "Available subcommands: pretrain, "),
        (["construct", "subset"], "--keys"),
        (["leaks", "--function", "x"], "there is no --function, and FUNCTION is missing; see attnlab leaks --help"),
        (["heads", "--models", "x"], "there is no --models, and MODEL is missing; see attnlab heads --help"),
        (["run", "--seed"], "--seed needs a value after it; see attnlab run --help"),
        (
            ["conform", "mine.py::f", "--mask", "keep"],
            "Expected one of ('additive', 'bool-drop', 'bool-keep', 'none', 'ones-drop', 'ones-keep')",
        ),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_list_names_every_claim_of_every_experiment_and_of_every_lab(capsys):
    from attnlab_theory.claims import CLAIMS

    labs = Path(__file__).parents[2] / "attnlab_theory" / "labs"
    stated = {
        each.name
        for path in labs.glob("*/claims.py")
        for each in importlib.import_module(f"attnlab_theory.labs.{path.parent.name}.claims").STATEMENTS
    }
    code, out, _ = run(capsys, "list", "--json")
    assert code == 0
    named = {claim["name"] for experiment in json.loads(out) for claim in experiment["claims"]}
    assert named == {claim.name for claim in CLAIMS} | stated


def on_a_terminal(*arguments: str, errors: bool = False, **environment: str) -> str:
    """What the command prints where standard output, or standard error, is a terminal."""
    ours, theirs = pty.openpty()
    program = "import sys; from attnlab_theory.cli import main; main(sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.DEVNULL if errors else theirs,
        stderr=theirs if errors else None,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(theirs)
        printed = b""
        with open(ours, "rb", buffering=0) as terminal:
            try:
                while more := terminal.read(4096):
                    printed += more
            except OSError:  # how Linux says that the other side is closed
                pass
        assert process.wait(60) == 0
    return printed.decode()


@pytest.mark.slow("colours of a table, with and without a terminal, stay inside")
@pytest.mark.parametrize(("arguments", "said"), [(["run", "--help"], "--budget"), (["--help"], "knowledge")])
def test_help_has_colour_on_a_terminal_and_none_under_no_color(arguments, said):
    coloured = on_a_terminal(*arguments, NO_COLOR="")
    plain = on_a_terminal(*arguments, NO_COLOR="1")
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain
    assert said in plain


@pytest.mark.slow("nothing inside asks this: a terminal needs a process of its own")
def test_a_terminal_is_told_at_once_that_a_command_starts_until_it_says_more():
    shown = on_a_terminal("--version", errors=True)
    assert shown == "starting …\r\x1b[K"
    assert on_a_terminal("--version", errors=True, TERM="dumb") == ""


@pytest.mark.slow("a table without colours, where no terminal is, stays inside")
@pytest.mark.parametrize(
    "arguments",
    [["answers", "blog/learned"], ["check", "mine.py::f", "--question", "uw/1.2.1"]],
    ids=lambda a: a[0],
)
def test_no_line_ends_in_spaces_where_there_is_no_terminal(capsys, monkeypatch, tmp_path, arguments):
    """Answers a question of the sheet, and judges a submission in a process of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def f(keys, *rest):\n    return 0 * keys[0]\n")
    _, out, _ = run(capsys, *arguments)
    lines = out.splitlines()
    assert len(lines) > 3
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_route_to_nowhere_is_refused_in_the_command_lines_own_words(capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    files = ["--inputs", str(tmp_path / "x.npy"), "--outputs", str(tmp_path / "x.npy")]
    code, _, err = run(capsys, "construct", "routing", *files, "--routes", "2,-")
    assert (code, err.count("\n")) == (2, 1)
    assert "--routes: no input is numbered 2, only 0 to 1; - leaves a row free" in err


def test_one_input_alone_has_no_score_to_lead(capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1, 2)))
    files = ["--inputs", str(tmp_path / "x.npy"), "--outputs", str(tmp_path / "x.npy")]
    code, out, _ = run(capsys, "construct", "routing", *files, "--routes", "0")
    assert code == 0
    assert "every wanted score has no other to lead\n" in out
    assert "inf" not in out


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e10", "1e300"])
@pytest.mark.parametrize("command", [["check", "--question", "uw/1.2.1"], ["leaks"]], ids=lambda c: c[0])
def test_a_time_limit_is_at_most_a_day(capsys, tmp_path, command, seconds):
    (tmp_path / "mine.py").write_text("def f(x):\n    return x\n")
    code, out, err = run(capsys, *command, f"{tmp_path}/mine.py::f", f"--time-limit={seconds}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--time-limit must be positive and at most 86400 (a day), not " in err


def test_what_no_memory_holds_is_one_line_and_exit_code_2(capsys, monkeypatch):
    monkeypatch.setattr(bounds, "MOST", dict.fromkeys(bounds.MOST, np.inf))
    code, out, err = run(capsys, "leaks", "absent.py::f", "--length", f"{10**8}", "--width", f"{10**7}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "are too large: Unable to allocate 7.11 PiB" in err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OverflowError("int too large\nto convert"),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 51199999488 bytes."),
    ],
)
def test_memory_and_range_are_refused_in_one_line(capsys, monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("attnlab_theory.cli._parse", fail)
    code, out, err = run(capsys, "list")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "asked for are too large: " in err


def test_a_template_is_one_json_value_too(capsys):
    code, source, _ = run(capsys, "check", "--template", "practical4/2b")
    found = json.loads(run(capsys, "check", "--template", "practical4/2b", "--json")[1])
    assert (code, found) == (0, {"question": "practical4/2b", "template": source})


@pytest.mark.slow("which commands have an option for JSON stays inside")
def test_doctor_prints_one_json_value(capsys):
    """Times what this machine needs to compile and to draw."""
    code, out, _ = run(capsys, "doctor", "--json")
    assert code == 0
    assert {"versions", "devices", "precision", "seconds_about"} <= set(json.loads(out))


CLOSED = """
import itertools, os, sys
from attnlab_theory.cli import main
for count in range(int(sys.argv[3]), 4):
    for streams in itertools.combinations((0, 1, 2), count):
        process = os.fork()
        if not process:
            for each in streams:
                os.close(each)
                setattr(sys, ("stdin", "stdout", "stderr")[each], None)
            os._exit(main(["check", sys.argv[1], "--question", "uw/1.2.1"]))
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == int(sys.argv[2]), streams
"""


@pytest.mark.slow("that closed streams are opened anew stays inside")
@pytest.mark.parametrize(("answer", "code", "least"), [("1e5 * keys[0]", 0, 2), ("keys[1]", 1, 3)])
def test_the_exit_code_is_that_of_the_verdict_whatever_streams_are_closed(tmp_path, answer, code, least):
    """Judges an answer once for each set of two streams that are closed, or of all three."""
    (tmp_path / "mine.py").write_text(f"def f(keys): return {answer}\n")
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, f"{tmp_path}/mine.py::f", str(code), str(least)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("error", "code"), [(ValueError("no such claim"), 2), (KeyboardInterrupt(), 130)])
def test_the_exit_code_is_the_same_where_nobody_can_read_why(error, code, monkeypatch):
    def fail():
        raise error

    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no full device")
    with open("/dev/full", "w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert exits.exit_code(fail) == code


def test_closed_streams_are_opened_anew_and_others_stay(tmp_path):
    program = (
        "import os, sys; from attnlab_theory import exits\n"
        "os.close(0); os.close(2); sys.stdin = sys.stderr = None\n"
        "exits.open_streams(); print(open(os.devnull).fileno() > 2, end='', file=sys.stderr)\n"
        "print(sys.stdin.read() == '', os.get_inheritable(2), open(os.devnull).fileno() > 2)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True True True\n", "")


@pytest.mark.slow("the errors of jax by which this is told stay inside")
@pytest.mark.parametrize(("platform", "what"), [("nonsense", "doctor"), ("tpu", "check"), ("cpu,tpu", "grade")])
def test_a_platform_that_is_not_there_is_one_line(platform, what, tmp_path):
    """Starts the command in a process of its own: jax reads the variable once. An answer gets no mark."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "mine.py").write_text("def q2b(keys, a, b):\n    return 1e4 * (keys[a] + keys[b])\n")
    given = {
        "doctor": [],
        "check": [f"{tmp_path}/class/mine.py::q2b", "--question", "practical4/2b"],
        "grade": [f"{tmp_path}/class", "--rubric", "practical4"],
    }
    command = [sys.executable, "-m", "attnlab_theory", what, *given[what]]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"JAX_PLATFORMS": platform})
    line = f"attnlab: JAX_PLATFORMS={platform} names no device of this machine: unset it, or say cpu"
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == line
    assert len(done.stderr.splitlines()) <= 2, "and before it the number of submissions"
    assert not done.stdout


def test_a_user_without_a_home_is_told_the_version(monkeypatch, capsys):
    monkeypatch.setattr(Path, "home", classmethod(lambda cls: (_ for _ in ()).throw(RuntimeError("no home"))))
    for name in ("XDG_CACHE_HOME", "JAX_COMPILATION_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("attnlab ")


def test_a_file_that_is_no_python_is_no_file_of_claims(tmp_path):
    np.savez(tmp_path / "claims.npz", x=np.ones(2))
    with pytest.raises(ValueError, match=r"is no Python file: its name must end in \.py"):
        own_claims.experiment_of(tmp_path / "claims.npz", set())


@pytest.mark.parametrize(("name", "least"), [(name, least) for name, (least, _, _) in exits.LEAST.items()])
def test_a_process_that_may_have_too_little_memory_begins_nothing(monkeypatch, capsys, name, least):
    monkeypatch.setattr(exits, "limits", lambda: {name: least})
    exits.refuse_cramped()
    monkeypatch.setattr(exits, "limits", lambda: {name: least - 1})
    assert main(["list"]) == 2
    err = capsys.readouterr().err
    assert f"and needs {least:,}: raise it" in err
    assert exits.LEAST[name][2] in err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("=2 --xla_nonsense=1", "Unknown flag in XLA_FLAGS: --xla_nonsense=1"),
        ("=x", "Couldn't interpret value x for flag xla_force_host_platform_device_count."),
    ],
)
def test_a_flag_that_xla_does_not_know_is_one_line(flags, said, monkeypatch, capsys):
    """Asks XLA in a process of its own, for nobody else knows its flags."""
    monkeypatch.setenv("XLA_FLAGS", f"{compilation.DEVICES}{flags}")
    assert main(["list"]) == 2
    flags = f"{compilation.DEVICES}{flags}"
    assert capsys.readouterr().err == f"attnlab: XLA_FLAGS={flags}: XLA refuses it: {said}\n"


ENDED = """
import os, resource, signal, time
from attnlab_theory.sandbox.processes import supervised
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
for end in (os.abort, lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(3)):
    print(supervised(end))
supervised(lambda: (os.kill(os.getppid(), signal.SIGTERM), time.sleep(60)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no other system ends the process with its parent")
def test_a_limit_of_memory_that_ends_a_command_is_named_in_a_line():
    """A library aborts, a kernel kills; an exit code and a signal from outside are handed on."""
    done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["2", "2", "3"]
    said = "ended this command, which may have 8,589,934,592 bytes of address space (ulimit -v)"
    assert [line.partition(":")[2].partition(said)[0] for line in done.stderr.splitlines()] == [
        " SIGABRT ",
        " SIGKILL ",
    ]
    assert done.stderr.count(said) == 2
    assert done.returncode == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells how a process ended")
def test_a_limit_of_time_that_ends_a_command_is_named_in_a_line():
    """A second of a processor is over before jax is imported. A crash has nothing to do with that limit."""
    limit = "import resource, signal; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n"
    work = "from attnlab_theory.cli import main; import sys; sys.argv[1:] = ['run', 'copying']; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", limit + work], capture_output=True, text=True)
    said = "SIGKILL ended this command, which may have 1 s of a processor (ulimit -t): it may need more"
    assert (done.returncode, done.stderr) == (2, f"attnlab: {said}\n")
    crash = "from attnlab_theory.sandbox import processes; import os; processes.supervised(os.abort)"
    done = subprocess.run([sys.executable, "-c", limit + crash], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, "")


@pytest.mark.parametrize("limited", [True, False])
def test_too_many_open_files_name_the_limit(monkeypatch, capsys, limited):
    monkeypatch.setattr(exits, "limits", lambda: {"RLIMIT_NOFILE": 1_024} if limited else {})

    def fail():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    assert exits.exit_code(fail) == 2
    said = "too many files are open: this process may have 1,024 open files (ulimit -n): raise it"
    assert capsys.readouterr().err == f"attnlab: {said if limited else os.strerror(errno.EMFILE)}\n"
    assert not exits.narrow(time=True), "no other line names it"


@pytest.mark.skipif(os.name == "nt", reason="no folder goes while a process is in it")
def test_a_folder_that_is_gone_is_one_line(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert exits.exit_code(lambda: len(os.getcwd())) == 2
    assert capsys.readouterr().err == (
        "attnlab: the folder in which this command began is gone: change to another one\n"
    )


@pytest.mark.parametrize("wide", [False, True])
def test_what_is_too_large_for_a_limit_names_the_limit(monkeypatch, capsys, wide):
    monkeypatch.setattr(exits, "limits", lambda: {"RLIMIT_STACK": 2**23} if wide else {"memory.max": 5_000})
    monkeypatch.setattr("attnlab_theory.cli._parse", lambda *_: (_ for _ in ()).throw(MemoryError()))
    assert main(["list"]) == 2
    named = "or raise what this process may have: 5,000 bytes of memory (the limit of its control group)"
    assert (named in capsys.readouterr().err) is not wide


def test_the_least_limit_of_the_control_groups_counts(monkeypatch):
    texts = {
        "/proc/self/cgroup": "4:memory:/a/b\n0::/c\n",
        "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "700\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/c/memory.max": "max\n",
    }

    def opened(path):
        if path not in texts:
            raise FileNotFoundError(path)
        return io.StringIO(texts[path])

    monkeypatch.setattr("builtins.open", opened)
    assert exits._of_control_groups() == [700]
    del texts["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"]
    assert exits._of_control_groups() == []
