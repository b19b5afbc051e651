"""Images: what a message keeps of one, and how its caption is found.

The picture itself stays where it is. The record keeps its address, or its type and size, and the caption you give.

Install: pip install "mnemic[minilm]"
"""

from mnemic import Memory


def main() -> None:
    with Memory(":memory:", user="ana") as memory:
        memory.add(
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Here is the new boat."},
                        {
                            "type": "image_url",
                            "image_url": {"url": "https://example.org/boat.jpg"},
                            "caption": "a blue sailing boat at the pier of Setubal",
                        },
                    ],
                },
                {"role": "assistant", "content": "She is beautiful."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "And the bill."},
                        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 40_000}"}},
                    ],
                },
            ]
        )
        hit = memory.search("Which colour has the boat?")[0]
        print(hit.text)
        stored = [message.content for message in memory.messages() if message.role == "user"]
        print(stored[-1])

    assert hit.text.endswith("[image: https://example.org/boat.jpg] a blue sailing boat at the pier of Setubal")
    assert stored[-1] == "And the bill.\n[image: image/png, 30 kB]"
    print("All as expected.")


if __name__ == "__main__":
    main()
