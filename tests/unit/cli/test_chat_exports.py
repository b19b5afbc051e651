"""The exports that people have: each in its published shape, twice, as a dry run, and damaged."""

import json
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import InvalidInput, Memory
from mnemic.transfer.importers import chats, files, texts
from mnemic.transfer.importers.fields import LEFT_OUT
from mnemic.types import ImportFormat

AT = 1_767_225_600.0  # 2026-01-01
ISO = "2026-01-01T00:00:0{}Z"


def node(id, role, parts, at, parent, *children, **message):
    content = {"content_type": "text", "parts": parts}
    held = {"id": id, "author": {"role": role}, "create_time": at, "content": content, "metadata": {}, **message}
    return id, {"id": id, "message": held, "parent": parent, "children": [*children]}


CHATGPT = [
    {
        "title": "Trip", "create_time": AT, "conversation_id": "c1", "current_node": "n5",
        "mapping": dict([
            ("root", {"id": "root", "message": None, "parent": None, "children": ["s"]}),
            node("s", "system", [""], None, "root", "n1", "n2"),
            node("n1", "user", ["I will travel to Oslo."], AT + 10, "s"),  # edited away
            node("n2", "user", ["I will travel to Bergen."], AT + 20, "s", "n3"),
            node("n3", "assistant", ["Bergen is rainy."], AT + 19, "n2", "n4"),  # an earlier clock than its question
            node("n4", "user", [{"content_type": "image_asset_pointer"}, "My raincoat is yellow."], AT + 40, "n3", "h"),
            node("h", "user", ["About the user"], AT + 41, "n4", "n5", metadata={"is_visually_hidden_from_conversation": True}),
            node("n5", "assistant", ["Good."], AT + 42, "h"),
        ]),
    }
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "u", "name": "Bikes", "created_at": ISO.format(1),
        "chat_messages": [
            {"uuid": "a", "sender": "human", "text": "", "created_at": ISO.format(1),
             "content": [{"type": "text", "text": "My bike is green."}], "attachments": [{"file_name": "bike.txt"}]},
            {"uuid": "b", "sender": "assistant", "text": "Nice.", "created_at": ISO.format(1),
             "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Nice."}]},
        ],
    }
]  # fmt: skip
CLAUDE_CODE = "\n".join(
    map(
        json.dumps,
        [
            {"type": "summary", "summary": "Tabs", "leafUuid": "2"},
            {"type": "user", "uuid": "1", "sessionId": "s", "timestamp": ISO.format(1),
             "message": {"role": "user", "content": "Use tabs."}},
            {"type": "assistant", "uuid": "2", "sessionId": "s", "timestamp": ISO.format(2),
             "message": {"role": "assistant", "content": [{"type": "text", "text": "I will."}]}},
        ],
    )
)  # fmt: skip
CODEX = "\n".join(
    map(
        json.dumps,
        [
            {"timestamp": ISO.format(0), "type": "session_meta", "payload": {"id": "s"}},
            {"timestamp": ISO.format(1), "type": "response_item",
             "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Use spaces."}]}},
        ],
    )
)  # fmt: skip
TELEGRAM = {
    "name": "Ben", "type": "personal_chat", "id": 7,
    "messages": [
        {"id": 1, "type": "service", "date": "2026-01-01T00:00:00", "date_unixtime": "1767225600", "action": "call"},
        {"id": 2, "type": "message", "date": "2026-01-01T00:00:10", "date_unixtime": "1767225610", "from": "Ana",
         "from_id": "user1", "text": ["See ", {"type": "link", "text": "example.org"}, "!"]},
        {"id": 3, "type": "message", "date": "2026-01-01T00:00:20", "date_unixtime": "1767225620", "from": "Ben",
         "from_id": "user2", "text": "Looks good.", "photo": "photos/1.jpg"},
    ],
}  # fmt: skip
SLACK_USERS = [{"id": "U1", "name": "ana", "profile": {"real_name": "Ana Reis", "display_name": ""}}]
SLACK_DAYS = {
    "general/2026-01-02.json": [{"type": "message", "user": "U1", "text": "Done &amp; tested.", "ts": "1767312000.000100"}],
    "general/2026-01-01.json": [
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined", "ts": "1767225600.000100"},
        {"type": "message", "user": "U1", "text": "<@U1> reads <https://example.org|the page>", "ts": "1767225700.000100"},
    ],
}  # fmt: skip
WHATSAPP = {
    "ios": "\u200e[31/08/2026, 21:03:11] Ana: I moved to Lisbon,\nto Alfama\n[01/09/2026, 09:04:00] Ben: \u200eimage omitted\n"
    "[01/09/2026, 09:05:00] Ben: cool\n",
    "android": "31/08/2026, 21:03 - Messages and calls are end-to-end encrypted.\n31/08/2026, 21:03 - Ana: I moved to Lisbon,\n"
    "to Alfama\n01/09/2026, 09:04 - Ben: <Media omitted>\n01/09/2026, 09:05 - Ben: cool\n",
    "american": "8/31/26, 9:03\u202fPM - Ana: I moved to Lisbon,\nto Alfama\n9/1/26, 9:05\u202fAM - Ben: cool\n",
    "german": "31.08.26, 21:03 - Ana: I moved to Lisbon,\nto Alfama\n01.09.26, 09:05 - Ben: cool\n",
}
TRANSCRIPTS = {
    "plain": "User: Where is the key?\nAssistant: Under the mat.\n\nIt is the red one.\nUser: Thanks.\n",
    "markdown": "**User:** Where is the key?\n\n**Assistant:** Under the mat.\n\nIt is the red one.\n\n**User:** Thanks.",
    "headings": "## User\n\nWhere is the key?\n\n## ChatGPT\n\nUnder the mat.\n\nIt is the red one.\n\n## User\n\nThanks.\n",
}
CSV = (
    'Speaker,From,Text,Date\nAna,human,"I moved, at last.",2026-01-01T10:00\nBot,assistant,Where to?,2026-01-01T10:01\n'
)
SEMICOLONS = "sender;text;date\nhuman;I moved, at last.;1714550400\nai;Where to?;2024-11-25 10:15:00 UTC\n"
GRAPH = "\n".join(
    map(
        json.dumps,
        [
            {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["likes tea", "lives in Lisbon"]},
            {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
        ],
    )
)
SAID = {
    "chatgpt.json": (json.dumps(CHATGPT), ["I will travel to Bergen.", "Bergen is rainy.", "My raincoat is yellow.", "Good."]),
    "claude.json": (json.dumps(CLAUDE), ["My bike is green.\n[file: bike.txt]", "Nice."]),
    "code.jsonl": (CLAUDE_CODE, ["Use tabs.", "I will."]),
    "codex.jsonl": (CODEX, ["Use spaces."]),
    "telegram.json": (json.dumps(TELEGRAM), ["See example.org!", "Looks good."]),
    "telegram-all.json": (json.dumps({"chats": {"list": [TELEGRAM]}}), ["See example.org!", "Looks good."]),
    "day.json": (json.dumps(SLACK_DAYS["general/2026-01-02.json"]), ["Done & tested."]),
    **{f"{phone}.txt": (text, ["I moved to Lisbon,\nto Alfama", "cool"]) for phone, text in WHATSAPP.items()},
    **{f"{form}.md": (text, ["Where is the key?", "Under the mat.\n\nIt is the red one.", "Thanks."])
       for form, text in TRANSCRIPTS.items()},
    "semicolons.csv": (SEMICOLONS, ["I moved, at last.", "Where to?"]),
    "tabs.csv": (SEMICOLONS.replace(";", "\t"), ["I moved, at last.", "Where to?"]),
    "spaces.csv": (SEMICOLONS.replace(";", "; "), ["I moved, at last.", "Where to?"]),
    "table.csv": (CSV, ["I moved, at last.", "Where to?"]),
}  # fmt: skip


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def messages(folder):
    with Memory(folder, embedder="hashing") as memory:
        return memory.messages(reach="user")


@pytest.mark.parametrize("name", SAID)
def test_a_file_is_recognised_and_nothing_is_stored_twice(mnemic, folder, written, name):
    text, wanted = SAID[name]
    file = written(name, text)
    assert mnemic("import", file, "--dry-run", "--json").json["stored"] == len(wanted)
    run = mnemic("import", file)
    assert run.code == 0, run.out
    assert [message.content for message in messages(folder)] == wanted
    again = mnemic("import", file, "--json").json
    assert (again["stored"], again["duplicate"]) == (0, len(wanted))


def test_the_command_offers_every_format():
    assert {*get_args(ImportFormat)} == {"auto", "mnemic", *files.MESSAGE_FORMATS, *files.MEMORY_FORMATS}


def test_roles_names_times_and_sessions(mnemic, folder, written):
    mnemic("import", written("chatgpt.json", json.dumps(CHATGPT)))
    mnemic("import", written("chat.txt", WHATSAPP["american"]), "--timezone", "UTC")
    said = {message.content: message for message in messages(folder)}
    bergen, rainy = said["I will travel to Bergen."], said["Bergen is rainy."]
    assert (bergen.role, rainy.role, bergen.session) == ("user", "assistant", "c1")
    assert bergen.sent_at == rainy.sent_at == datetime.fromtimestamp(AT + 20, UTC)
    assert said["My raincoat is yellow."].metadata == {"title": "Trip", "left_out": ["image_asset_pointer"]}
    moved = said["I moved to Lisbon,\nto Alfama"]
    assert (moved.name, moved.sent_at, moved.session) == ("Ana", datetime(2026, 8, 31, 21, 3, tzinfo=UTC), "chat")


def test_what_was_understood_is_told(mnemic, written):
    assert (
        "left out: 1 message of branches that were edited"
        in mnemic("import", written("c.json", json.dumps(CHATGPT))).out
    )
    assert "dates are read as day/month/year" in mnemic("import", written("w.txt", WHATSAPP["ios"])).out
    assert "dates are read as month/day/year" in mnemic("import", written("a.txt", WHATSAPP["american"])).out
    assert "role from 'From', name from 'Speaker', sent_at from 'Date'" in mnemic("import", written("t.csv", CSV)).out


def test_of_a_table_the_damaged_rows_are_named_and_the_others_stored(mnemic, folder, written):
    table = 'text,date\n"One,\ntwo.",2026-01-01\nThree.,soon\nFour.,2026-01-02\nFive.,99999999999999999\n'
    run = mnemic("import", written("t.csv", table), "--json")
    assert (run.code, run.json["stored"]) == (1, 2)
    assert [one.partition(",")[0] for one in run.json["damaged"]] == [
        "line 4.sent_at is 'soon'", "line 6.sent_at is '99999999999999999'",
    ]  # fmt: skip
    assert [message.content for message in messages(folder)] == ["One,\ntwo.", "Four."]
    assert mnemic("import", written("t.csv", table), "--strict").code == 2


def test_a_table_of_one_column_if_its_format_is_named(mnemic, written):
    assert mnemic("import", written("t.csv", "text\nI bake.\n"), "--format", "csv", "--json").json["stored"] == 1


def test_a_folder_and_an_archive(mnemic, folder, tmp_path):
    place, archive = tmp_path / "slack", tmp_path / "export.zip"
    (place / "general").mkdir(parents=True)
    (place / "users.json").write_text(json.dumps(SLACK_USERS))
    for name, day in SLACK_DAYS.items():
        (place / name).write_text(json.dumps(day))
    assert mnemic("import", str(place)).code == 0
    said = messages(folder)
    assert [(m.name, m.content) for m in said] == [
        ("Ana Reis", "@Ana Reis reads the page (https://example.org)"), ("Ana Reis", "Done & tested."),
    ]  # fmt: skip
    assert {m.session for m in said} == {"general"}
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("export/conversations.json", json.dumps(CLAUDE))
        made.writestr("export/users.json", "[]")
    assert mnemic("import", str(archive), "--json").json["stored"] == 2
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("holiday.txt", "Nothing")
    run = mnemic("import", str(archive))
    assert run.code == 2
    assert "holds no export that is known" in run.err


def talk(*nodes):
    """A conversation of ChatGPT, one message after the other."""
    chain = [
        node(f"m{n}", role, parts, AT + n, f"m{n - 1}" if n else None, **more)
        for n, (role, parts, more) in enumerate(nodes)
    ]
    return {"conversation_id": nodes[0][1][0], "current_node": f"m{len(nodes) - 1}", "mapping": dict(chain)}


def test_what_an_assistant_told_a_tool_is_left_out_and_counted(mnemic, folder, written):
    conversation = talk(
        ("user", ["I moved to Lisbon."], {}),
        ("assistant", ["User lives in Lisbon."], {"recipient": "bio"}),
        ("assistant", ["search('Lisbon')"], {"recipient": "python"}),
        ("assistant", ["Welcome!"], {"recipient": "all"}),
    )
    run = mnemic("import", written("c.json", json.dumps([conversation])), "--json")
    assert run.json["left_out"] == {"tool_calls": 2}
    assert [message.content for message in messages(folder)] == ["I moved to Lisbon.", "Welcome!"]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("said"), st.text("abc .,\n", max_size=5)),
            st.tuples(st.sampled_from(["cite", "filecite", "navlist", "map"]), st.text("tn0\ue202[]", max_size=8)),
            st.tuples(st.just("entity"), st.text("Lisboa", min_size=1, max_size=6)),
            st.tuples(st.just("url"), st.text("Lisboa", min_size=1, max_size=6)),
        )
    )
)
def test_of_marks_that_the_app_draws_only_words_stay(parts):
    written, wanted = "", ""
    for kind, text in parts:
        if kind == "said":
            written, wanted = written + text, wanted + text
        elif kind == "entity":
            written, wanted = f'{written}\ue200entity\ue202["city","{text}"]\ue201', wanted + text
        elif kind == "url":
            written, wanted = f"{written}\ue203\ue200url\ue202{text}\ue202turn0\ue201\ue204", wanted + text
        else:
            wanted = wanted[: len(wanted) - written.endswith(" ")]
            written = f"{written}\ue200{kind}\ue202{text}\ue201"
    (told,) = chats.chatgpt([talk(("assistant", [f"{written}#"], {}))], None)
    assert told.content == f"{wanted}#"
    assert {*told.metadata.get("left_out", ())} == {kind for kind, _ in parts} - {"said", "entity", "url"}


def test_an_export_in_several_files(mnemic, folder, tmp_path):
    said = [json.dumps([talk(("user", [f"I bake {n}."], {}))]) for n in range(3)]
    said = [text.replace('"m0"', f'"m{n}"') for n, text in enumerate(said)]
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as made:
        for number, text in enumerate([*said, "[{"]):
            made.writestr(f"export/conversations-00{number}.json", text)
        made.writestr("export/old/conversations.json", "[{")
        made.writestr("export/shared_conversations.json", "[]")
        made.writestr("__MACOSX/export/._conversations-000.json", "[]")
    run = mnemic("import", str(tmp_path / "export.zip"), "--json")
    assert (run.code, run.json["stored"]) == (1, 3)
    broken, old = run.json["damaged"]
    assert broken.startswith("export/conversations-003.json cannot be read.")
    assert old == "export/old/conversations.json was not read. Import it by itself."
    assert [message.content for message in messages(folder)] == ["I bake 0.", "I bake 1.", "I bake 2."]


CLAUDE_MEMORY = [{
    "account_uuid": "a", "conversations_memory": "**Work context**\n\nAna bakes in Porto.\n\nShe hires.\n\n## Personal\n\nTwo cats.",
    "project_memories": {"p1": "A book on rye."},
}]  # fmt: skip


@pytest.mark.parametrize("name", ["memories.json", "memories/a.json"])
def test_what_claude_wrote_down_is_imported_with_the_conversations(mnemic, folder, tmp_path, name):
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as made:
        made.writestr("data [1]/conversations.json", json.dumps(CLAUDE))
        made.writestr(f"data [1]/{name}", json.dumps(CLAUDE_MEMORY))
        made.writestr("data [1]/projects.json", '[{"uuid": "p1", "docs": []}]')
        made.writestr("memories.json", '["of something else"]')
    for again in range(2):
        run = mnemic("import", str(tmp_path / "export.zip"), "--json")
        assert (run.code, run.json["counts"]) == (0, {"memory": 4, "message": 2})
        assert run.json["duplicate"] == 6 * again
        assert run.json["remarks"] == ["left out: data [1]/projects.json"]
    with Memory(folder, embedder="hashing") as memory:
        said = {record.content: record for record in memory.list()}
    assert said.keys() == {
        "Work context: Ana bakes in Porto.", "Work context: She hires.", "Personal: Two cats.", "A book on rye.",
    }  # fmt: skip
    assert {record.source for record in said.values()} == {"model_inference"}
    assert said["A book on rye."].metadata["claude"] == {"project": "p1"}


def test_the_memory_of_claude_alone_and_what_is_not_known_of_it(mnemic, folder, written):
    run = mnemic(
        "import",
        written("memories.json", json.dumps([*CLAUDE_MEMORY, {**CLAUDE_MEMORY[0], "memory_files": [{}]}])),
        "--json",
    )
    assert (run.code, run.json["format"], run.json["stored"]) == (1, "claude", 4)
    assert run.json["damaged"] == ["[1].memory_files is not supported; the rest of [1] is imported."]


def test_a_second_chat_in_a_folder_is_named(mnemic, folder, tmp_path):
    (tmp_path / "chats").mkdir()
    for name in ("Ana", "Ben"):
        (tmp_path / "chats" / f"WhatsApp Chat with {name}.txt").write_text(WHATSAPP["german"])
    run = mnemic("import", str(tmp_path / "chats"), "--json")
    assert (run.code, run.json["stored"]) == (1, 2)
    assert run.json["damaged"] == ["WhatsApp Chat with Ben.txt was not read. Import it by itself."]


SUPPORT = "role,text\ncustomer,Hi\nEnd-user,It broke\nagent,Sorry\nBot,Done\ncritic,No\ncritic,Never\nJudge,Hm\n"


def test_roles_of_support_are_known_and_others_are_told(mnemic, folder, written):
    told = "roles that are not known, stored as untrusted text of tools: critic (2), Judge (1)"
    for options in (["--dry-run"], []):
        assert mnemic("import", written("t.csv", SUPPORT), *options, "--json").json["remarks"][-1] == told
    assert [(message.role, message.source) for message in messages(folder)] == [
        *[("user", "direct_user")] * 2, *[("assistant", "model_inference")] * 2,
        *[("critic", "tool_external")] * 2, ("Judge", "tool_external"),
    ]  # fmt: skip


def test_the_graph_of_the_memory_server(mnemic, folder, written):
    run = mnemic("import", written("memory.jsonl", GRAPH + "\n" + json.dumps({"type": "entity", "name": "Bo"})))
    assert run.code == 1
    assert "line 3.observations is missing" in run.out
    with Memory(folder, embedder="hashing") as memory:
        assert sorted(record.content for record in memory.list()) == [
            "Ana works at Acme", "Ana: likes tea", "Ana: lives in Lisbon",
        ]  # fmt: skip


MARK = "\u200e"
PLAIN_TEXT = st.text(st.characters(exclude_characters=f"{MARK}/", exclude_categories=["C", "Z"]), min_size=1).map(
    "I {}.".format
)


@given(st.lists(st.tuples(PLAIN_TEXT, st.sampled_from(["said", "edited", "notice"])), min_size=1))
def test_of_a_chat_on_ios_what_is_marked_is_the_apps(told):
    line = {"said": "{}", "edited": f"{{}} {MARK}<Diese Nachricht wurde bearbeitet.>", "notice": f"{MARK}{{}}"}
    text = "".join(f"[4/15/25, 9:14:03\u202fPM] Ben: {line[kind].format(words)}\n" for words, kind in told)
    assert [message.content for message in texts.whatsapp(text, None)] == [
        words for words, kind in told if kind != "notice"
    ]


@pytest.mark.parametrize("mark", [
    "This message was edited", "Diese Nachricht wurde bearbeitet.", "Se editó este mensaje.", "Ce message a été modifié",
    "Mensagem editada", "Questo messaggio è stato modificato", "Dit bericht is bewerkt",
])  # fmt: skip
def test_an_edited_message_on_android_is_what_it_says(mark):
    text = f"15.04.25, 21:14 - Ben: At six. <{mark}>\n15.04.25, 21:15 - Ben: It says <{mark}> here.\n"
    assert [message.content for message in texts.whatsapp(text, None)] == ["At six.", f"It says <{mark}> here."]


def test_files_places_and_polls_of_a_chat_on_ios_are_the_speakers():
    text = (
        f"{MARK}[15.04.25, 21:18:05] Ben: {MARK}<Anhang: 12-PHOTO.jpg>\n"
        f"[15.04.25, 21:21:05] Ben: {MARK}Standort: https://maps.example/?q=47.0,15.4\n"
        f"[15.04.25, 21:22:05] Ben: {MARK}UMFRAGE:\nSaturday?\n{MARK}OPTION: Yes (3)\n"
        f"[15.04.25, 21:23:05] {MARK}Ben: cool\n"
    )
    assert [(message.name, message.content) for message in texts.whatsapp(text, None)] == [
        ("Ben", "[file: 12-PHOTO.jpg]"), ("Ben", "Standort: https://maps.example/?q=47.0,15.4"),
        ("Ben", "UMFRAGE:\nSaturday?\nOPTION: Yes (3)"), ("Ben", "cool"),
    ]  # fmt: skip


@pytest.mark.parametrize("mark", [
    "<Media omitted>", "<Medien ausgeschlossen>", "<Multimedia omitido>", "<Médias omis>", "<Без медиафайлов>",
    "<省略多媒体文件>",
])  # fmt: skip
def test_words_in_angle_brackets_alone_are_media(mark):
    chat = f"31.08.26, 21:03 - Ana: {mark}\n31.08.26, 21:04 - Ana: What does {mark} mean?\n"
    media, question = texts.whatsapp(chat, None)
    assert (media.content, media.metadata) == ("", {LEFT_OUT: ["media"]})
    assert question.content == f"What does {mark} mean?"


@pytest.mark.parametrize(
    "text",
    [
        "<div>",
        "<br/>",
        "<a href=x>",
        "<ana@example.org>",
        "<https://example.org>",
        "<3 you>3",
        "<Nicht vergessen>",
        "<gate code changes>",
    ],
)
def test_markup_links_and_addresses_in_angle_brackets_are_said(text):
    (message,) = texts.whatsapp(f"31.08.26, 21:03 - Ana: {text}\n", None)
    assert message.content == text


@pytest.mark.parametrize("words", ["file attached", "Datei angehängt", "archivo adjunto", "fichier joint"])
def test_a_file_is_named_in_every_language(words):
    chat = "".join(
        f"31.08.26, 21:03 - Ana: {text}\n"
        for text in (
            f"{MARK}My lease (2).pdf ({words})\nPlease sign.", f"IMG-20260831-WA0001.jpg ({words})", f"Trip plan.pdf ({words})",
            "I sent a.pdf (by mail)", "Read a.pdf (page 2) first",
        )
    )  # fmt: skip
    assert [message.content for message in texts.whatsapp(chat, None)] == [
        "[file: My lease (2).pdf]\nPlease sign.", "[file: IMG-20260831-WA0001.jpg]", "[file: Trip plan.pdf]",
        "I sent a.pdf (by mail)", "Read a.pdf (page 2) first",
    ]  # fmt: skip


def test_a_document_that_is_the_only_file_needs_no_mark():
    (message,) = texts.whatsapp("31.08.26, 21:03 - Ana: Trip plan.pdf (file attached)\n", None)
    assert message.content == "[file: Trip plan.pdf]"


@pytest.mark.parametrize("notice", ["This message was deleted", f"{MARK}Diese Nachricht wurde gelöscht."])
def test_that_a_message_was_deleted_is_a_notice(notice):
    chat = f'31.08.26, 21:03 - Ana: {notice}\n31.08.26, 21:04 - Ben: Why? "{notice}"\n'
    assert [message.name for message in texts.whatsapp(chat, None)] == ["Ben"]


@pytest.mark.parametrize("quoted", ['"{}"', "\u201c{}\u201d", "\u201e{}\u201c", "\u00ab{}\u00bb"])
def test_a_name_leaves_no_quotation_open(quoted):
    rome, rocky = quoted.format("Trip: Rome"), quoted.format("Rocky")
    text = (
        f"12/03/2025, 21:15 - Ben created group {rome}\n"
        f"12/03/2025, 21:16 - Ben changed the group name from {rocky} to {rome}\n"
        f"12/03/2025, 21:17 - Ben {rocky} B: I like {rome}\n"
        f"12/03/2025, 21:18 - Ana: {MARK}IMG-1.jpg (file attached)\n"
    )
    assert [(message.name, message.content) for message in texts.whatsapp(text, None)] == [
        (f"Ben {rocky} B", f"I like {rome}"), ("Ana", "[file: IMG-1.jpg]"),
    ]  # fmt: skip


TURNS = "User: Where is the key?\nAssistant: Under the mat.\n"


@pytest.mark.parametrize("before", ["Notes of Monday, by Ana.\n\n", "---\ntitle: Keys\n---\n", "[1] "])
def test_a_format_that_is_named_decides(mnemic, folder, written, before):
    file = written("chat.md", before + "\n" + TURNS)
    assert mnemic("import", file, "--format", "transcript").code == 0
    assert [message.content for message in messages(folder)] == ["Where is the key?", "Under the mat."]
    for named in ("transcript", "whatsapp"):
        run = mnemic("import", written("prose.md", before), "--format", named)
        assert (run.code, "No line begins" in run.err) == (2, True)


def test_a_format_that_is_named_decides_in_an_archive(mnemic, folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as made:
        made.writestr("_chat.txt", "An excerpt.\n" + WHATSAPP["german"])
    assert mnemic("import", str(tmp_path / "export.zip"), "--format", "whatsapp").code == 0
    assert [message.name for message in messages(folder)] == ["Ana", "Ben"]


@pytest.mark.parametrize("heading", ["# Chat of Monday\n\n", "\n## Keys\n### June\n"])
def test_a_transcript_is_recognised_below_its_headings(mnemic, folder, written, heading):
    assert mnemic("import", written("chat.md", heading + TURNS)).code == 0
    assert [message.content for message in messages(folder)] == ["Where is the key?", "Under the mat."]


DAMAGED = {
    "a tree without nodes": json.dumps([{"mapping": []}]),
    "a node without an author": json.dumps([{"mapping": dict([node("n", "user", ["x"], AT, None, author={})])}]),
    "a time that is none": json.dumps([{"chat_messages": [{"sender": "human", "text": "x", "created_at": "soon"}]}]),
    "a conversation without messages": json.dumps([{"chat_messages": None}]),
    "a speaker that is a number": json.dumps([{"uuid": "u", "chat_messages": [{"sender": 3, "text": "x"}]}]),
    "a stamp of Slack that is none": json.dumps([{"ts": "now", "text": "x"}]),
    "a chat of Telegram that is no object": json.dumps({"chats": {"list": [3]}}),
    "dates of no calendar": "[45/99/2026, 10:00] Ana: hello\n",
    "a table without text": "name,when\nAna,today\n",
    "a cut file": json.dumps(CHATGPT)[:200],
    "prose": "Dear Ana,\nall is well here.\n",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_file_is_an_error_that_says_where_and_stores_nothing(mnemic, folder, written, what):
    run = mnemic("import", written("damaged.txt", DAMAGED[what]))
    assert run.code == 2, run.out
    assert run.err.startswith("mnemic: ")
    assert not (folder / "mnemic.db").exists() or messages(folder) == []


@given(
    st.lists(st.dates(min_value=datetime(2020, 1, 1).date()), min_size=1, max_size=30),
    st.sampled_from(["dmy", "mdy", "ymd"]),
)
def test_the_order_of_a_date_is_one_in_which_all_dates_exist_and_time_passes(days, order):
    form = {
        "dmy": "{0.day}/{0.month}/{0.year}",
        "mdy": "{0.month}/{0.day}/{0.year}",
        "ymd": "{0.year}-{0.month}-{0.day}",
    }
    written = [form[order].format(day) for day in sorted(days)]
    found = texts.date_order(written)
    if any(day.day > 12 for day in days):
        assert found == order
    else:
        assert (found == "ymd") == (order == "ymd")


def _as_detected(text, session):
    read = files.parse_lines(text)
    return files.messages_of(read, files.detect(read.data), session)[0]


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    for read in (
        texts.whatsapp,
        texts.transcript,
        lambda said, session: texts.table(texts.rows(said), session),
        _as_detected,
    ):
        with suppress(InvalidInput):
            assert all(message.role for message in read(text, None))


def test_chatgpt_of_years_ago(tmp_path):
    """Citations in brackets, a file by its name, and a first question without a time."""
    attached = {"metadata": {"attachments": [{"name": "lease.pdf"}]}}
    chat = {
        "title": "Rent", "create_time": AT, "conversation_id": "c1", "current_node": "b",
        "mapping": dict([
            ("root", {"id": "root", "message": None, "parent": None, "children": ["a"]}),
            node("a", "user", ["What is the rent cap?"], None, "root", "b", **attached),
            node("b", "assistant", ["The cap is 2 %\u30104\u2020source\u3011, see your lease\u30107:0\u2020lease.pdf\u3011."], AT + 9, "a"),
        ]),
    }  # fmt: skip
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([chat]))
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        report = memory.admin.import_file(file)
        question, answer = memory.messages()
        assert question.content == "What is the rent cap?\n[file: lease.pdf]"
        assert question.sent_at == answer.sent_at
        assert answer.content == "The cap is 2 %, see your lease."
        assert report.left_out == {"mark": 1}


def test_telegram_chats_of_one_name_are_two_sessions(tmp_path):
    chats = [
        {
            "id": id_,
            "name": "Ben",
            "messages": [{"id": 1, "type": "message", "date": ISO.format(1), "from": "Ben", "text": text}],
        }
        for id_, text in ((1, "I bought a boat."), (2, "Our rent is due."))
    ]
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"chats": {"list": chats}}))
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.admin.import_file(file)
        assert {message.session for message in memory.messages()} == {"Ben 1", "Ben 2"}


def test_a_table_may_have_a_long_cell(tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text(f"role,content\nuser,I like tea.\nuser,{'x ' * 100_000}\n")
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.admin.import_file(file)
        assert [len(message.content) > 100_000 for message in memory.messages()] == [False, True]


def test_an_archive_that_is_cut_off_is_named_as_such(tmp_path):
    whole, half = tmp_path / "whole.zip", tmp_path / "half.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("conversations.json", json.dumps(CHATGPT))
    half.write_bytes(whole.read_bytes()[:200])
    with Memory(":memory:", user="ana", embedder="hashing") as memory, pytest.raises(InvalidInput, match="cut off"):
        memory.admin.import_file(half)


PHONES = {
    "Arabic": ("\u200f٣\u200f/٥\u200f/٢٠٢٦, ٢:٣٠ م - أحمد: أسكن في القاهرة", "١٣/٥/٢٠٢٦، ٩:٣١ ص - سامي: مرحبا"),
    "Chinese": ("2026/5/3 下午2:30 - 王小明: 我住在上海", "2026/5/13 上午9:31 - 王丽: 好的"),
    "Chinese, iOS": ("[2026/5/3 下午2:30:00] 王小明: 我住在上海", "[2026/5/13 上午9:31:00] 王丽: 好的"),
    "Japanese": ("[2026/05/03 午後2:30:00] 田中: 大阪です", "[2026/05/13 午前9:31:00] 佐々木: はい"),
    "Korean": ("2026년 5월 3일 오후 2:30, 김민준 : 부산에 살아요", "2026년 5월 13일 오전 9:31, 서연 : 네"),
    "Korean, iOS": ("[2026. 5. 3. 오후 2:30:00] 김민준: 부산에 살아요", "[2026. 5. 13. 오전 9:31:00] 서연: 네"),
    "French": ("03/05/2026 à 14:30 - Zoé: J'habite à Nîmes", "13/05/2026, 09:31 - Ana: Et moi à Lyon"),
    "Greek": ("3/5/26, 2:30 μ.μ. - Νίκος: Μένω στην Αθήνα", "13/5/26, 9:31 π.μ. - Άννα: ναι"),
    "Finnish": ("3.5.2026 klo 14.30 - Äijö: Asun Oulussa", "13.5.2026 klo 9.31 - Eeva: joo"),
    "Hindi": ("03/05/26, 2:30 अपराह्न - अर्जुन: जयपुर", "13/05/26, 9:31 पूर्वाह्न - प्रिया: ठीक"),
    "Thai": ("3/5/2569 14:30 - สมชาย: อยู่กรุงเทพ", "13/5/2569 9:31 - มาลี: ค่ะ"),
}


@pytest.mark.parametrize("language", PHONES)
def test_whatsapp_of_a_phone_in_another_language(tmp_path, language):
    file = tmp_path / "WhatsApp Chat.txt"
    file.write_text("\n".join(PHONES[language]))
    with Memory(":memory:", user="ana", embedder="hashing", timezone="UTC") as memory:
        report = memory.admin.import_file(file)
        messages = memory.messages()
    assert (report.stored, report.damaged) == (2, ())
    assert [message.sent_at for message in messages] == [
        datetime(2026, 5, 3, 14, 30, tzinfo=UTC), datetime(2026, 5, 13, 9, 31, tzinfo=UTC),
    ]  # fmt: skip
    for message, line in zip(messages, PHONES[language], strict=True):
        assert line.removesuffix(f": {message.content}").rstrip().endswith(message.name)
        assert not message.name.startswith((" ", "-", "م", "ص"))
