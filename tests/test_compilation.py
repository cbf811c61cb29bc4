"""What is set of how XLA compiles, and what is left to the user."""

import os

import pytest

from attnlab_theory import compilation
from attnlab_theory.compilation import IN_HASTE, compile_in_haste, keep_programs


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    for name in ("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        monkeypatch.setenv(name, "set, so that it is set again after the test")
        monkeypatch.delenv(name)
    monkeypatch.setattr(compilation.metadata, "entry_points", lambda group: ())


def test_haste_is_set_once_however_often_it_is_asked_for():
    compile_in_haste()
    compile_in_haste()
    assert os.environ["XLA_FLAGS"] == " ".join(IN_HASTE)


def test_flags_of_devices_go_with_haste_and_a_flag_of_the_user_stays(monkeypatch):
    theirs = "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=3"
    monkeypatch.setenv("XLA_FLAGS", theirs)
    compile_in_haste()
    assert os.environ["XLA_FLAGS"] == " ".join([*IN_HASTE[1:], theirs])


def test_nothing_is_set_where_an_accelerator_may_compute(monkeypatch):
    monkeypatch.setattr(compilation.metadata, "entry_points", lambda group: (group,))
    compile_in_haste()
    assert "XLA_FLAGS" not in os.environ


def test_programs_are_kept_where_the_user_says_or_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep_programs()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "attnlab" / "jax")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    keep_programs()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"


def test_unknown_flags_are_asked_of_jax_and_of_no_file_of_the_folder(monkeypatch, tmp_path):
    """Starts a process, which imports jax, and computes nothing."""
    (tmp_path / "jax.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_min_max=true")
    compilation.refuse_unknown_flags()
    assert not (tmp_path / "ran").exists()
