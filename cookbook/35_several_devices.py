"""A laptop and a phone, each with a memory of its own: they sync, disagree about a text, and forget something for good.

Install: pip install "mnemic[minilm]"
"""

import tempfile
from pathlib import Path

from mnemic import Memory


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folders = Path(place, "laptop"), Path(place, "phone")
        with Memory(folders[0], user="ana") as laptop, Memory(folders[1], user="ana") as phone:
            laptop.add("My boat is called Halcyon. My locker at the gym has the number 4711.", name="Ana", id="m1")
            phone.remember("Ana's flight to Porto leaves at 7:40.", id="flight")
            meet(laptop, phone)
            disagree(laptop, phone)
            erase(laptop, phone)
    print("All as expected.")


def meet(laptop: Memory, phone: Memory) -> None:
    """Each takes over what the other has; then there is nothing left to do."""
    laptop.process()
    report = laptop.admin.sync(phone)
    print(*(f"{Path(side.location).parent.name}: {side.added} added" for side in report.sides), sep=", ")
    assert not phone.admin.sync(laptop).changed
    assert "Halcyon" in phone.search("What is my boat called?")[0].text


def disagree(laptop: Memory, phone: Memory) -> None:
    """The later text holds on both, and the history keeps the other one."""
    laptop.update("flight", content="Ana's flight to Porto leaves at 8:15.")
    phone.update("flight", content="Ana's flight to Porto leaves at 9:15.")
    (conflict,) = laptop.admin.sync(phone).conflicts
    print(f"{conflict.kept}  (the other side: {conflict.other})")
    assert laptop.get("flight").content == phone.get("flight").content == conflict.kept
    assert conflict.other in [event.content for event in laptop.history("flight")]


def erase(laptop: Memory, phone: Memory) -> None:
    """What is erased on one device is gone from the other, with what was derived from it."""
    assert laptop.forget(ids=["m1"], hard=True).clean
    report = laptop.admin.sync(phone)
    print(f"erased on the phone: {report.sides[1].erased}")
    assert not any("4711" in message.content for message in phone.messages())
    assert all("4711" not in record.content for record in phone.list())


if __name__ == "__main__":
    main()
