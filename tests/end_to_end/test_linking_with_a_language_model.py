"""Links of memories that wait for their description: judged by the language model, by rule where it gives no answer."""

import pytest

from mnemic import LanguageModel, Memory
from mnemic.testing.language_models import FaultyModel, ScriptedModel

pytestmark = pytest.mark.filterwarnings("ignore:Without the language model for now:RuntimeWarning")

FIRST = "The bicycle is in the cellar of the house."
SECOND = "The bicycle in the cellar of the house is red."
DESCRIBED = {
    "memories": [
        {"memory": 1, "keywords": ["bicycle"], "tags": ["things"]},
        {"memory": 2, "keywords": ["bicycle"], "tags": ["things"]},
    ]
}


def linked(type, candidate=101):
    return {
        "links": [{"memory": 1, "candidate": candidate, "type": type, "strength": 0.75, "reason": "the same bicycle"}]
    }


def remembered(model):
    memory = Memory(":memory:", user="ana", embedder="hashing", llm=model)
    first, second = memory.remember(FIRST), memory.remember(SECOND)
    memory.process()
    return memory, first.id, second.id


def test_the_model_says_how_two_memories_are_related():
    model = ScriptedModel({"enrich": DESCRIBED, "link": linked("references")})
    memory, first, second = remembered(model)
    with memory:
        (link,) = memory.links.graph(second).links
        assert (link.source, link.target, link.type, link.strength) == (second, first, "references", 0.75)
        assert link.reason == "the same bicycle"
        assert memory.stats().llm.stages["link"].calls == 1  # the first one has nothing before it
        assert memory.process().messages == 0
        assert memory.stats().llm.stages["link"].calls == 1


def test_what_the_model_says_is_replaced_ends():
    model = ScriptedModel({"enrich": DESCRIBED, "link": linked("supersedes")})
    memory, first, second = remembered(model)
    with memory:
        assert memory.get(first).expired_at is not None
        assert memory.get(second).expired_at is None


def test_an_invented_candidate_is_no_link():
    model = ScriptedModel({"enrich": DESCRIBED, "link": linked("references", candidate=107)})
    memory, _, second = remembered(model)
    with memory:
        assert memory.links.graph(second).links == ()


def test_without_an_answer_the_rules_decide():
    plan = "We decided to use PostgreSQL for the order service."
    done = "Migrated the order service to PostgreSQL in db.py."
    named = {"category": "architecture_decision", "entities": ["PostgreSQL"]}
    described = {"memories": [{**memory, **named} for memory in DESCRIBED["memories"]]}
    script = {"enrich": described, "link": linked("references")}
    for model in (None, LanguageModel(FaultyModel("500", script, times=None, stages={"link"}), retries=0)):
        with Memory(":memory:", user="ana", embedder="hashing", llm=model) as memory:
            memory.remember(plan)
            second = memory.remember(done)
            memory.process()
            (link,) = memory.links.graph(second.id).links
            assert link.type == "implements"
            assert link.reason != "the same bicycle"
