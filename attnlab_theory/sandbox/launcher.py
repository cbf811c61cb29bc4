"""The process that puts up the fences around a submission. `submission` starts it by its path, not as a module.

It imports the standard library alone, has one thread, and gets one JSON value: the plan of `fences`. It forks twice
at most, so there are up to three processes:

* The process that was started waits outside the fences.
* The supervisor is the first process of the new process namespace. When it ends, everything inside ends.
* The submission is the supervisor's child. It can reach neither of the others.

A fence that the system forbids is left out. Before `child` loads a file, it reports which fences are in force.
"""

import contextlib
import importlib.util
import json
import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent

LOOK_EVERY = 0.05
"""Seconds between two checks of the memory of the group."""


def main(plan: dict[str, Any]) -> None:
    """Put up the fences, and run `child` inside them."""
    child, notebook, effects, kernel, descendants = map(
        _neighbour, ("child", "notebook", "effects", "kernel", "descendants")
    )
    if sys.platform != "linux":
        os.close(plan["status"])
        return child.main(_limited(plan), notebook, effects)
    wanted, inside = set(plan["means"]), set(plan["inside"])
    in_force = sorted(inside) + _joined(plan["groups"])
    reserved = kernel.spare_uid() if "uid" in wanted and kernel.may_take_uids() else None
    if not inside:
        in_force += kernel.unshared(wanted)
    # A change of namespace forgets this, so it comes after.
    kernel.die_with_parent()
    if not inside and os.getppid() != plan["judge"]:
        return None
    if "pid" in in_force and not inside:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        supervisor = os.fork()
        if supervisor:
            return _wait_outside(supervisor, plan["status"])
        kernel.die_with_parent()
    # Blocked before the fork, so that no death is missed; the submission gets its signals back.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
    kernel.set_dumpable(False)
    kernel.adopt_orphans()
    try:
        in_force += kernel.viewed(plan) if "mount" in in_force and not inside else []
    except kernel.Unviewable as error:
        return print(json.dumps({"unviewable": str(error)}))
    if "polling" in wanted and "group" not in in_force:
        in_force.append("polling")
    # Whoever was root may have become nobody in a user namespace.
    uid = reserved[0] if reserved and kernel.may_take_uids() else None
    process = os.fork()
    if process:
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        return _supervise(process, plan, uid, descendants, polling="polling" in in_force)
    os.close(plan["status"])
    if reserved:
        reserved[1].close()
    # A group of its own: a group is ended at once, however fast it forks.
    os.setsid()
    in_force += _limited(plan) + kernel.unprivileged(uid, plan, in_force)
    # An interrupt from outside is no exception of the submission.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    with contextlib.suppress(OSError):
        os.chdir(plan["scratch"])
    for needed in plan["needed"]:
        try:
            os.close(os.open(needed, os.O_RDONLY))
        except OSError as error:
            return print(json.dumps({"unreadable": needed, "errno": error.errno}))
    return child.main(in_force, notebook, effects)


def _neighbour(name: str) -> ModuleType:
    # By path: the folder of this package stays off the path of the submission.
    spec = importlib.util.spec_from_file_location(f"attnlab_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _joined(groups: list[str]) -> list[str]:
    """Enter the control groups that the judge has made, by the files that list their processes."""
    try:
        for group in groups:
            Path(group).write_text("0")
    except OSError:
        return []
    return ["group"] if groups else []


def _limited(plan: dict[str, Any]) -> list[str]:
    """Limit the processor time and the size of files. The address space stays: jax needs more than a few GB."""
    if "limits" not in plan["means"]:
        return []
    import resource

    for kind, soft, hard in (
        (resource.RLIMIT_CPU, plan["seconds"], plan["seconds"] + 1),
        (resource.RLIMIT_FSIZE, plan["file_size"], plan["file_size"]),
        (resource.RLIMIT_CORE, 0, 0),
        # Queues of messages outlive processes, too.
        *([(resource.RLIMIT_MSGQUEUE, 0, 0)] if sys.platform == "linux" else []),
    ):
        ceiling = resource.getrlimit(kind)[1]
        hard = hard if ceiling == resource.RLIM_INFINITY else min(hard, ceiling)
        resource.setrlimit(kind, (min(soft, hard), hard))
    return ["limits"]


def _wait_outside(supervisor: int, status: int) -> None:
    """Wait until nothing is left inside. To the kernel, the first process has ended only when all others have."""
    for descriptor in (0, 1, 2, status):
        os.close(descriptor)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(supervisor, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _, state = os.waitpid(supervisor, 0)
    if os.WIFSIGNALED(state):
        # Nobody inside can do that. The judge reads it off the end of this process.
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _supervise(
    process: int, plan: dict[str, Any], uid: int | None, descendants: ModuleType, *, polling: bool
) -> None:
    """Reap ended processes, check the memory of the group, and report how the submission ended."""
    too_much: dict[str, int] = {}
    waits, looked = {signal.SIGCHLD, signal.SIGTERM}, time.monotonic()
    asked_to_end = False
    while not asked_to_end and not too_much:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.wait4(-1, os.WNOHANG))[0]:
                if ended[0] == process:
                    used = ended[2].ru_utime + ended[2].ru_stime
                    return _end(
                        plan, descendants, uid, {"code": os.waitstatus_to_exitcode(ended[1]), "seconds": used}
                    )
        if polling and time.monotonic() - looked >= LOOK_EVERY:
            processes, held = descendants.holdings()
            looked = time.monotonic()
            if held > plan["memory"]:
                too_much = {"memory": held}
            elif processes > plan["processes"]:
                too_much = {"processes": processes}
        heard = signal.sigtimedwait(waits, LOOK_EVERY if polling else 3600)
        asked_to_end = heard is not None and heard.si_signo == signal.SIGTERM
    return _end(plan, descendants, uid, too_much or {"killed": signal.SIGTERM})


def _end(plan: dict[str, Any], descendants: ModuleType, uid: int | None, status: dict[str, Any]) -> None:
    """End everything that the submission has started, then report its status."""
    descendants.end(uid)
    with contextlib.suppress(OSError):
        os.write(plan["status"], json.dumps(status).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
