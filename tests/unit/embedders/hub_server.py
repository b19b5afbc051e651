"""A model hub on loopback: as much of its protocol as the client asks of one that is served from a folder."""

import hashlib
import json
import re
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from huggingface_hub import constants

__all__ = ["serving"]


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing on the terminal of the tests."""

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _answer(self, *, body):
        hub = self.server.hub
        hub.asked.append(f"{self.command} {self.path}")
        if (found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/([^/?]+)(\?.*)?", self.path)) is not None:
            return self._api(hub, *found.groups()[:2], body=body)
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.path)
        commit = hub.commit(*found.groups()[:2]) if found else None
        content = hub.revisions[commit].get(found[3]) if commit else None
        if content is None:
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, body=body)
        etag = hashlib.sha256(content).hexdigest()
        return self._send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": commit}, body=body)

    def _api(self, hub, repository, revision, *, body):
        commit = hub.commit(repository, revision)
        if commit is None:
            return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body=body)
        siblings = [{"rfilename": name} for name in hub.revisions[commit]]
        told = {"id": repository, "modelId": repository, "sha": commit, "siblings": siblings}
        return self._send(200, json.dumps(told).encode(), {"Content-Type": "application/json"}, body=body)

    def _send(self, code, content, headers, *, body):
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)


class Hub:
    """One repository with branches and commits, each a dictionary of files."""

    def __init__(self, repository):
        self.repository, self.revisions, self.branches, self.asked = repository, {}, {}, []

    def push(self, folder, branch="main"):
        """A new commit with the files of a folder; its name."""
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        commit = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.revisions[commit] = files
        self.branches[branch] = commit
        return commit

    def commit(self, repository, revision):
        if repository != self.repository:
            return None
        revision = self.branches.get(revision, revision)
        return revision if revision in self.revisions else None


@contextmanager
def serving(monkeypatch, repository):
    """A hub that holds one repository, and a client that asks it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.hub = Hub(repository)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    try:
        yield server.hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
