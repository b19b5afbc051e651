"""A week with an assistant: from the first message to long-term memory, and one step back.

Every evening what was said is made into knowledge, as an idle trigger would do it. On Sunday the week is consolidated, the
consolidation is taken back, and done again. With matplotlib two pictures are drawn, into the folder that is named on the
command line, else into one that is removed again.

Install: pip install "mnemic[minilm]"
"""

import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic import Consolidator, Memory

MONDAY = datetime(2026, 3, 9, 18, 30, tzinfo=UTC)
TIERS = ("short_term", "long_term", "archived")
Turns = tuple[str, ...]

# What Ana said, and the assistant answered, in turn.
WEEK: tuple[Turns, ...] = (
    ("I live in Lisbon and work as a nurse.", "Nice to meet you, Ana.", "I never take meetings after lunch.", "Noted."),
    ("My cat Pixel is ill and I am so worried about her!", "I am sorry to hear that.",
     "The vet's appointment is on 12 March 2026 at 9:30.", "It is in the calendar."),
    ("We decided to keep the sessions of our booking app in Redis.", "A sound choice.",
     "The booking app listens on port 8080.", "Understood."),
    ("Pixel is well again, I am so happy and relieved!", "Wonderful news!"),
    ("The booking app listens on port 9000 now.", "I will use that one.",
     "My sister Clara visits me on 2 April 2026.", "How nice."),
    ("I am allergic to walnuts.", "I will keep that in mind."),
    ("Quiet day. I read on the balcony.", "That sounds peaceful."),
)  # fmt: skip

# What the assistant wrote down itself, with its tool for it; on different days in slightly different words.
NOTES: Mapping[int, tuple[str, float]] = {
    0: ("Ana never takes meetings after lunch.", 0.8),
    3: ("Ana never takes any meetings after lunch.", 0.7),
    5: ("Ana decided to keep sessions in Redis.", 0.8),
    6: ("Ana decided to keep the sessions in Redis.", 0.7),
}

# What the assistant corrected in the evening, with its tool for it: what was wrong, and what is true.
CORRECTIONS: Mapping[int, tuple[str, str]] = {
    4: ("the port of the booking app", "The booking app listens on port 9000.")
}


def main() -> None:
    with TemporaryDirectory() as folder:
        # Stored a moment ago, all of it, whatever day it was said on: so nothing is too young.
        rules = Consolidator(min_age_hours=0, buffer_threshold=4)
        with Memory(f"{folder}/memory", user="ana", consolidator=rules) as memory:
            tiers = [*the_week(memory)]
            tiers += the_weekend(memory)
            the_next_week(memory)
            assert memory.admin.verify().ok
            pictures = Path(sys.argv[1] if len(sys.argv) > 1 else folder)
            draw(memory, tiers, pictures)
    print("All as expected.")


def tiers_of(memory: Memory) -> dict[str, int]:
    held = memory.stats().memories
    return {tier: held.get(tier, 0) for tier in TIERS}


def the_week(memory: Memory) -> list[dict[str, int]]:
    """Talk, and in the evening make knowledge of it."""
    counted = []
    for number, turns in enumerate(WEEK):
        morning = MONDAY + timedelta(days=number)
        memory.add(
            [
                {"role": "user", "name": "Ana", "content": text, "sent_at": morning + timedelta(minutes=i)}
                if i % 2 == 0
                else {"role": "assistant", "content": text, "sent_at": morning + timedelta(minutes=i)}
                for i, text in enumerate(turns)
            ],
            session=f"{morning:%A}",
        )
        if number in NOTES:
            text, importance = NOTES[number]
            memory.remember(text, importance=importance, valid_at=morning)
        report = memory.process()
        replaced = 0
        if number in CORRECTIONS:
            (receipt, *_) = memory.correct(*CORRECTIONS[number])
            assert receipt.outcome == "superseded"
            replaced = 1
        counted.append(tiers_of(memory))
        print(f"{morning:%A}: messages {report.messages}, memories {report.memories}, replaced {replaced}")
        assert report.waiting == 0

    assert next(episode.session for episode in memory.episodes()) == "Monday"
    assert len(memory.messages()) == sum(map(len, WEEK))
    port = memory.search("Which port does the booking app listen on?")
    assert "9000" in port[0].text
    on_wednesday = memory.search("Which port does the booking app listen on?", at=MONDAY + timedelta(days=3))
    assert "8080" in on_wednesday[0].text
    return counted


def the_weekend(memory: Memory) -> list[dict[str, int]]:
    """Consolidate, take it back, and do it again."""
    advice = memory.should_consolidate()
    print(f"\nConsolidate? {advice.should_consolidate}: {advice.reason}")
    assert advice.should_consolidate
    everything = advice.short_term_count + advice.long_term_count

    plan = memory.consolidate(dry_run=True)
    assert tiers_of(memory)["long_term"] == 0  # only looked
    done = memory.consolidate()
    assert (done.memories_promoted, done.memories_archived) == (plan.memories_promoted, plan.memories_archived)
    for summary in done.cluster_summaries:
        stands = f", stands for {len(summary.source_ids)} more" if summary.source_ids else ""
        print(f"  long-term: {memory.get(summary.promoted_id).content}  ({summary.avg_importance:.2f}{stands})")
        assert "8080" not in memory.get(summary.promoted_id).content  # replaced on Friday, and no candidate
    after = tiers_of(memory)
    merged = {memory.get(id_).content for summary in done.cluster_summaries for id_ in summary.source_ids}
    assert {NOTES[3][0], NOTES[6][0]} <= merged  # said twice, kept once
    assert all(memory.get(id_).status == "archived" for summary in done.cluster_summaries for id_ in summary.source_ids)

    memory.undo(done.id)
    back = tiers_of(memory)
    print(f"Taken back: {back['short_term']} short-term, {back['long_term']} long-term, {back['archived']} archived")
    assert (back["long_term"], back["archived"]) == (0, 0)
    assert back["short_term"] > everything  # which left out what was replaced on Friday

    # What was taken back is judged again once it was used.
    memory.search("What does Ana never do, and what did she decide?", kinds=["memory"], k=50)
    again = memory.consolidate()
    assert again.memories_archived >= 2
    return [after, back, tiers_of(memory)]


def the_next_week(memory: Memory) -> None:
    """What a new session should know, without a question."""
    context = memory.get_memory_context(max_tokens=400)
    print(f"\nOn Monday, in {context.token_count} tokens:\n{context.text}")
    assert "Redis" in context.text
    assert "after lunch" in context.text


def draw(memory: Memory, tiers: list[dict[str, int]], folder: Path) -> None:
    """The tiers over time, and what the memories feel like."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("\nNo pictures: they need matplotlib.")
        return
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "mnemic"
    from matplotlib import pyplot as plt

    names = [f"{MONDAY + timedelta(days=i):%a}" for i in range(len(WEEK))] + ["consolidated", "undone", "again"]
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    below = [0] * len(tiers)
    for tier in TIERS:
        heights = [day[tier] for day in tiers]
        axes.bar(names, heights, bottom=below, label=tier)
        below = [under + height for under, height in zip(below, heights, strict=True)]
    axes.tick_params(axis="x", rotation=30)
    axes.set_ylabel("memories")
    axes.legend()
    figure.savefig(folder / "tiers.svg", metadata={"Date": None})

    felt = [(m.content, memory.admin.emotion(m.content)) for m in memory.messages(role="user")]
    figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
    axes.scatter([mood.valence for _, mood in felt], [mood.arousal for _, mood in felt])
    for text, mood in felt:
        if max(abs(mood.valence), abs(mood.arousal)) >= 0.3:  # near the middle nothing much is felt
            axes.annotate(
                text[:24], (mood.valence, mood.arousal), ha="right" if mood.valence > 0 else "left", va="bottom"
            )
    axes.axhline(0, color="grey", linewidth=0.5)
    axes.axvline(0, color="grey", linewidth=0.5)
    axes.set(xlim=(-1, 1), ylim=(-1, 1), xlabel="unpleasant - pleasant", ylabel="calm - stirred")
    figure.savefig(folder / "feelings.svg", metadata={"Date": None})
    plt.close("all")
    print("\nDrawn: tiers.svg, feelings.svg")
    assert (folder / "tiers.svg").stat().st_size > 1_000
    assert (folder / "feelings.svg").stat().st_size > 1_000


if __name__ == "__main__":
    main()
