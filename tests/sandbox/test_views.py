"""What a submission sees: nothing but Python, what is installed and its own files, whatever lies beside it."""

import errno
import os
import re
import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlab_theory.sandbox import fences
from attnlab_theory.sandbox.submission import Submission
from tests.sandbox.system import missing_fences

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other system has these fences")

PACKAGE = fences.PACKAGE

LOOKING = """
import os

def f(*places):
    found = []
    for place in {places!r}:
        try:
            found.append(bool(os.listdir(place) if os.path.isdir(place) else open(place).read()))
        except OSError:
            found.append(False)
    for place in {written!r}:
        try:
            open(place + "/attnlab-was-here", "w").close()
            found.append(True)
        except OSError:
            found.append(False)
    return found
"""


def seen(folder: Path, *places, written=(), **options) -> list[bool]:
    """What of some places a submission in a folder reads, and into which it writes."""
    (folder / "mine.py").write_text(LOOKING.format(places=[*map(str, places)], written=[*map(str, written)]))
    with Submission(f"{folder}/mine.py::f", **options) as submission:
        assert submission.missing == ()
        return [bool(x) for x in np.atleast_1d(submission())]


@pytest.fixture(autouse=True)
def fenced():
    if missing_fences():
        pytest.skip(f"this system allows no fence {', '.join(missing_fences())}")


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "elsewhere" / "secret"
    path.parent.mkdir()
    path.write_text("secret")
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "handed-in"
    path.mkdir()
    return path


SHAPES = {
    "loop": lambda folder, secret: (folder / ".a").symlink_to(".a"),
    "below a file": lambda folder, secret: (folder / ".a").symlink_to("mine.py/x"),
    "the root": lambda folder, secret: (folder / ".a").symlink_to("/"),
    "every other": lambda folder, secret: others(folder, secret),
}


def others(folder: Path, secret: Path) -> None:
    """Links to nothing, to a secret, to system folders and to the temporary one; a pipe, a socket; odd names."""
    for number, place in enumerate(
        ("/absent/place", secret, secret.parent, "/etc", os.environ.get("TMPDIR", "/tmp"))
    ):
        (folder / f".{number}").symlink_to(place)
    os.mkfifo(folder / ".pipe")
    with socket.socket(socket.AF_UNIX) as near:
        near.bind(os.path.relpath(folder / ".socket"))
    for name in (".\n", ".\\134", ". ", ".ü", "..."):
        (folder / name).mkdir()


@pytest.mark.parametrize("shape", SHAPES)
def test_no_link_beside_a_submission_takes_its_fence_away(folder, secret, shape):
    """Starts a process for each shape: each took the fence away by itself."""
    SHAPES[shape](folder, secret)
    links = [place for place in folder.iterdir() if place.is_symlink()]
    through = [f"{link}{place}" for link in links for place in ("", "/shadow", secret)]
    shown = [place for place in through if os.path.isdir(place)]
    secrets = [secret, "/etc/shadow", *(place for place in through if place not in shown)]
    found = seen(folder, *secrets, written=[secret.parent, folder, *shown])
    assert not any(found)
    assert secret.read_text() == "secret"


def test_a_folder_whose_name_is_no_text_has_the_same_view(folder, secret):
    """Names may hold bytes that no character has."""
    place = folder / "\udcff"
    (place / ".\udcfe").mkdir(parents=True)
    assert seen(place, secret, written=[place, place / ".\udcfe"]) == [False] * 3


def test_no_socket_beside_a_submission_leads_out(folder, tmp_path, monkeypatch):
    """The file of a socket lies in the folder, and whoever listens there lies outside of all fences."""
    monkeypatch.chdir(folder)
    asking = "import socket\ndef f():\n    try: socket.socket(socket.AF_UNIX).connect({!r})\n"
    asking += "    except OSError as error: return error.errno\n    return 0\n"
    (folder / "mine.py").write_text(asking.format(f"{folder}/near"))
    with socket.socket(socket.AF_UNIX) as near:
        near.bind("near")
        (folder / "near").chmod(0o777)
        near.listen()
        with Submission(f"{folder}/mine.py::f") as submission:
            assert submission() == errno.EPERM


def test_the_reference_solutions_are_hidden_by_every_name_of_their_folder(folder, tmp_path, monkeypatch):
    package = folder / "attnlab_theory"
    package.mkdir()
    (package / "solution").write_text("secret")
    (package / "sandbox").symlink_to(PACKAGE / "sandbox")
    other = tmp_path / "other"
    other.symlink_to(folder)
    monkeypatch.setattr(fences, "PACKAGE", package)
    readable, hidden = fences.view(other / "mine.py", alone=False, searched=False)
    assert {str(folder), str(other)} <= set(readable)
    assert {f"{place}/attnlab_theory" for place in (folder, other)} <= set(hidden)


def test_no_pair_of_sockets_leads_out(folder, monkeypatch):
    """Half of a pair that needs no connection would send to whoever listens beside the submission."""
    monkeypatch.chdir(folder)
    asking = "import socket\nimport numpy as np\ndef f():\n    found = []\n"
    asking += "    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM):\n"
    asking += "        try: socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b'x', {!r})\n"
    asking += "        except OSError as error: found.append(error.errno)\n        else: found.append(0)\n"
    (folder / "mine.py").write_text(asking.format(f"{folder}/near") + "    return np.array(found, float)\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as near:
        near.bind("near")
        (folder / "near").chmod(0o777)
        with Submission(f"{folder}/mine.py::f") as submission:
            assert submission().tolist() == [errno.EPERM, errno.EPERM, errno.EISCONN]
        near.setblocking(False)
        with pytest.raises(BlockingIOError):
            near.recv(1)


def test_a_folder_of_two_names_hides_under_both_what_begins_with_a_dot(folder, tmp_path):
    (folder / ".netrc").write_text("secret")
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "key").write_text("secret")
    other = tmp_path / "other"
    other.symlink_to(folder)
    hidden = [f"{each}/{name}" for each in (folder, other) for name in (".netrc", ".ssh/key", ".ssh")]
    assert not any(seen(other, *hidden, written=[folder / ".ssh"]))


def test_a_file_that_is_a_link_out_of_view_is_refused_with_a_remedy(folder, secret):
    secret.write_text("def f(): return 1")
    for link, target in ((folder / "mine.py", secret), (folder / "other.py", folder / "near.py")):
        link.symlink_to(target)
    shutil.copy(secret, folder / "near.py")
    said = f"{folder}/mine.py is a link to {secret}, where no submission can look: put the file itself there, or"
    with pytest.raises(ValueError, match=re.escape(said)), Submission(f"{folder}/mine.py::f"):
        pass
    with Submission(f"{folder}/other.py::f") as submission:
        assert submission() == 1


def test_too_many_hidden_files_are_refused_with_a_remedy(folder, secret):
    """Each is hidden by itself, and a program takes so many words and no more."""
    for number in range(700):
        (folder / f".{number:0200}").touch()
    with pytest.raises(
        ValueError, match=r"holds 70\d names that begin with a dot.*: put mine\.py into a folder of its own"
    ):
        seen(folder, secret)


def test_what_cannot_be_mounted_refuses_the_run_and_weakens_no_fence(folder, secret, monkeypatch):
    (folder / "lib").symlink_to(secret.parent)
    view = fences.view

    def through_a_link(path, **options):
        readable, hidden = view(path, **options)
        return [*readable, f"{folder}/lib/absent/deep"], hidden

    monkeypatch.setattr(fences, "view", through_a_link)
    with pytest.raises(ValueError, match=r"fence 'files' cannot be put up around .*/lib/absent/deep: .*; move it"):
        seen(folder, secret)
    assert [*secret.parent.iterdir()] == [secret]


def test_what_bubblewrap_refuses_for_one_file_alone_is_refused(folder, secret, monkeypatch):
    """The kernel is not asked either here: its means are withheld."""
    (folder / "mine.py").write_text("def f(): return 1")
    said = ["sh", "-c", "echo no such place >&2; exit 1", "--"]
    monkeypatch.setattr(fences, "bubblewrap", lambda plan: (said, plan))
    for works in (True, False):
        monkeypatch.setattr(fences, "bubblewrap_works", lambda works=works: works)
        submission = Submission(f"{folder}/mine.py::f", means=fences.MEANS - {"mount"})
        if works:
            with pytest.raises(ValueError, match=r"cannot be put up around .*: no such place; move"), submission:
                pass
        else:
            with submission:
                assert "files" in [fence.name for fence in submission.missing]


def test_a_submission_sees_neither_this_package_nor_what_lies_beside_it(folder, tmp_path, monkeypatch):
    """As in a clone that is installed as it lies: there another submission would be a module."""
    project = tmp_path / "project"
    (project / "class").mkdir(parents=True)
    (project / "class" / "theirs.py").write_text("secret")
    monkeypatch.syspath_prepend(project)
    monkeypatch.setenv("PYTHONPATH", str(project))
    reference = [PACKAGE / name for name in ("grader/contracts", "answers", "theory", "__init__.py")]
    clone = PACKAGE.parent / "pyproject.toml"
    places = [project / "class" / "theirs.py", *reference, clone]
    assert not any(seen(folder, *places))
    # A library of somebody's own, which `conform` and `leaks` judge, may need its neighbours.
    assert seen(folder, *places[:-1], searched=True) == [True] * 5


def test_what_is_installed_is_shown_inside_of_what_is_hidden(folder, monkeypatch):
    packages = folder / ".local" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "theirs.py").write_text("installed")
    (folder / ".local" / "keyring").write_text("secret")
    monkeypatch.syspath_prepend(packages)
    found = seen(
        folder, packages / "theirs.py", folder / ".local" / "keyring", written=[folder / ".local", packages]
    )
    assert found == [True, False, False, False]


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        (f"{sys.prefix}/class", True),
        ("/usr/local/class", True),
        (f"{PACKAGE}/grader/contracts", False),
        ("/absent/class", False),
    ],
)
def test_a_place_that_every_submission_reads_is_told_from_others(place, inside):
    assert bool(fences.visible(Path(place))) == inside
