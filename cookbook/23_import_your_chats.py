"""The history that people have already: exports of ChatGPT and WhatsApp, imported as they were downloaded and asked about.

The same with the command line: ``mnemic --dir ./memory --user ana import export.zip``.

Install: pip install "mnemic[minilm]"
"""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic import Memory

WHATSAPP = """\
[31/08/2026, 21:03:11] Ana: The landlord of the flat in Alfama is Senhor Matos.
[01/09/2026, 09:04:00] Ben: Good to know!
"""


def message(id: str, role: str, text: str, seconds: int, parent: str | None) -> dict[str, object]:
    """A node of ChatGPT's tree of messages."""
    content = {"content_type": "text", "parts": [text]}
    said = {"id": id, "author": {"role": role}, "create_time": 1_767_225_600 + seconds, "content": content}
    return {"id": id, "message": said, "parent": parent, "children": []}


def chatgpt() -> list[dict[str, object]]:
    nodes = [
        message("a", "user", "I am allergic to walnuts. What can I bake for a birthday?", 0, None),
        message("b", "assistant", "A lemon cake with almonds.", 5, "a"),
        message("c", "user", "Make it a cake without any nuts.", 60, "b"),
    ]
    tree = {str(node["id"]): node for node in nodes}
    return [{"title": "Birthday", "conversation_id": "birthday", "current_node": "c", "mapping": tree}]


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(folder / "export.zip", "w") as archive:  # as it was downloaded
            archive.writestr("conversations.json", json.dumps(chatgpt()))
        (folder / "chat.txt").write_text(WHATSAPP, encoding="utf-8")

        with Memory(folder / "memory", user="ana") as memory:
            report = memory.admin.import_file(folder / "export.zip")
            print(f"{report.format}: {report.stored} messages stored")
            assert (report.format, report.stored) == ("chatgpt", 3)
            assert memory.admin.import_file(folder / "export.zip").duplicate == 3  # nothing is stored twice
            report = memory.admin.import_file(folder / "chat.txt", dry_run=True)  # look first
            print(f"{report.format}: {report.remarks[0]}")
            assert report.remarks == ("dates are read as day/month/year",)
            assert memory.admin.import_file(folder / "chat.txt").stored == 2

            landlord = memory.search("Who is my landlord?")[0]
            print(f"{landlord.sent_at:%d %B %Y}, {landlord.speaker}: {landlord.text}")
            assert "Senhor Matos" in landlord.text
            assert f"{landlord.sent_at:%Y-%m-%d}" == "2026-08-31"
            assert "walnuts" in memory.get_memory_context("Which nuts are a danger for Ana?", max_tokens=200).text
    print("All as expected.")


if __name__ == "__main__":
    main()
