"""Judges one entry point in a process of its own: `python -m board ENTRY PYTHON FILE`."""

import json
import os
import sys
import threading
from pathlib import Path

from attnlab_theory import files
from attnlab_theory.sandbox.child import leave_with_parent
from board.entry import entry_of
from board.judging import judged


def main() -> int:
    """Judge an entry, given as JSON, and write the file; or one line of what is wrong, on standard error."""
    entry, python, file = sys.argv[1:]
    # Whoever kills the board with SIGKILL does not reach it.
    threading.Thread(target=leave_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        told = judged(entry_of(json.loads(entry)), Path(python))
        files.write_text(Path(file), json.dumps(told, indent=1) + "\n")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
