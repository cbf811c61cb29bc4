"""How a command ends: with an exit code, and one line on standard error where it could not be done."""

import os
import sys
from collections.abc import Callable


def exit_code(command: Callable[[], int]) -> int:
    """Run a command and say in one line what it refuses.

    Returns:
        Its exit code; 2 for bad input, or more than the machine can hold; 130 after Ctrl-C.
    """
    try:
        return command()
    except BrokenPipeError:
        # `attnlab list | head` closes our output early; that is no error of ours, nor will the last flush be one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        return refuse(str(error))
    except (MemoryError, OverflowError) as error:
        # numpy says how much was wanted; Python itself says nothing.
        text = str(error) or type(error).__name__
        return refuse(f"the numbers asked for are too large: {text}; ask for smaller ones")
    except RuntimeError as error:
        # So jax says that there is no memory; anything else is a mistake of ours and keeps its traceback.
        if not str(error).startswith("RESOURCE_EXHAUSTED"):
            raise
        return refuse(f"the sizes asked for are too large: {error}; ask for smaller ones")
    except KeyboardInterrupt:
        print("attnlab: interrupted", file=sys.stderr)
        return 130


def refuse(message: str) -> int:
    """Say on standard error, in one line, what was wrong with the input; the exit code for it."""
    print(f"attnlab: {' '.join(message.split())}", file=sys.stderr)
    return 2
