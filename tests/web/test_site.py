"""The built documentation in a real browser: nothing is missing, and no other host is asked for anything."""

import functools
import http.server
import re
import threading
from pathlib import Path

import pytest

pytestmark = [pytest.mark.docs, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
PAGES = [
    "" if page == "index.md" else page.replace(".md", "/")
    for page in re.findall(r"^ +- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Keep the output of the tests clean."""


@pytest.fixture(scope="module")
def address():
    assert SITE.is_dir(), "Build the site first: make docs"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def page(chromium, address):
    """A page that notes what it should not do."""
    page = chromium.new_page(base_url=address, viewport={"width": 1280, "height": 900})
    page.faults = []
    page.on("console", lambda told: page.faults.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((address, "data:", "blob:")) else page.faults.append(asked.url),
    )
    page.on("response", lambda got: page.faults.append(got.url) if got.status >= 400 else None)
    yield page
    assert page.faults == []
    page.close()


def test_every_page_is_complete_and_asks_no_other_host(page):
    for path in PAGES:
        page.goto(path, wait_until="load")
        assert page.locator("h1").count() == 1, path
        assert page.locator("article img").evaluate_all("all => all.filter(one => !one.naturalWidth).length") == 0, path


def test_the_reference_shows_signatures_and_links_types(page):
    page.goto("reference/memory/")
    signature = page.locator("[id='mnemic.Memory.search'] ~ .doc-signature, [id='mnemic.Memory.search'] ~ *").first
    assert "k: int = 10" in signature.inner_text()
    assert page.locator("article a.autorefs").count() > 20


def test_a_search_finds_the_page(page):
    page.goto("", wait_until="networkidle")  # the shortcut works once the script has started
    page.keyboard.press("Control+k")
    page.keyboard.type("erase receipt", delay=10)
    page.get_by_text("mnemic.Erasure").first.wait_for()


def test_a_narrow_screen_does_not_scroll_sideways(page):
    page.set_viewport_size({"width": 360, "height": 740})
    for path in ("", "start/langchain/", "concepts/recall/", "results/benchmarks/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
