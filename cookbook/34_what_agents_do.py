"""What agents do: which tools worked for which request, from what the answers note about them.

The adapters note the tools of an answer by themselves. This program does it by hand, as one without a framework would.

Install: pip install "mnemic[minilm]"
"""

from datetime import UTC, datetime

from mnemic import Memory, Message

BEFORE = [("run_tests", "ok"), ("build_image", "ok"), ("deploy", "ok")]
REFUSED = [("run_tests", "ok"), ("build_image", "ok"), ("deploy", "error")]
SCANNED = [("run_tests", "error"), ("run_tests", "ok"), ("build_image", "ok"), ("scan_image", "ok"), ("deploy", "ok")]
RUNS = [
    (datetime(2026, 1, 12, tzinfo=UTC), "Deploy the billing service to staging.", BEFORE),
    (
        datetime(2026, 2, 3, tzinfo=UTC),
        "Book a hotel in Lyon for two nights.",
        [("search_hotels", "ok"), ("book", "ok")],
    ),
    (datetime(2026, 3, 2, tzinfo=UTC), "Please deploy the search service to staging.", REFUSED),
    (datetime(2026, 3, 3, tzinfo=UTC), "Deploy the search service to staging.", SCANNED),
]
REQUEST = "Deploy the notification service to staging."
ASKED = datetime(2026, 3, 10, tzinfo=UTC)


def main() -> None:
    with Memory(":memory:", user="ana") as memory:
        for number, (at, request, tools) in enumerate(RUNS):
            used = [{"name": name, "outcome": outcome} for name, outcome in tools]
            done = "Done." if tools[-1][1] == "ok" else "The registry refused it."
            memory.add(
                [
                    Message(role="user", content=request, sent_at=at),
                    Message(role="assistant", content=done, sent_at=at, metadata={"tools_used": used}),
                ],
                session=f"run-{number}",
            )

        best, other = memory.procedures(REQUEST, now=ASKED)
        for one in (best, other):
            print(f"{one.score:.2f}", ", ".join(one.steps), f"({one.successes} worked, {one.failures} failed)")
        then = memory.procedures(REQUEST, at=datetime(2026, 2, 1, tzinfo=UTC))[0]
        prompt = memory.get_memory_context(REQUEST, now=ASKED, procedures=1, min_evidence="weak").text
        print(prompt)
        memory.forget(ids=[message.id for message in memory.messages(session="run-3", role="assistant") if message.id])
        left = memory.procedures(REQUEST, now=ASKED)

    assert best.steps == ("run_tests", "build_image", "scan_image", "deploy")  # the failed test was run again
    assert other.steps == then.steps == ("run_tests", "build_image", "deploy")
    assert (other.successes, other.failures, then.failures) == (1, 1, 0)
    assert "this worked: run_tests, then build_image, then scan_image, then deploy" in prompt
    assert [one.steps for one in left] == [other.steps]  # the answer is forgotten, and what it noted
    print("All as expected.")


if __name__ == "__main__":
    main()
