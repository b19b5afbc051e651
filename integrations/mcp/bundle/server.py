"""The entry point of the desktop bundle."""

from mnemic_mcp.__main__ import main

if __name__ == "__main__":
    main()
