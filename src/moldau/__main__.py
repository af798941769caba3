"""`python -m moldau` is the `moldau` command."""

from __future__ import annotations

import sys

from moldau.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
