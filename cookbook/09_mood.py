"""Recall in a mood: what was said in a like mood comes up first, as it does with people.

Install: pip install "mnemic[minilm]"
"""

from mnemic import Emotion, Memory

LETTERS = (
    "The exam was a disaster, I cried all evening.",
    "The exam went brilliantly, I am so proud and happy!",
    "The exam has four parts and takes three hours.",
    "The exam made me terribly nervous and afraid.",
    "The exam is held in the old library.",
)


def main() -> None:
    with Memory(":memory:", user="ana") as memory:
        how_texts_feel(memory)
        recall_in_a_mood(memory)
        kept_in_its_place(memory)
    print("All as expected.")


def how_texts_feel(memory: Memory) -> None:
    """Valence and arousal, -1 to 1, and how sure that is. It is an estimate of a text, not of a person."""
    for text in LETTERS:
        mood = memory.admin.emotion(text)
        print(
            f"{mood.quadrant:<10} valence {mood.valence:+.2f}, arousal {mood.arousal:+.2f}, sure {mood.confidence:.2f}  {text}"
        )
    sad, proud = memory.admin.emotion(LETTERS[0]), memory.admin.emotion(LETTERS[1])
    assert sad.valence < 0 < proud.valence
    assert memory.admin.emotion("").confidence == 0  # of nothing, nothing is known


def recall_in_a_mood(memory: Memory) -> None:
    """The same question in two moods, and in none."""
    memory.add([{"role": "user", "name": "Ana", "content": text} for text in LETTERS], session="letters")
    memory.process()

    def best(mood: Emotion | None, weight: float = 0.3) -> str:
        return memory.search("How was the exam?", mood=mood, emotion_weight=weight)[0].text

    low, high = memory.admin.emotion("I feel so sad and miserable."), memory.admin.emotion("I am delighted and proud!")
    print(f"\nIn a low mood:  {best(low)}\nIn a high mood: {best(high)}\nIn none:        {best(None)}")
    assert memory.admin.emotion(best(low)).valence < 0
    assert memory.admin.emotion(best(high)).valence > 0
    assert best(low) != best(high)

    # A context for a prompt takes one as well, and so does every adapter; a function is asked at each call.
    context = memory.get_memory_context("How was the exam?", max_tokens=100, mood=lambda: low)
    assert memory.admin.emotion(context.hits[0].text).valence < 0

    # A mood may be made by hand: as unpleasant as it gets, stirred, and certain.
    dread = Emotion(valence=-0.9, arousal=0.6, confidence=1.0)
    assert memory.admin.emotion(best(dread)).valence < 0


def kept_in_its_place(memory: Memory) -> None:
    """Weight 0 switches it off; a question about facts stays one."""
    low = memory.admin.emotion("I feel so sad and miserable.")
    plain = [hit.id for hit in memory.search("How long does the exam take?")]
    assert [hit.id for hit in memory.search("How long does the exam take?", mood=low, emotion_weight=0)] == plain
    first = memory.search("How many hours does the exam take?", mood=low, emotion_weight=0.1)[0]
    print(f"\nA fact, in a low mood: {first.text}")
    assert "three hours" in first.text


if __name__ == "__main__":
    main()
