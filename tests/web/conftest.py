"""Chromium, a memory that was lived with, and one full of hostile text."""

import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from mnemic import Memory

DAY = datetime(2026, 5, 8, 10, tzinfo=UTC)
SAID = [
    "I moved to Lisbon in March and I love it.", "I take tram 28 to work.", "My sister Eva lives in Porto.",
    "I work at Acme as an engineer.", "I am so happy about the new flat!", "Waiting for the landlord makes me furious.",
    "I am allergic to kiwi.",
]  # fmt: skip
HOSTILE = [
    "<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 1'>", "\"><svg onload=window.hacked=1>",
    "</textarea><script>window.hacked = 1</script>", "javascript:window.hacked=1", "{{ 7 * 7 }}{% raw %}",
    "<a href='http://elsewhere.test/'>a link</a>", "</pre></blockquote><iframe src='http://elsewhere.test/'></iframe>",
    "' hx-get='/audit' hx-trigger='load", "<style>*{display:none}</style>", "<meta http-equiv=refresh content='0;url=//e.test'>",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="make test-web installs it")
    path = (
        os.environ.get("CHROMIUM")
        or shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    assert path, "No Chromium: run apt-get install chromium, or name one with CHROMIUM=/path/of/chromium make test-web."
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def lived(place):
    memory = Memory(place, user="ana", embedder="hashing")
    for n, text in enumerate(SAID):
        said = DAY + timedelta(days=3 * n)
        memory.add(
            [
                {"role": "user", "content": text, "sent_at": said},
                {"role": "assistant", "content": "Noted.", "sent_at": said + timedelta(minutes=1)},
            ],
            session=f"s{n // 3}",
        )
    memory.process()
    memory.remember("Ana lives in Lisbon", key="home")
    memory.remember("Ana lives in Porto", key="home")
    first, second = memory.list(limit=2)
    memory.links.add(first.id, second.id, "references", reason="both are of Ana")
    memory.preferences["answer_style"] = "brief"
    memory.consolidate(min_age_hours=0, importance_threshold=0.1)
    return memory


@pytest.fixture(scope="session")
def lived_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lived") / "memory"
    lived(folder).close()
    return folder


@pytest.fixture
def memory(lived_folder, tmp_path):
    """A copy of it, which takes less than to live."""
    with Memory(shutil.copytree(lived_folder, tmp_path / "copy"), user="ana", embedder="hashing") as memory:
        yield memory


@pytest.fixture
def hostile():
    with Memory(":memory:", user="<i>ana</i>", embedder="hashing") as memory:
        for n, text in enumerate(HOSTILE):
            memory.add(text, name=text[:60], sent_at=DAY + timedelta(days=n), session=text, metadata={text[:40]: text})
            memory.remember(
                f"{text} {n}", category=text[:40], tags=[text[:40]], key=f"k{n}", summary=text, context=text,
                metadata={text[:40]: text},
            )  # fmt: skip
        memory.process()
        one, two, *_ = memory.list()
        memory.links.add(one.id, two.id, "references", reason=HOSTILE[0])
        memory.forget(ids=[two.id], reason=HOSTILE[1])
        memory.preferences[HOSTILE[0]] = HOSTILE[1]
        yield memory
