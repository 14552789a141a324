"""`python -m transad`: the command line."""
import sys

from transad.command.cli import main

if __name__ == "__main__":
    sys.exit(main())
