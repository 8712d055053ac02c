"""`python -m fairview`."""

import sys

from fairview.cli import main

if __name__ == "__main__":
    sys.exit(main())
