"""`python -m einlang`: the command line."""

import sys


def main() -> int:
    """Does what the arguments say; gives the exit code."""
    from ._einlang import command

    return command(["einlang", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
