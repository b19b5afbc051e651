"""A real server behind pipes, spoken to in bytes."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE = 120.0
"""Seconds after which a server counts as dead or deaf, on a machine as busy as it may be."""
START = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}


class Server:
    """A process of ``mnemic-mcp`` that has been greeted."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "mnemic_mcp", "--persist-dir", str(folder), "--embedder", "hashing"]
        command += ["--project", "off"]
        self.errors = (folder.parent / "stderr").open("wb")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=folder.parent
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()
        self._number = 0
        self.stray = 0
        self.asked("initialize", **START)
        self.sent(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def _follow(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def sent(self, data: bytes) -> None:
        """Bytes and the end of a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def asked(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a call; whatever else is said meanwhile must be well-formed too, and answers nothing of ours."""
        self._number += 1
        mine = f"call-{self._number}"
        self.sent(json.dumps({"jsonrpc": "2.0", "id": mine, "method": method, "params": params}).encode())
        while True:
            line = self._lines.get(timeout=PATIENCE)
            assert line is not None, "the server ended"
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == mine:
                assert "result" in message, message
                return message["result"]
            assert not str(message.get("id", "")).startswith("call-"), message
            self.stray += 1

    def unharmed(self) -> None:
        """Remembering and recalling work as on the first day."""
        assert self.process.poll() is None
        text = f"The lamp {self._number} stands in the hall."
        stored = self.asked("tools/call", name="remember", arguments={"content": text})
        assert not stored.get("isError"), stored
        found = self.asked("tools/call", name="recall", arguments={"query": text})
        assert text in json.dumps(found)

    def ended(self) -> int:
        """Close stdin, as clients do; the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE)
        self._reader.join(timeout=PATIENCE)
        self.process.stdout.close()
        self.errors.close()
        return code
