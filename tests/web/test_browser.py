"""The explorer in a real browser: every view and write, the keyboard alone, a narrow screen, and whatever text is shown."""

import os
import re
import socket
import threading
from importlib.resources import files
from pathlib import Path

import pytest

from mnemic import Memory, RetentionPolicy
from mnemic.web import app, report
from mnemic.web.access import Access

from .conftest import DAY, HOSTILE
from .test_app import pages

playwright = pytest.importorskip("playwright.sync_api", reason="make test-web installs it")
expect = playwright.expect
pytestmark = [pytest.mark.web, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
AXE = Path(__file__).with_name("axe.min.js")
PICTURES = os.environ.get("MNEMIC_PICTURES")
"""A folder for screenshots of every view."""


class Site:
    """A served explorer, and a page of the browser that notes what should not happen."""

    def __init__(self, chromium, memory, *, visit=True, **settings):
        import uvicorn

        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # a page that is asked for before the server has started waits for it
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        application = app(memory, access=Access(token="t"))
        self._server = uvicorn.Server(uvicorn.Config(application, log_level="error", lifespan="off", access_log=False))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        self._context = chromium.new_context(
            **{"viewport": {"width": 1200, "height": 800}, "bypass_csp": False, **settings}
        )
        self.page = self._context.new_page()
        self.page.set_default_timeout(15_000)
        self.complaints, self.requests = [], []
        self.page.on(
            "console", lambda message: message.type in ("error", "warning") and self.complaints.append(message.text)
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if visit:
            self.page.goto(f"{self.address}/?token=t")

    def open(self, path):
        self.page.goto(self.address + path)
        return self.page

    def violations(self):
        """Serious findings of axe on the current page, run in a world of its own because of the page's policy."""
        session = self._context.new_cdp_session(self.page)
        session.send("Page.setBypassCSP", {"enabled": True})
        self.page.reload()
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("axe.run()")["violations"]
        session.send("Page.setBypassCSP", {"enabled": False})
        return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]

    def close(self):
        self._context.close()
        self._server.should_exit = True
        self._thread.join(10)
        assert all(url.startswith((self.address, "data:", "blob:")) for url in self.requests), self.requests
        assert self.complaints == []


@pytest.fixture
def site(chromium, memory):
    site = Site(chromium, memory)
    yield site
    site.close()


def picture(page, name):
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(chromium, memory, scheme):
    site = Site(chromium, memory, color_scheme=scheme)
    for path in pages(memory):
        page = site.open(path)
        name = path.strip("/").split("?")[0] or "now"
        picture(page, f"{name}-{scheme}")
        assert site.violations() == [], path
    site.close()


def test_narrow_screens_need_no_sideways_scrolling(chromium, memory):
    site = Site(chromium, memory, viewport={"width": 320, "height": 640})
    for path in pages(memory):
        page = site.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
    site.close()


def test_the_scrubber_shows_what_was_true_and_known(site, memory):
    page = site.open("/timeline")
    then = page.locator("#then")
    assert "Ana lives in Porto" in then.inner_text()
    page.locator("#at").fill("1")
    expect(page.locator("#then ul.items")).not_to_contain_text("Ana lives in Porto")
    page.wait_for_url(re.compile("at=1"))
    expect(page.locator("label[for=at]")).to_contain_text("9 May 2026")
    page.locator("#known").fill("2")
    page.wait_for_url(re.compile("known=2$"))
    expect(page.locator("label[for=known]")).to_contain_text("10 May 2026")
    page.reload()
    expect(page.locator("label[for=known]")).to_contain_text("10 May 2026")


def test_a_drawing_is_one_stop_and_arrows_go_through_it(site):
    page = site.open("/timeline")
    assert page.locator(".drawing a").count() > 5
    assert page.locator(".drawing a[tabindex='0']").count() == 1
    page.locator(".drawing a[tabindex='0']").focus()
    first = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('href')") != first
    assert page.locator(".drawing a[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/timeline?since=**")


def test_why_an_answer_was_given_is_three_steps_away(chromium):
    with Memory(":memory:", user="ana", embedder="hashing", retention=RetentionPolicy(contexts=5)) as memory:
        memory.add("My dentist is Dr. Rossi.", session="monday")
        friday = memory.scoped(session="friday")
        friday.get_memory_context("Who is my dentist?")
        friday.add_exchange("Who is my dentist?", "Dr. Rossi.")
        site = Site(chromium, memory)
        page = site.open("/")
        page.get_by_role("link", name="Answers").click()
        page.get_by_role("link", name="Who is my dentist?").click()
        expect(page.locator("mark").first).to_be_visible()
        page.get_by_role("link", name="My dentist is Dr. Rossi.").click()
        page.locator("textarea[name=statement]").fill("My dentist is Dr. Bianchi.")
        page.get_by_role("button", name="Preview the correction").click()
        page.get_by_role("button", name="Replace it").click()
        expect(page.locator("pre.prompt").last).to_contain_text("Dr. Bianchi")
        page.get_by_role("link", name="Answers").click()
        page.get_by_role("link", name="Who is my dentist?").click()
        expect(page.get_by_text("new since")).to_be_visible()
        site.close()


def test_four_questions_each_within_four_clicks(chromium):
    """Why did it say that, mend it, what did it believe in March, and which sessions mention it: from the first page."""
    with Memory(":memory:", user="ana", embedder="hashing", retention=RetentionPolicy(contexts=5)) as memory:
        march = DAY.replace(month=3)
        memory.add("My dentist is Dr. Rossi.", session="plans", sent_at=march)
        memory.remember("Ana's dentist is Dr. Rossi.", key="dentist", valid_at=march)
        memory.scoped(session="chat").get_memory_context("Who is my dentist?", max_tokens=300)
        memory.add("Your dentist is Dr. Rossi.", role="assistant", session="chat")
        site = Site(chromium, memory)
        page, clicks = site.page, 0

        def click(locator):
            nonlocal clicks
            clicks += 1
            locator.click()

        # why did the agent say that?
        click(page.get_by_role("link", name="Answers"))
        click(page.get_by_role("link", name="Who is my dentist?"))
        expect(page.get_by_text("Your dentist is Dr. Rossi.")).to_be_visible()
        assert clicks <= 4
        # it is wrong, mend it
        page.goto(f"{site.address}/")
        clicks = 0
        click(page.get_by_role("link", name="Ana's dentist is Dr. Rossi.").first)
        page.get_by_label("What is true instead").fill("Ana's dentist is Dr. Bianchi.")
        click(page.get_by_role("button", name="Preview the correction"))
        click(page.get_by_role("button", name="Replace it"))
        expect(page.locator("pre.prompt").first).not_to_contain_text("Bianchi")
        expect(page.locator("pre.prompt").last).to_contain_text("Bianchi")
        assert clicks <= 4
        # what did it believe in March?
        page.goto(f"{site.address}/")
        clicks = 0
        click(page.get_by_role("link", name="Timeline"))
        page.locator("#at").fill("1")
        expect(page.locator("#then ul.items")).to_contain_text("Rossi")
        expect(page.locator("#then ul.items")).not_to_contain_text("Bianchi")
        assert clicks <= 4
        # which sessions mention it?
        page.goto(f"{site.address}/")
        clicks = 0
        click(page.get_by_role("link", name="2 messages"))
        click(page.locator(".facet a", has_text="plans"))
        expect(page.locator(".items .item")).to_have_count(1)
        assert clicks <= 4
        site.close()


def test_a_part_of_the_timeline_is_dragged_and_the_clock_plays(site):
    page = site.open("/timeline")
    expect(page.locator("#play")).to_be_visible()
    box = page.locator("svg.timeline").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.05, box["y"] + 200, steps=4)
    picture(page, "zoom")
    page.mouse.up()
    page.wait_for_url("**/timeline?since=2026-05-08&until=*")
    assert page.locator("svg.timeline a").count() > 2
    page = site.open("/timeline?at=0")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("Stop")
    expect(page.locator("#at")).to_have_value(re.compile(r"\d\d"))
    page.locator("#play").click()
    page.wait_for_timeout(500)
    stopped = page.locator("#at").input_value()
    page.wait_for_timeout(800)
    assert page.locator("#at").input_value() == stopped


def test_counts_come_by_themselves_and_a_hit_lights_its_line(site):
    page = site.open("/records?kind=message")
    expect(page.locator(".facet a", has_text="s1")).to_be_visible()
    page.locator(".facet a", has_text="s1").click()
    expect(page.locator(".items .item")).to_have_count(6)
    page = site.open("/recall?q=Where+does+Ana+live")
    page.locator(".hits .item").first.hover()
    expect(page.locator("pre.prompt .tied")).to_have_count(1)
    page.locator("h1").hover()
    expect(page.locator("pre.prompt .tied")).to_have_count(0)


def test_a_doubtful_memory_is_confirmed_by_one_key(site, memory):
    memory.remember("Ana has a boat.", source="tool_external")
    page = site.open("/")
    page.get_by_role("link", name="Ana has a boat.").last.focus()
    page.keyboard.press("y")
    expect(page.get_by_role("heading", name="Is this right?")).to_have_count(0)
    assert [m.trust for m in memory.list() if m.content == "Ana has a boat."] == [1.0]


def test_the_link_of_a_file_opens_the_explorer(chromium, memory, tmp_path):
    site = Site(chromium, memory, visit=False)
    file = tmp_path / "explorer.html"
    file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={site.address}/?token=t">')
    context = chromium.new_context()
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
    context.close()
    site.close()


def test_a_replay_follows_the_budget_and_can_be_shared(site):
    page = site.open("/recall?q=Where+does+Eva+live%3F")
    whole = page.locator("pre.prompt").inner_text()
    page.locator("#budget").fill("50")
    expect(page.locator("#found")).to_contain_text("of 50 tokens")
    assert len(page.locator("pre.prompt").inner_text()) < len(whole)
    page.wait_for_url(re.compile("budget=50"))
    assert page.locator("text=not in the prompt").count() > 0
    page.locator("select[name=other]").select_option("rrf")
    expect(page.locator("pre.prompt")).to_have_count(2)  # the second is fetched by itself
    assert page.locator("#found h2").all_inner_texts()[1].startswith("rrf")
    shared = page.url
    found = page.locator("#found").inner_text()
    page = site.open(shared.removeprefix(site.address))
    expect(page.locator("pre.prompt")).to_have_count(2)
    assert page.locator("#found").inner_text() == found
    page.locator(".hits summary").first.click()
    assert page.locator(".hits details[open] dt").count() > 2


def test_the_keyboard_alone(site, memory):
    page = site.open("/")
    page.keyboard.press("/")
    page.keyboard.type("Where does Eva live?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/recall?q=**")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".items .item a.text").nth(1)
    assert second.evaluate("one => one === document.activeElement")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/record?id=**")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_a_memory_is_edited_pinned_forgotten_restored_and_erased(site, memory):
    record = memory.list(order="importance")[1]
    page = site.open(f"/record?id={record.id}")
    page.locator("textarea[name=content]").fill("Ana takes tram 12.")
    page.get_by_role("button", name="Save as version").click()
    expect(page.locator(".content")).to_have_text("Ana takes tram 12.")
    assert memory.get(record.id).content == "Ana takes tram 12."
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Unpin").wait_for()
    page.get_by_role("button", name="Quarantine").click()
    page.get_by_role("button", name="Release from quarantine").click()
    page.get_by_role("link", name="Never say this...").click()
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_text("This record is forgotten").wait_for()
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("link", name="Never say this...").click()
    page.locator("input[name=word]").fill(record.id[-6:])
    page.get_by_role("button", name="Erase for good").click()
    page.wait_for_url("**/audit?operation=erase")
    assert "erased" in page.locator("table").inner_text()


def test_work_shows_its_end_and_consolidations_are_undone(site, memory):
    memory.add("I bought a bicycle in Faro.")
    page = site.open("/")
    page.get_by_role("button", name="Process now").click()
    page.locator(".done").wait_for()
    page = site.open("/")
    page.get_by_role("button", name="Check now").click()
    page.locator(".done").wait_for()
    assert "no problems" in page.locator(".done").inner_text()
    page = site.open("/consolidations")
    page.get_by_role("button", name="Undo").click()
    page.locator(".tag", has_text="undone").wait_for()


def test_a_mood_is_picked_on_the_plane(site):
    page = site.open("/emotions")
    box = page.locator("svg.plane").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.95 * 0.98, box["y"] + box["height"] * 0.9)
    assert float(page.locator("#valence").input_value()) > 0.8
    assert float(page.locator("#arousal").input_value()) < -0.7
    page.locator("main input[name=q]").fill("the flat")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url("**/recall?q=the+flat&valence=**")


def test_hostile_text_does_nothing(chromium, hostile):
    site = Site(chromium, hostile)
    records = [*hostile.list(), *hostile.messages(), *hostile.episodes()]
    for path in [*pages(hostile), *(f"/record?id={one.id}" for one in records), f"/recall?q={HOSTILE[0]}"]:
        page = site.open(path)
        assert page.evaluate("window.hacked") is None
        assert page.url == site.address + path or "?" in path
        assert page.locator("main").is_visible()
    site.close()


def test_nothing_works_without_the_cookie(site, chromium, memory):
    context = chromium.new_context()
    stranger = context.new_page()
    for path in ("/", "/records", "/?token=t", "/static/explorer.js"):
        assert stranger.goto(site.address + path).status == 403
    context.close()


def test_the_report_opens_from_disk(chromium, hostile, memory, tmp_path):
    context = chromium.new_context()
    page, requests, complaints = context.new_page(), [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    for name, one in (("lived", memory), ("hostile", hostile)):
        file = tmp_path / f"{name}.html"
        file.write_text(report(one), "utf-8")
        page.goto(file.as_uri())
        assert page.locator("h1").count() == 6
        assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "flex"
    picture(page, "report")
    assert {url.split(":")[0] for url in requests} == {"file"}
    assert complaints == []
    context.close()


def test_what_is_vendored_names_its_licence():
    static = files("mnemic.web").joinpath("static")
    assert "Zero-Clause BSD" in static.joinpath("htmx.LICENSE").read_text("utf-8")
    assert AXE.with_name("axe.LICENSE").exists()
