"""MCP's own conformance scenarios and its Inspector against a server over HTTP and over stdio: make test-mcp (needs npm).

Most scenarios call tools, resources and prompts of one test server by name, which no other server has. Those that ask
something of any server must pass; the others are counted.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

NPX = [
    "npx", "-y", "-p", "node@22", "-p", "@modelcontextprotocol/conformance@0.1.16", "-p",
    "@modelcontextprotocol/inspector@2.12.0", "--",
]  # fmt: skip
GENERAL = {
    "server-initialize", "ping", "tools-list", "tools-call-error", "resources-list", "prompts-list",
    "server-sse-multiple-streams", "dns-rebinding-protection",
}  # fmt: skip
"""Scenarios that ask something of any server."""
TOOLS = {
    "default": [
        "remember content='Ana lives in Lisbon.' tags=flat importance=0.7", "recall query='Where does Ana live?' since=yesterday",
        "context query=Ana max_tokens=300", "context", "forget description='where Ana lives' dry_run=true",
    ],
    "memory-server": [
        "store_memory content='Ana lives in Lisbon.'", "search_memories query='Where does Ana live?' limit=3",
        "consolidate_memories", "should_consolidate", "get_memory_context query=Ana",
    ],
    "ooda": [
        "remember content='Ana lives in Lisbon.' importance=9", "recall query='Where does Ana live?' reach=user",
        "list order=importance since=yesterday", "graph id={id} depth=1", "context", "consolidate",
        "update id={id} importance=8", "delete ids=[\"{id}\"]",
    ],
}  # fmt: skip
"""Calls of each profile; {id} is that of the first memory."""
REST = [
    ["tools/list"], ["resources/list"], ["resources/templates/list"], ["prompts/list"],
    ["resources/read", "--uri", "memory://stats"], ["resources/read", "--uri", "memory://recent"],
    ["resources/read", "--uri", "memory://records/{id}"], ["prompts/get", "--prompt-name", "session_start"],
]  # fmt: skip


def command(folder: str, profile: str) -> list[str]:
    options = ["--dir", folder, "--embedder", "hashing", "--project", "off", "--profile", profile]
    return [sys.executable, "-m", "mnemic_mcp", *options]


@contextmanager
def serving(folder: str, profile: str) -> Iterator[str]:
    with subprocess.Popen(
        [*command(folder, profile), "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            yield re.search(r"http://\S+", server.stderr.readline())[0]
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)


def npx(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NPX, *words], capture_output=True, text=True, timeout=600, check=False)


def conformance(address: str) -> list[str]:
    """Run every scenario; those of GENERAL that do not pass."""
    done = npx("conformance", "server", "--url", address, "--suite", "all")
    outcome = {name: mark == "✓" for mark, name in re.findall(r"^([✓✗]) ([\w-]+):", done.stdout, re.MULTILINE)}
    passed = {name for name, good in outcome.items() if good}
    print(f"  conformance: {len(passed)} of {len(outcome)} scenarios pass: {', '.join(sorted(passed))}")
    return sorted(GENERAL - passed)


def inspector(target: Sequence[str], *words: str) -> dict | None:
    """The answer to one request of the Inspector; None where it is none."""
    done = npx("mcp-inspector", "--cli", *target, "--method", *words)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        print(f"    {shlex.join(words)}: {done.stdout[-300:]}{done.stderr[-300:]}")
        return None
    if answer.get("isError"):
        print(f"    {shlex.join(words)}: {answer['content'][0]['text']}")
        return None
    return answer


def inspected(target: Sequence[str], profile: str) -> list[str]:
    """Make every request over one target; those without an answer."""
    failed, id_ = [], ""
    for call in TOOLS[profile]:
        name, *arguments = shlex.split(call.replace("{id}", id_).replace('"', r"\""))
        words = ["tools/call", "--tool-name", name, *(w for a in arguments for w in ("--tool-arg", a))]
        answer = inspector(target, *words)
        failed += [] if answer else [f"{profile} {call}"]
        id_ = id_ or (answer or {}).get("structuredContent", {}).get("id", "")
    for request in REST:
        words = [word.replace("{id}", id_) for word in request]
        failed += [] if inspector(target, *words) else [f"{profile} {' '.join(words)}"]
    print(f"  Inspector: {len(TOOLS[profile]) + len(REST)} requests, {len(failed)} without an answer")
    return failed


def main() -> int:
    failed: list[str] = []
    for profile in TOOLS:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{profile}, over HTTP")
            with serving(folder, profile) as address:
                failed += conformance(address) + inspected([address], profile)
    with tempfile.TemporaryDirectory() as folder:
        print("default, over stdio")
        sources = ["-e", f"PYTHONPATH={path}"] if (path := os.environ.get("PYTHONPATH")) else []
        failed += inspected([*sources, *command(folder, "default")], "default")
    print(f"failed: {failed}" if failed else "all pass")
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
