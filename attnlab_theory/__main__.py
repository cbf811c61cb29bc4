"""`python -m attnlab_theory` is the command `attnlab`."""

import sys

from attnlab_theory.cli import main

if __name__ == "__main__":
    sys.exit(main())
