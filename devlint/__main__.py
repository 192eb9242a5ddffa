"""`python -m devlint` is `devlint`."""

from devlint.cli import main

if __name__ == "__main__":
    main(prog_name="devlint")
