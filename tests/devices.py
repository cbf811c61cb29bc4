"""Processes that believe in several devices."""

import os


def environment(devices: int, *flags: str) -> dict[str, str]:
    """That of this process with so many devices, and more flags: programs are compiled in haste there, too."""
    count = f"--xla_force_host_platform_device_count={devices}"
    return os.environ | {"XLA_FLAGS": " ".join([os.environ.get("XLA_FLAGS", ""), *flags, count])}
