"""The explorer over HTTP: every page and every write, and who is refused."""

import csv
import html
import io
import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from mnemic import Emotion, Memory, NotFound, RetentionPolicy
from mnemic.cli import main
from mnemic.web import app, report
from mnemic.web.access import HEADERS, Access

from .conftest import DAY, HOSTILE, SAID

HOST = "http://127.0.0.1:8000"


def browser(memory, **options):
    return TestClient(app(memory, **options), base_url=HOST)


def pages(memory):
    ids = [memory.list(include_expired=True, status=["archived", "short_term", "long_term"])[0].id]
    ids += [str(one.id) for one in (*memory.messages(limit=1), *memory.episodes(limit=1), *memory.list(limit=2))]
    return [
        "/", "/timeline", "/timeline?at=3&known=9", "/timeline?since=2026-05-09&until=2026-05-20", "/recall",
        "/answers", "/recall?q=where+does+Ana+live&other=rrf&budget=100&valence=0.5&arousal=0.5&style=xml", "/records",
        "/records?kind=message", "/records?kind=episode", "/records?q=Lisbon&kind=message",
        "/records?status=archived&ended=1&order=importance&min_importance=0", "/consolidations", "/consolidations?preview=1",
        "/emotions?valence=1&arousal=-1", "/audit", "/audit?operation=promote", *(f"/record?id={id_}" for id_ in ids),
        f"/forgetting?id={ids[0]}", f"/forgetting?id={ids[0]}&id={ids[1]}", "/facet?by=tag", "/facet?kind=message&by=session",
    ]  # fmt: skip


def post(client, path, page="/", **form):
    """Send a form as the page does, with its word."""
    text = client.get(page).text
    csrf = re.search(r'name="csrf" value="(\w+)"', text)[1]
    return client.post(path, data={"csrf": csrf, **form}, headers={"origin": HOST}, follow_redirects=False)


def test_an_arrow_leads_to_what_a_link_is_about_and_a_contradiction_has_none(memory):
    boat, mast, sail = (
        memory.remember(text).id for text in ("The boat is blue.", "The mast is new.", "The boat is red.")
    )
    memory.links.add(mast, boat, "extends")
    memory.links.add(sail, boat, "contradicts")
    drawn = re.findall(r'<line class="link (\w+)"([^>]*)>', browser(memory).get(f"/record?id={boat}").text)
    assert {kind: "marker-end" in drawing for kind, drawing in drawn} == {"extends": True, "contradicts": False}


class TestProfile:
    def test_what_changed_is_told_once(self, memory):
        page = browser(memory).get("/").text
        changed = re.search(r"<h2>Changed this week.*?</ul>", page, re.DOTALL)[0]
        assert changed.count("Ana lives in Lisbon") == changed.count("Ana lives in Porto") == 1
        assert changed.index("Ana lives in Lisbon") < changed.index("Ana lives in Porto")

    def test_what_was_replaced_stands_before_what_is_new(self, memory):
        for n in range(70):
            memory.remember(f"Parcel {n} weighs {n + 2} kilos.")
        changed = re.search(r"<h2>Changed this week.*?</ul>", browser(memory).get("/").text, re.DOTALL)[0]
        assert "Ana lives in Porto" in changed.split("</li>")[0]
        assert changed.count("Parcel") == 7

    def test_sentences_lead_to_their_source(self, memory):
        page = browser(memory).get("/").text
        known = re.search(r"<h2>What is known about.*?</ul>", page, re.DOTALL)[0]
        for link in re.findall(r'<a href="([^"]+)">said', known):
            assert "<h1>Message</h1>" in browser(memory).get(html.unescape(link)).text
        assert known.count(">said ") >= 3

    def test_what_is_doubtful_is_confirmed(self, memory):
        memory.remember("Ana has a boat.", source="tool_external")
        memory.remember("Ana likes rye bread.", source="model_inference")
        client = browser(memory)
        asked = re.search(r"<h2>Is this right.*?</ul>", client.get("/").text, re.DOTALL)[0]
        assert "from an untrusted source" in asked
        assert "inferred by a model" in asked
        ids = re.findall(r'name="id" value="([^"]+)"', asked)
        assert len(ids) == 2
        for id_ in ids:
            assert post(client, "/confirm", id=id_).headers["location"] == "/"
        assert "Is this right" not in client.get("/").text
        assert {m.trust for m in memory.list() if m.content in ("Ana has a boat.", "Ana likes rye bread.")} == {1.0}
        assert post(client, "/confirm", id=memory.messages(limit=1)[0].id).status_code == 400


class TestRecall:
    def test_a_line_is_drawn_below_what_is_relevant(self):
        with Memory(":memory:", user="ana") as memory:
            memory.add("I am allergic to kiwi.")
            for n in range(12):
                memory.add(f"Bolt {n} has {n + 3} threads and a flat head.")
            page = browser(memory).get("/recall?q=What+am+I+allergic+to%3F").text
            above, below = page.split('<li class="cut">')
            assert "kiwi" in above
            rows = below.split('<li class="item"')[1:]
            assert len(rows) >= 2
            assert all("not relevant enough" in row for row in rows)

    def test_hits_are_tied_to_their_lines(self, memory):
        page = browser(memory).get("/recall?q=where+does+Ana+live").text
        hits = re.findall(r'<li class="item" data-hit="([^"]+)"', page)
        lines = dict(re.findall(r'<span data-hit="([^"]+)">([^<]+)</span>', page))
        assert lines
        assert set(lines) <= set(hits)
        for id_, line in lines.items():
            assert memory.get(id_).content[:20] in html.unescape(line)

    def test_markdown_stays_in_its_fence(self, memory):
        memory.add("```\n# Lisbon *moved* <b>", session="x")
        text = browser(memory).get("/recall.md?q=Lisbon").text
        assert "\\`\\`\\` \\# Lisbon \\*moved\\* \\<b\\>" in text
        fence = re.search(r"^(`{4,})$", text, re.MULTILINE)[1]
        assert text.count(fence) == 2
        assert browser(memory).get("/recall.md").status_code == 400


class TestCorrections:
    def test_a_correction_is_looked_at_done_and_taken_back(self, memory):
        client = browser(memory)
        old = next(m for m in memory.messages() if m.content == "I work at Acme as an engineer.")
        given = {"id": old.id, "statement": "Ana works at Borealis.", "q": "Where does Ana work?"}
        look = client.get("/correcting", params=given).text
        assert '<span class="new">' in look
        assert "I work at Acme" in re.search(r'<pre class="prompt".*?</pre>', look, re.DOTALL)[0]
        assert "Borealis" not in client.get("/records.csv").text  # nothing is done yet
        where = post(client, "/correct", **given).headers["location"]
        page = client.get(where).text
        before, now = re.findall(r'<pre class="prompt".*?</pre>', page, re.DOTALL)
        assert "Borealis" not in before
        assert "I work at Acme" in before
        assert now.index("Borealis") > 0
        id_ = re.search(r'name="id" value="([^"]+)"', page)[1]
        post(client, "/take-back", where, id=id_)
        assert "Borealis" not in memory.get_memory_context("Where does Ana work?", max_tokens=300).text
        assert client.get("/correcting", params={**given, "statement": " "}).status_code == 400

    def test_what_is_no_longer_true_ends_and_holds_again(self, memory):
        client = browser(memory)
        memory.remember("Ana has a blue bicycle.", id="bicycle")
        where = post(client, "/end", id="bicycle", q="What does Ana have?").headers["location"]
        page = client.get(where).text
        before, now = re.findall(r'<pre class="prompt".*?</pre>', page, re.DOTALL)
        assert "This is no longer true" in page
        assert ("bicycle" in before, "- Ana has a blue bicycle" in now) == (True, False)
        assert post(client, "/take-back", where, id="bicycle").headers["location"] == "/record?id=bicycle"
        assert "bicycle" in memory.get_memory_context("What does Ana have?", max_tokens=300).text

    def test_forgetting_shows_the_prompt_that_says_it(self, memory):
        page = browser(memory).get("/forgetting", params={"id": memory.messages(limit=2)[0].id, "q": "kiwi?"}).text
        assert "allergic to kiwi" in re.search(r'<pre class="prompt".*?</pre>', page, re.DOTALL)[0]


class TestTimeline:
    def test_every_message_is_in_the_histogram_and_leads_closer(self, memory):
        client = browser(memory)
        page = client.get("/timeline").text
        columns = re.findall(r'<a href="([^"]+)"><title>(\d+) messages? from', page)
        assert sum(int(count) for _, count in columns) == 14
        inside = client.get(html.unescape(columns[0][0])).text
        assert re.search(r"<title>2 messages from|<title>1 message from", inside)

    def test_one_lane_for_what_took_each_others_place(self, memory):
        memory.remember("Ana drinks coffee.", id="coffee", valid_at=DAY)
        memory.remember("Ana drinks tea.", id="tea", replaces="coffee", valid_at=DAY + timedelta(days=9))
        page = browser(memory).get("/timeline").text
        assert "<title>Ana drinks coffee. → Ana drinks tea., 17 May 2026</title>" in page
        assert page.count('class="handover"') == 2  # and home, by its key
        assert ">home</text>" in page

    def test_many_messages_are_not_drawn_one_by_one(self):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.add(
                [{"role": "user", "content": f"Note {n}.", "sent_at": DAY + timedelta(hours=n)} for n in range(500)]
            )
            page = browser(memory).get("/timeline").text
            assert 'class="tick' not in page
            assert sum(int(count) for count in re.findall(r"<title>(\d+) messages? from", page)) == 500


class TestLists:
    def test_counts_lead_to_the_records_they_count(self, memory):
        client = browser(memory)
        links = {}
        for by in ("status", "role", "session", "trust"):
            text = client.get(f"/facet?kind=message&by={by}").text
            found = re.findall(r'<a href="([^"]+)">(?:<bdi[^>]*>)([^<]+)</bdi></a> <span class="count">(\d+)', text)
            links |= {(by, value): (html.unescape(href), int(count)) for href, value, count in found}
        assert set(links) == {
            ("status", "short-term"), ("role", "user"), ("role", "assistant"), ("session", "s0"), ("session", "s1"),
            ("session", "s2"), ("trust", "1 or more"), ("trust", "0.7 or more"),
        }  # fmt: skip
        for href, count in links.values():
            assert len(client.get(href.replace("/records?", "/records.json?")).json()) == count
            assert f"<span>{count} messages</span>" in client.get(href).text

    def test_counts_follow_the_other_filters_and_can_be_taken_back(self, memory):
        client = browser(memory)
        text = client.get("/facet?kind=message&by=session&role=user&session=s2&before=2026-05-01").text
        assert re.findall(r'class="count">(\d+)', text) == ["3", "3", "1"]
        assert 'aria-current="true" href="/records?kind=message&amp;role=user"' in text
        assert client.get("/facet?kind=message&by=tag").status_code == 400
        assert client.get("/facet?kind=message&by=speaker").text.count("<h3>") == 0  # nobody is named

    def test_lists_as_files(self, memory):
        client = browser(memory)
        rows = client.get("/records.json?kind=message&session=s0").json()
        assert [row["content"] for row in rows][1::2] == SAID[:3][::-1]
        assert rows[0]["sent_at"].startswith("2026-05-14T10:01")
        for path in ("/recall.json?q=Lisbon", "/timeline.json", "/audit.json", "/record.json?id=" + rows[0]["id"]):
            assert client.get(path).json(), path
        assert client.get("/records.json?kind=thought").status_code == 400
        assert client.get("/records.xml").status_code == client.get("/emotions.json").status_code == 404
        memory.add("=HYPERLINK(1)", session="x", metadata={"a": [1]})
        answer = client.get("/records.csv?kind=message&session=x")
        assert answer.headers["content-type"].startswith("text/csv")
        (row,) = csv.DictReader(io.StringIO(answer.text))
        assert (row["content"], row["metadata"], row["session"]) == ("'=HYPERLINK(1)", '{"a": [1]}', "x")

    def test_several_are_forgotten_after_a_look(self, memory):
        client = browser(memory)
        one, two = memory.messages(limit=2)
        where = f"/forgetting?id={one.id}&id={two.id}"
        page = client.get(where).text
        assert one.content in page
        assert two.content in page
        ids = html.unescape(re.search(r'name="ids" value="([^"]+)"', page)[1])
        assert post(client, "/forget", where, ids=ids, reason="tidy").headers["location"] == "/audit?operation=archive"
        assert len(client.get("/records.json?kind=message").json()) == 12
        assert len(client.get("/records.json?kind=message&status=archived").json()) == 2
        assert client.get("/forgetting").status_code == 400
        assert post(client, "/forget", ids="{").status_code == post(client, "/forget", ids="3").status_code == 400


class TestPages:
    def test_each_answers(self, memory):
        client = browser(memory)
        for path in pages(memory):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert len(answer.content) < 200_000
            assert '<main id="main">' in answer.text
            for drawing in re.findall(r"<svg.*?</svg>", answer.text, re.DOTALL):
                ET.fromstring(drawing)
            assert not re.search(r"\sstyle=|\son\w+=|(?:src|href)=[\"'](?:https?:)?//", answer.text), path

    def test_each_answers_when_nothing_is_remembered(self):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            client = browser(memory)
            for path in (
                "/",
                "/timeline",
                "/recall?q=x",
                "/records",
                "/consolidations?preview=1",
                "/emotions",
                "/audit",
            ):
                assert client.get(path).status_code == 200
            assert "Nothing is remembered yet" in client.get("/").text

    def test_the_two_clocks(self, memory):
        client = browser(memory)
        late = client.get("/timeline?at=400").text
        assert "Ana lives in Porto" in re.search(r"<h2>True on.*?<h2>", late, re.DOTALL)[0]
        early = re.search(r"<h2>True on.*?<h2>", client.get("/timeline?at=1").text, re.DOTALL)[0]
        assert "Ana lives in Porto" not in early
        chain = re.search(r'<ol class="chains">.*?</ol>', late, re.DOTALL)[0]
        assert (
            chain.index("Ana lives in Lisbon") < chain.index("Ana lives in Porto") < chain.index("the same key, home")
        )

    @pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
    @pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
    def test_the_first_and_the_last_day_are_days(self, tmp_path, day, zone):
        with Memory(tmp_path, user="ana", embedder="hashing", timezone=zone) as memory:
            memory.add("I moved to Lisbon.", sent_at=DAY)
            self.days(browser(memory), day)

    @pytest.mark.parametrize("at", [datetime(1, 1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, 20, tzinfo=UTC)])
    @pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
    def test_a_record_of_the_first_or_last_day_can_be_looked_at(self, at, zone):
        with Memory(":memory:", user="ana", embedder="hashing", timezone=zone) as memory:
            memory.add("I moved to Lisbon.", sent_at=at)
            client = browser(memory)
            last = "/records?kind=message&before=9999-12-31T23:59:59.999999"
            for path in ("/timeline", "/timeline?at=1", "/records?kind=message", last):
                assert client.get(path).status_code < 500, path
            assert "I moved to Lisbon." in report(memory)

    def days(self, client, day):
        for path in ("/timeline?until=", "/timeline?at=", "/timeline?known=", "/records?until=", "/records?kind=message&until=",
                     "/recall?q=x&at=", "/recall?q=x&known_at="):  # fmt: skip
            assert client.get(f"{path}{day}").status_code == 200, path

    def test_times_are_those_of_the_zone(self):
        with Memory(":memory:", user="ana", embedder="hashing", timezone="Asia/Tokyo") as memory:
            memory.add("I moved to Lisbon.", sent_at=DAY)
            text = browser(memory).get("/records?kind=message").text
        assert "times in Asia/Tokyo" in text
        assert "8 May 2026, 19:00" in text

    def test_a_replay_looks_at_a_day_and_a_speaker(self, memory):
        client = browser(memory)
        assert "tram 28" in client.get("/recall?q=tram").text
        for narrowed in ("speaker=nobody", "known_at=2020-01-01"):
            found = client.get(f"/recall?q=tram&{narrowed}").text
            assert "tram 28" not in found, narrowed

    def test_a_replay_shows_signals_and_the_prompt(self, memory):
        text = browser(memory).get("/recall?q=Where+does+Eva+live%3F&budget=60&k=20").text
        assert "My sister Eva lives in Porto." in text
        assert 'aria-label="Signals: ' in text
        assert re.search(r"; \d+ hits? left out", text)
        assert "not in the prompt" in text
        assert re.search(r"The prompt: \d+ of 60 tokens", text)

    def test_the_relevance_of_each_hit_and_what_is_left_out(self):
        with Memory(":memory:", user="ana") as memory:
            memory.add("I am allergic to kiwi.")
            memory.add("The train leaves at nine.")
            client = browser(memory)
            assert re.search(r"<span>relevance \d\d%</span>", client.get("/recall?q=What+am+I+allergic+to%3F").text)
            page = client.get("/recall?q=thanks%21").text
            assert "Nothing relevant was found." in page
            assert page.count("not relevant enough") == 2

    def test_forgotten_and_quarantined_messages_can_be_found(self, memory):
        first, second, *_ = memory.messages(role="user")
        memory.forget(ids=[first.id])
        memory.admin.quarantine([second.id])
        client = browser(memory)
        for status, message in (("archived", first), ("quarantined", second)):
            assert message.content in client.get(f"/records?kind=message&status={status}").text
            assert message.content not in client.get("/records?kind=message").text
        assert (
            "Nothing matches these filters" in client.get("/records?kind=episode&status=quarantined&session=none").text
        )

    def test_what_is_forgotten_of_a_message_is_shown_by_no_list_and_no_report(self):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.add("I was in rehab in Graz. My cat is called Tom.", id="m1", session="s")
            memory.process()
            memory.scoped(session="s").sessions.summarize()
            memory.correct("my cat", "My cat is called Tim.")
            memory.forget(ids=[record.id for record in memory.list() if "rehab" in record.content])
            client = browser(memory)
            lists = [
                "/records",
                "/records?kind=message",
                "/records?q=cat&kind=message",
                "/records?kind=episode",
                "/timeline",
            ]
            lists += ["/recall?q=my+cat", "/emotions", *(f"/records.{form}?kind=message" for form in ("json", "csv"))]
            lists += [f"/forgetting?id=m1&id={memory.list()[0].id}", *(f"/record?id={one.id}" for one in memory.list())]
            assert [address for address in lists if "rehab" in client.get(address).text] == []
            assert "[...] My cat is called Tom." in client.get("/records?kind=message").text
            assert "rehab" in client.get("/record?id=m1").text  # the record itself, to restore it
            assert "rehab" not in report(memory)

    def test_a_speaker_passes_for_no_other(self):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.add("I moved to Graz.", name="system", id="m1")
            memory.process()
            client = browser(memory)
            for address in (
                "/records",
                "/records?kind=message",
                "/records?q=Graz&kind=message",
                "/timeline",
                "/record?id=m1",
            ):
                assert "system (a name)" in client.get(address).text, address
            assert "system (a name)" in report(memory)

    def test_projects_are_shown_and_narrow(self, memory):
        memory.scoped(project="kiln").remember("The kiln fires at 1,240 degrees.")
        client = browser(memory)
        shown = client.get("/records?project=kiln").text
        assert "1,240 degrees" in shown
        assert "Lisbon" not in shown
        assert 'project <bdi dir="auto">kiln' in client.get("/records").text

    def test_who_begins_sees_what_to_do(self):
        with Memory(":memory:", user="newbie", embedder="hashing") as memory:
            assert "Nothing is stored under the name" in browser(memory).get("/").text
            memory.add("I moved to Lisbon.")
            assert "1 message waiting to be processed" in browser(memory).get("/").text
            memory.process()
            assert "to be processed</h2>" not in browser(memory).get("/").text

    def test_the_tiles_count_what_the_records_page_lists(self):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            for home in ("Lisbon", "Porto"):
                memory.remember(home, key="home")
            client = browser(memory)
            assert 'aria-label="1 short-term memories"' in client.get("/").text
            assert "<span>1 memory</span>" in client.get("/records?status=short_term").text

    def test_the_audit_says_in_words_how_far_forgetting_reached(self):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.remember("My dentist is Dr. Rossi.")
            assert memory.forget("my dentist")[0].changed
            text = browser(memory).get("/audit").text
            assert "in its messages too" in text
            assert "everywhere" not in text

    def test_what_was_asked_last_is_a_link_that_asks_it_again(self):
        with Memory(":memory:", user="ana", embedder="hashing", retention=RetentionPolicy(questions=5)) as memory:
            client = browser(memory)
            memory.add("I live in Lisbon.")
            memory.scoped(project="site").remember("The site runs on port 8080.")
            assert "Asked last" not in client.get("/recall").text
            memory.search("Where does <Ana> live?", mood=Emotion(valence=0.5, arousal=-0.25))
            memory.scoped(project="site", session="s 1").search("Which port?")
            page = client.get("/recall").text
            port, home = map(html.unescape, re.findall(r'href="(/recall[?]q[^"]*)"', page))
            assert "mood 0.50, -0.25" in page
            assert "Where does &lt;Ana&gt; live?" in page
            again = client.get(port).text
            assert "The site runs on port 8080." in again
            assert 'name="session" value="s 1"' in again
            assert 'name="valence" type="number" min="-1" max="1" step="0.1" value="0.5"' in client.get(home).text
            assert len(memory.admin.questions()) == 2, "a replay is no question"

    def test_looking_is_no_use(self, memory):
        client = browser(memory)
        for path in ("/recall?q=Where+does+Ana+live%3F", "/records?q=Lisbon"):
            client.get(path)
        assert not any(record.access_count for record in memory.list())
        memory.search("Where does Ana live?")
        assert any(record.access_count for record in memory.list())

    def test_lists_page_through_everything(self, memory):
        memory.add(
            [
                {"role": "user", "content": f"turn {n}", "sent_at": DAY + timedelta(days=60 + n // 60)}
                for n in range(130)
            ]
        )
        client, seen, path = browser(memory), [], "/records?kind=message"
        while path:
            text = client.get(path).text
            seen += re.findall(r'<a class="text" href="/record\?id=([^"]+)"', text)
            found = re.search(r'<a rel="next" href="([^"]+)"', text)
            path = found and found[1].replace("&amp;", "&")
        assert len(seen) == len(set(seen)) == 130 + 2 * len(SAID)

    @pytest.mark.parametrize(
        ("path", "status"),
        [("/record?id=no", 404), ("/record", 404), ("/records?kind=dreams", 400), ("/timeline?since=soon", 400),
         ("/recall?q=x&recipe=none", 400), ("/recall?q=x&k=many", 400), ("/recall?q=x&style=yaml", 400), ("/job?id=no", 404),
         ("/records?since=2026-13-01", 400), ("/nothing", 404)],
    )  # fmt: skip
    def test_a_wrong_address_says_so(self, memory, path, status):
        assert browser(memory).get(path).status_code == status

    def test_mounted_in_another_application(self, memory):
        client = TestClient(
            Starlette(routes=[Mount("/memory", app(memory, access=Access(hosts=["example.org"])))]),
            base_url="http://example.org",
        )
        text = client.get("/memory/").text
        assert 'href="/memory/timeline"' in text
        assert 'href="/memory/static/style.css"' in text
        assert client.get("/memory/static/style.css").status_code == 200
        csrf = re.search(r'name="csrf" value="(\w+)"', text)[1]
        origin = {"origin": "http://example.org"}
        answer = client.post("/memory/check", data={"csrf": csrf}, headers=origin, follow_redirects=False)
        assert answer.headers["location"].startswith("/memory/job?id=")


@pytest.fixture
def answered():
    """A conversation whose contexts are kept."""
    with Memory(":memory:", user="ana", embedder="hashing", retention=RetentionPolicy(contexts=5)) as memory:
        memory.add("My dentist is Dr. Rossi on via Roma.", id="m1", session="monday")
        friday = memory.scoped(session="friday")
        friday.get_memory_context("Who is my dentist?", max_tokens=300)
        friday.add_exchange("Who is my dentist?", "Your dentist is Dr. Rossi, a new one.")
        yield memory


class TestAnswers:
    def test_an_answer_shows_what_was_found_then_and_the_words_that_it_took(self, answered):
        client = browser(answered)
        (given,) = answered.admin.contexts()
        assert f"/answer?number={given.number}" in client.get("/answers").text
        text = client.get(f"/answer?number={given.number}").text
        assert "<mark>Rossi</mark>" in text
        assert "<mark>new</mark>" not in text
        assert "My <mark>dentist</mark> is" in text
        assert html.escape(given.prompt.splitlines()[-2]) in text
        assert "The same evidence would be in the prompt." in text
        assert len(answered.admin.contexts()) == 1, "looking keeps nothing"

    def test_records_and_replies_lead_to_their_answers(self, answered):
        client = browser(answered)
        (given,) = answered.admin.contexts()
        link = f"/answer?number={given.number}"
        (reply,) = answered.messages(role="assistant")
        assert link in client.get("/record?id=m1").text
        assert "Answers it was part of" in client.get(f"/record?id={reply.id}").text
        assert link not in client.get(f"/record?id={answered.messages(session='friday')[0].id}").text

    @pytest.mark.parametrize(
        ("act", "told"),
        [
            (lambda memory: memory.forget(ids=["m1"]), "forgotten"),
            (lambda memory: memory.correct("m1", "My dentist is Dr. Bianchi."), "new since"),
            (lambda memory: memory.correct("m1", "My dentist is Dr. Bianchi."), "replaced"),
            (lambda memory: memory.admin.quarantine(["m1"]), "in quarantine"),
            (lambda memory: (memory.forget(ids=["m1"]), memory.restore("m1"), memory.forget(ids=["m1"])), "forgotten"),
            (lambda memory: memory.add("I go to the dentist Dr. Verdi now."), "new since"),
        ],
    )
    def test_what_is_different_now_has_its_reason(self, answered, act, told):
        act(answered)
        (given,) = answered.admin.contexts()
        assert told in browser(answered).get(f"/answer?number={given.number}").text.partition("Asked again now")[2]

    def test_the_reply_is_that_of_its_question(self, answered):
        friday = answered.scoped(session="friday")
        friday.get_memory_context("What is my cat called?")  # the model failed, and there is no reply
        friday.get_memory_context("Where is the practice?")
        friday.add_exchange("Where is the practice?", "On via Roma.")
        answered.add("It rains.", role="assistant", session="elsewhere")
        answered.get_memory_context("Is it raining?")  # of no session
        client = browser(answered)
        raining, practice, cat, dentist = answered.admin.contexts()
        shown = {
            one.question: client.get(f"/answer?number={one.number}").text for one in (raining, practice, cat, dentist)
        }
        assert "No message of the assistant" in shown["Is it raining?"]
        assert "No message of the assistant" in shown["What is my cat called?"]
        assert '<blockquote class="content"><bdi dir="auto">On ' in shown["Where is the practice?"]

    def test_looking_is_no_part_of_a_conversation(self, answered):
        friday = answered.scoped(session="friday")
        before = friday.sessions.current().given
        answered.add("My dentist is closed in August.", id="m2")
        (given,) = answered.admin.contexts()
        assert "new since" in browser(answered, read_only=True).get(f"/answer?number={given.number}").text
        assert friday.sessions.current().given == before

    def test_a_narrowed_question_is_not_compared(self, answered):
        answered.get_memory_context("Who is my dentist?", speaker="nobody")
        assert (
            "not be a fair comparison"
            in browser(answered).get(f"/answer?number={answered.admin.contexts()[0].number}").text
        )

    def test_what_is_erased_takes_the_answers_along(self, answered):
        (given,) = answered.admin.contexts()
        assert answered.forget(ids=["m1"], hard=True).counts["contexts"] == 1
        client = browser(answered)
        assert client.get(f"/answer?number={given.number}").status_code == 404
        assert "Rossi" not in client.get("/answers").text

    def test_without_contexts_it_says_how_to_keep_them(self, memory):
        assert "RetentionPolicy(contexts=100)" in browser(memory).get("/answers").text


class TestWrites:
    def test_edit_and_pin(self, memory):
        client, record = browser(memory), memory.list(order="importance")[2]
        page = f"/record?id={record.id}"
        form = {"content": "Ana moved to Faro.", "category": "home", "tags": "sea, client work", "importance": "0.9"}
        form["version"] = str(record.version)
        assert post(client, "/edit", page, id=record.id, **form).status_code == 303
        edited = memory.get(record.id)
        assert (edited.content, edited.category, edited.tags) == ("Ana moved to Faro.", "home", ("sea", "client work"))
        assert edited.importance == pytest.approx(0.9)
        assert edited.pinned
        post(client, "/pin", page, id=record.id)
        assert not memory.get(record.id).pinned
        assert post(client, "/edit", page, id=memory.messages(limit=1)[0].id, content="x").status_code == 400

    def test_an_edit_changes_what_was_edited_and_nothing_that_was_changed_meanwhile(self, memory):
        id_ = memory.remember("The code is 4711.\nIt opens the gate.", tags=["client work"]).id
        client, page = browser(memory), f"/record?id={id_}"
        shown = client.get(page).text
        tags = re.search(r'name="tags" value="([^"]*)"', shown)[1]
        form = {
            "content": memory.get(id_).content.replace("\n", "\r\n"),
            "tags": tags,
            "category": "access",
            "version": "1",
        }
        assert post(client, "/edit", page, id=id_, **form).status_code == 303
        after = memory.get(id_)
        assert (after.content, after.tags, after.category) == (
            "The code is 4711.\nIt opens the gate.",
            ("client work",),
            "access",
        )
        odd = memory.remember("An odd one.\rIt stays.", tags=["a, b", "c"])
        shown = {"content": "An odd one.\r\nIt stays.", "tags": "a, b, c", "version": "1"}
        post(client, "/edit", f"/record?id={odd.id}", id=odd.id, **shown)
        assert memory.get(odd.id).version == 1
        answer = post(client, "/edit", page, id=id_, **form | {"content": "The code is 1."})
        assert answer.status_code == 409
        assert "changed meanwhile" in answer.text
        assert memory.get(id_).content == after.content

    def test_correct_and_make_true_again(self, memory):
        old = memory.remember("Ana's dentist is Dr. Rossi.").id
        client = browser(memory)
        answer = post(
            client, "/correct", f"/record?id={old}", id=old, statement="Ana's dentist is Dr. Bianchi.", version="1"
        )
        assert "Dr. Bianchi" in client.get(answer.headers["location"]).text
        assert memory.search("Who is Ana's dentist?")[0].text == "Ana's dentist is Dr. Bianchi."
        ended = client.get(f"/record?id={old}").text
        assert "replaced by" in ended
        assert "Still true" in ended
        assert post(client, "/restore", f"/record?id={old}", id=old).status_code == 303
        assert memory.get(old).expired_at is None
        assert post(client, "/correct", f"/record?id={old}", id="Ana's dentist", statement="x").status_code == 404
        assert post(client, "/correct", f"/record?id={old}", id=old, statement="x", version="9").status_code == 409

    def test_forget_and_restore(self, memory):
        client, record = browser(memory), memory.list()[0]
        page = f"/record?id={record.id}"
        post(client, "/forget", f"/forgetting?id={record.id}", id=record.id, reason="a slip")
        assert memory.get(record.id).status == "archived"
        assert "This record is forgotten" in client.get(page).text
        post(client, "/restore", page, id=record.id)
        assert memory.get(record.id).status != "archived"

    def test_erase_asks_for_the_end_of_the_id(self, memory):
        client, message = browser(memory), memory.messages()[0]
        page = f"/forgetting?id={message.id}"
        assert post(client, "/erase", page, id=message.id, word="wrong").status_code == 400
        assert memory.get(message.id)
        assert post(client, "/erase", page, id=message.id, word=message.id[-6:]).status_code == 303
        with pytest.raises(NotFound):
            memory.get(message.id)
        assert "erased: nothing of it is left" in client.get("/audit?operation=erase").text

    def test_quarantine_and_release(self, memory):
        client, record = browser(memory), memory.list()[0]
        page = f"/record?id={record.id}"
        post(client, "/quarantine", page, id=record.id)
        assert record.id in [one.id for one in memory.list(status=["quarantined"])]
        assert "This record is in quarantine" in client.get(page).text
        post(client, "/release", page, id=record.id)
        assert not memory.list(status=["quarantined"])

    def test_long_work_has_a_page(self, memory):
        memory.add("I bought a bicycle in Faro.")
        client = browser(memory)
        for action in ("/process", "/check", "/consolidate"):
            where = post(client, action).headers["location"]
            deadline = time.monotonic() + 30
            while 'hx-trigger="every' in (text := client.get(where).text):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert 'class="done"' in text, action
        assert not memory.stats().pending.get("process")

    def test_undo(self, memory):
        client = browser(memory)
        (id_,) = re.findall(r'name="id" value="(con_\w+)"', client.get("/consolidations").text)
        post(client, "/undo", "/consolidations", id=id_)
        assert not memory.list(status=["long_term"])
        assert "undone" in client.get("/consolidations").text


class TestAccess:
    def test_the_token_opens_once(self, memory):
        access = Access(token="let-me-in")
        client = TestClient(app(memory, access=access), base_url=HOST)
        assert client.get("/").status_code == 403
        assert client.get("/?token=wrong").status_code == 403
        answer = client.get("/timeline?token=let-me-in&at=3", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/timeline?at=3")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "let-me-in" not in cookie
        assert client.get("/").status_code == 200
        stranger = TestClient(app(memory, access=access), base_url=HOST)
        for token in ("let-me-in", ""):
            assert stranger.get("/", params={"token": token}).status_code == 403
        assert stranger.get("/static/style.css").status_code == 403
        stranger.cookies.set(access.cookie, "made.up")
        assert stranger.get("/").status_code == 403

    def test_a_redirect_stays_here(self, memory):
        client = TestClient(app(memory, access=Access(token="t")), base_url=HOST)
        answer = client.get(f"{HOST}//elsewhere.test/?token=t", follow_redirects=False)
        assert answer.headers["location"] == "/elsewhere.test/"

    @pytest.mark.parametrize("host", ["elsewhere.test", "127.0.0.1.elsewhere.test:80", "192.168.0.7:8000", ""])
    def test_another_host_is_refused(self, memory, host):
        client = TestClient(app(memory, access=Access(token="t")), base_url=HOST)
        assert client.get("/?token=t", headers={"host": host}).status_code == 421

    @pytest.mark.parametrize("origin", ["http://elsewhere.test", "null", "", "http://127.0.0.1:9999", None])
    def test_another_origin_is_refused(self, memory, origin):
        client = browser(memory)
        csrf = re.search(r'name="csrf" value="(\w+)"', client.get("/").text)[1]
        headers = {} if origin is None else {"origin": origin}
        assert client.post("/check", data={"csrf": csrf}, headers=headers).status_code == 403

    def test_an_application_answers_to_the_hosts_that_it_is_given(self, memory):
        assert TestClient(app(memory), base_url="http://elsewhere.test").get("/").status_code == 421
        named = app(memory, access=Access(hosts=["example.org"]))
        assert TestClient(named, base_url="http://example.org").get("/").status_code == 200

    @pytest.mark.parametrize("path", ["/nowhere", "/edit"])
    def test_an_address_that_leads_nowhere_has_a_way_home(self, memory, path):
        answer = browser(memory).get(path)
        assert answer.status_code in (404, 405)
        assert 'href="/"' in answer.text

    def test_a_forged_form_is_refused(self, memory):
        client, other = browser(memory), browser(memory)
        theirs = re.search(r'name="csrf" value="(\w+)"', other.get("/").text)[1]
        client.get("/")
        record = memory.list()[0]
        for form in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": theirs}):
            answer = client.post("/forget", data={"id": record.id, **form}, headers={"origin": HOST})
            assert answer.status_code == 403
        assert memory.get(record.id).status != "archived"

    def test_nothing_is_written_by_a_link(self, memory):
        client = browser(memory)
        for path in (
            "/process",
            "/consolidate",
            "/undo",
            "/edit",
            "/pin",
            "/forget",
            "/erase",
            "/restore",
            "/quarantine",
            "/release",
        ):
            assert client.get(path).status_code == 405

    def test_read_only_has_no_route_that_writes(self, memory):
        client = browser(memory, read_only=True)
        for path in (
            "/process",
            "/consolidate",
            "/undo",
            "/edit",
            "/pin",
            "/forget",
            "/erase",
            "/restore",
            "/quarantine",
            "/release",
        ):
            assert post(client, path).status_code == 404
        assert client.get(f"/forgetting?id={memory.list()[0].id}").status_code == 404
        for path in pages(memory)[:-1]:
            text = client.get(path).text
            assert set(re.findall(r'method="post" action="([^"]+)"', text)) <= {"/check"}

    def test_every_answer_is_confined(self, memory):
        client = browser(memory)
        for path in ("/", "/static/style.css", "/nothing", "/record?id=no"):
            headers = client.get(path).headers
            assert {name: headers[name] for name in HEADERS} == HEADERS


class TestCommand:
    @pytest.mark.parametrize("options", [[], ["--json"]], ids=["plain", "json"])
    def test_the_link_that_it_prints_opens_the_explorer(self, memory, options):
        words = ["--dir", memory.admin.location, "--embedder", "hashing", "--user", "ana", "--no-browser", *options]
        command = [sys.executable, "-m", "mnemic", "ui", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            deadline = threading.Timer(60, server.kill)
            deadline.start()
            try:
                lines = [server.stdout.readline() for _ in (range(3) if options else range(1))]
                link = json.loads("".join(lines))["link"] if options else lines[0].strip()
                opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
                with opener.open(link, timeout=60) as page:
                    assert b"Lisbon" in page.read()
            finally:
                deadline.cancel()
                server.terminate()


class TestHostile:
    def test_no_text_becomes_markup(self, hostile):
        client = browser(hostile)
        records = [*hostile.list(), *hostile.messages(), *hostile.episodes()]
        paths = [
            *pages(hostile),
            *(f"/record?id={one.id}" for one in records),
            *(f"/recall?q={text}" for text in HOSTILE[:3]),
        ]
        for path in paths:
            text = client.get(path).text
            assert text.count("<script") == 2
            assert not re.search(r"<(?:iframe|img|style|i>|meta http-equiv)", text), path
            assert "hx-get='" not in text
            assert not re.search(r"<[^>]*\son\w+\s*=", re.sub(r'"[^"]*"', '""', text)), path
            assert not re.search(r'href="(?:javascript|https?|//)', text), path

    def test_nor_in_a_report(self, hostile):
        text = report(hostile)
        assert "<script" not in text
        assert not re.search(r"<(?:iframe|img|i>)", text)
        assert text.count("<style>") == 1

    def test_what_is_hidden_is_shown_and_every_value_has_its_own_direction(self):
        bent = "\u202eyrollaM said\u200b it \u2066now\u2069"
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            id_ = memory.remember(f"{bent} \U0001f468\u200d\U0001f469", tags=[bent], category=bent).id
            memory.add(bent, name=bent, id="m1", session=bent)
            client = browser(memory)
            for path in (
                "/",
                "/records",
                "/records?kind=message",
                f"/record?id={id_}",
                "/record?id=m1",
                "/recall?q=said",
                "/audit",
            ):
                text = re.sub(r"<textarea.*?</textarea>|value=\"[^\"]*\"", "", client.get(path).text, flags=re.DOTALL)
                assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b]", text), path
                assert "[U+202E]yrollaM said[U+200B] it" in text, path
            shown = client.get(f"/record?id={id_}").text
            assert '<bdi dir="auto">[U+202E]yrollaM' in shown
            assert "\U0001f468\u200d\U0001f469" in shown  # joined as one symbol
            assert f'value="{bent}"' in shown  # an edit keeps it
            assert "\u202e" not in report(memory)


class TestReport:
    def test_one_file_without_network(self, memory):
        text = report(memory)
        assert len(text.encode()) < 1_000_000
        for said in (*SAID[:3], "Ana lives in Porto", "answer_style", "the same key, home"):
            assert said in text
        assert "<script" not in text
        assert "<form" not in text
        assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
        assert not re.search(r"(?:src|href)=[\"'](?!#)", text)

    def test_the_command_writes_it(self, tmp_path, capsys):
        from .conftest import lived

        lived(tmp_path / "memory").close()
        file = tmp_path / "memory.html"
        place = ["--dir", str(tmp_path / "memory"), "--user", "ana", "--embedder", "hashing"]
        assert main(["report", "-o", str(file), *place]) == 0
        assert "Ana lives in Porto" in file.read_text("utf-8")
        assert file.stat().st_mode & 0o077 == 0
        assert main(["report", "-o", str(tmp_path / "no" / "file.html"), *place]) == 2
        assert "cannot be written" in capsys.readouterr().err


class TestFurtherPages:
    @pytest.fixture
    def noted(self, tmp_path):
        with Memory(tmp_path, user="ana", embedder="hashing") as memory:
            memory.add([{"role": "user", "content": f"Note number {n}."} for n in range(130)], session="one")
            memory.add(
                [
                    {"role": "user", "content": f"Later note {n}.", "sent_at": f"2027-01-01T10:{n:02}:00Z"}
                    for n in range(40)
                ]
            )
            yield memory

    def test_more_shows_each_message_once_whatever_their_times(self, noted):
        client, address, shown = browser(noted), "/records?kind=message", []
        for _ in range(4):
            page = client.get(address).text
            shown += re.findall(r"(?:Note number|Later note) \d+", page)
            following = re.search(r'href="([^"]*before=[^"]*)"', page)
            address = html.unescape(following[1]) if following else None
            if address is None:
                break
        assert address is None
        assert len(set(shown)) == len(noted.messages())

    def test_a_file_has_the_whole_list(self, noted):
        rows = browser(noted).get("/records.json?kind=message").json()
        assert len({row["id"] for row in rows}) == len(rows) == 170


def test_what_was_ended_holds_again_though_it_had_replaced_something(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.remember("Ana lives in Lisbon.", key="home", id="lisbon")
        memory.remember("Ana lives in Porto.", key="home", id="porto")
        memory.update("porto", invalid_at=datetime.now(UTC))
        client = browser(memory)
        post(client, "/take-back", page="/record?id=porto", id="porto")
        assert [record.id for record in memory.list()] == ["porto"]


def test_a_restore_that_is_refused_says_so(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.remember("Ana lives in Lisbon.", id="old")
        memory.forget(ids=["old"])
        memory.remember("Ana lives in Lisbon.", id="new")
        answer = post(browser(memory), "/restore", page="/record?id=old", id="old")
        assert answer.status_code == 409
        assert "already says this" in html.unescape(answer.text)


def test_what_was_said_again_is_no_edit(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        for day in (1, 2):
            memory.add("My dentist is Dr. Costa.", sent_at=datetime(2026, 5, day, tzinfo=UTC), session=f"s{day}")
            memory.process()
        assert "edited" not in browser(memory).get("/").text
        memory.update(memory.remember("My car is a Fiat.").id, content="My car is a Volvo.")
        assert "edited" in browser(memory).get("/").text
