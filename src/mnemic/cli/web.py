"""The commands that show a memory: ``ui`` and ``report``."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mnemic.cli.config import open_memory
from mnemic.cli.output import Answer, say, say_json, stdout, warn
from mnemic.cli.parser import command, flag, option
from mnemic.errors import ConfigurationError, MissingExtra
from mnemic.services.files import atomic_write

if TYPE_CHECKING:
    from argparse import Namespace


@command(
    "show the memory in a browser",
    option("--port", "the port on this machine (default: a free one)", type=int, default=0, metavar="N"),
    flag("--read-only", "without the pages that change something"),
    flag("--no-browser", "print the link, and do not open a browser"),
)
def ui(args: Namespace) -> Answer:
    """Serve the explorer of one user on this machine until Ctrl-C: what is known, when it held, and why it is recalled.

    The link works once; the browser that opened it stays allowed in. Other machines and other sites are refused.

    examples:
      mnemic ui
      mnemic ui --user ana --read-only --port 8765 --no-browser
    """
    try:
        import uvicorn

        from mnemic.web.access import Access
        from mnemic.web.app import app
    except ImportError as error:
        raise MissingExtra("The explorer", "web") from error
    token = secrets.token_urlsafe(24)
    with open_memory(args) as memory, _listening(args.port) as listener:
        application = app(memory, read_only=args.read_only, access=Access(token=token))
        link = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={token}"
        if args.json:
            say_json({"link": link})
        else:
            say(link)
        stdout().flush()
        warn("the explorer runs until Ctrl-C")
        server = uvicorn.Server(uvicorn.Config(application, log_level="warning", access_log=False, lifespan="off"))
        with nullcontext() if args.no_browser else _opened(link):
            server.run(sockets=[listener])
    return Answer(None)


@contextmanager
def _opened(link: str) -> Generator[None]:
    """Open a browser by a file in a folder of its owner: everybody on the machine sees the arguments of a process."""
    with TemporaryDirectory(prefix="mnemic-") as folder:
        page = Path(folder, "explorer.html")
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}">', encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield


def _listening(port: int) -> socket.socket:
    """A socket of this machine, open to clients: they wait until the server answers.

    Raises:
        ConfigurationError: the port is taken, or there is none of that number.
    """
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"Port {port} cannot be used: {error}. Leave out --port to take a free one."
        ) from error


@command(
    "write the memory as one HTML file",
    option("-o", "the file (default: memory.html)", dest="file", default="memory.html", metavar="FILE"),
)
def report(args: Namespace) -> Answer:
    """Write the views of the explorer as one file that opens without a server and without a network.

    It holds what was said in plain text: keep it as private as the memory itself.

    examples:
      mnemic report -o memory.html
    """
    try:
        from mnemic.web.app import report as rendered
    except ImportError as error:
        raise MissingExtra("The explorer", "web") from error
    with open_memory(args) as memory:
        page = rendered(memory)
    with atomic_write(args.file) as file:
        file.write(page)
    return Answer({"file": args.file, "bytes": len(page.encode())}, [args.file])
