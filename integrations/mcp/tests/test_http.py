"""Streamable HTTP: a server in a process of its own, and who may speak to it."""

from __future__ import annotations

import subprocess
import sys

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mnemic import Memory
from mnemic_mcp.options import TOKEN, parsed

SECRET = "a-secret-of-twenty-one"
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream"}


def status(address: str, **headers: str) -> int:
    return httpx2.post(address, json=INITIALIZE, headers={**ACCEPT, **headers}, timeout=60).status_code


async def test_a_client_remembers_and_recalls(serving, tmp_path):
    with serving(tmp_path, "--user", "ana", "--session", "s1") as address:
        async with Client(address) as one, Client(address) as other:
            kept = await one.call_tool("remember", {"content": "Ana lives in Lisbon."})
            assert not kept.is_error
            found = await other.call_tool("recall", {"query": "Where does Ana live?", "reach": "session"})
            assert [hit["id"] for hit in found.structured_content["found"]] == []
            found = await other.call_tool("recall", {"query": "Where does Ana live?"})
            assert [hit["id"] for hit in found.structured_content["found"]] == [kept.structured_content["id"]]
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        assert [record.content for record in memory.list()] == ["Ana lives in Lisbon."]
        assert memory.admin.verify().ok


async def test_without_the_token_nobody_is_served(serving, tmp_path):
    with serving(tmp_path, token=SECRET, host="0.0.0.0") as address:
        assert status(address) == 401
        assert status(address, authorization=f"Bearer {SECRET}x") == 401
        assert status(address, authorization=SECRET) == 401
        assert status(address, authorization=f"Bearer {SECRET}") == 200
        known = httpx2.AsyncClient(headers={"authorization": f"Bearer {SECRET}"})
        async with known, Client(streamable_http_client(address, http_client=known)) as client:
            assert len((await client.list_tools()).tools) == 5


def test_a_page_of_another_name_is_not_served(serving, tmp_path):
    with serving(tmp_path, "--http-name", "memory.example.com") as address:
        port = address.rsplit(":", 1)[1].partition("/")[0]
        assert status(address) == 200
        assert status(address, host="evil.example") == 421
        assert status(address, host=f"127.0.0.1.evil.example:{port}") == 421
        assert status(address, origin="http://evil.example") == 403
        assert status(address, origin=f"http://localhost:{port}") == 200
        assert status(address, host="memory.example.com", origin="https://memory.example.com") == 200


def test_a_port_that_is_taken_is_an_error_in_words(serving, tmp_path):
    with serving(tmp_path) as address:
        port = address.rsplit(":", 1)[1].partition("/")[0]
        command = [sys.executable, "-m", "mnemic_mcp", "--dir", str(tmp_path), "--http", f"127.0.0.1:{port}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Use another port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("address", "token", "said"),
    [
        ("0.0.0.0:8000", None, TOKEN), ("memory.example.com:8000", None, TOKEN), ("[::]:8000", None, TOKEN),
        ("127.0.0.1:8000", "short", "guessed"), ("8000", None, "HOST:PORT"), ("127.0.0.1:99999", None, "HOST:PORT"),
    ],
)  # fmt: skip
def test_what_is_refused_at_once(monkeypatch, capsys, address, token, said):
    monkeypatch.setenv(TOKEN, token or "")
    with pytest.raises(SystemExit) as end:
        parsed(["--http", address])
    told = capsys.readouterr().err
    assert (end.value.code, said in told) == (2, True)
    assert (token or "short") not in told


def test_the_address_on_this_machine_needs_no_token(monkeypatch):
    monkeypatch.setenv(TOKEN, "")
    http = parsed(["--http", "[::1]:8000", "--http-name", "here.example"]).http
    assert (http.host, http.port, http.token, http.names) == ("::1", 8000, None, ("here.example",))
    monkeypatch.setenv(TOKEN, SECRET)
    assert parsed(["--http", "0.0.0.0:0"]).http.token == SECRET
