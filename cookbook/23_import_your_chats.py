"""The history that people have already: exports of ChatGPT and WhatsApp, imported with the command line and asked about.

Install: pip install "mnemic[minilm]"
"""

import json
import zipfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic import Memory
from mnemic.cli import main as mnemic

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


def imported(folder: Path, file: Path) -> str:
    """What the command says; importing the same file again stores nothing twice."""
    told = StringIO()
    with redirect_stdout(told):
        assert mnemic(["--dir", str(folder / "memory"), "--user", "ana", "import", str(file)]) == 0
    print(told.getvalue().strip())
    return told.getvalue()


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(folder / "export.zip", "w") as archive:  # as it was downloaded
            archive.writestr("conversations.json", json.dumps(chatgpt()))
        (folder / "chat.txt").write_text(WHATSAPP, encoding="utf-8")

        assert "(chatgpt): 3 messages: 3 stored" in imported(folder, folder / "export.zip")
        assert "0 stored, 3 already stored" in imported(folder, folder / "export.zip")
        assert "dates are read as day/month/year" in imported(folder, folder / "chat.txt")

        with Memory(folder / "memory", user="ana") as memory:
            landlord = memory.search("Who is my landlord?")[0]
            print(f"{landlord.sent_at:%d %B %Y}, {landlord.speaker}: {landlord.text}")
            assert "Senhor Matos" in landlord.text
            assert f"{landlord.sent_at:%Y-%m-%d}" == "2026-08-31"
            assert "walnuts" in memory.get_memory_context("Which nuts are a danger for Ana?", max_tokens=200).text
    print("All as expected.")


if __name__ == "__main__":
    main()
