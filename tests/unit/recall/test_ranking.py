"""Ranking: selection, neighbours, fusion, signals, recipes and the grade, on pools made by hand and at random."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.recall import evidence, recipes
from mnemic.recall.candidates import Pool, neighbours
from mnemic.recall.evidence import grade, relevances
from mnemic.recall.periods import PeriodAnswers
from mnemic.recall.recipes import RECIPES, SIGNALS, Recipe, own_coverage, recipe_named, score
from mnemic.text import english
from mnemic.vectors import top

RUN = settings(max_examples=100, deadline=None)
SEED = st.integers(0, 2**32 - 1)
DAY = 86_400_000_000


def make_pool(seed, size=None, **values):
    """A pool of random values, each in the range that Pool states."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 30)) if size is None else size
    terms = int(rng.integers(0, 9))
    f4 = np.float32

    def floats(low, high, *shape):
        return rng.uniform(low, high, shape or m).astype(f4)

    days = rng.integers(1, 800_000, m)
    random = {
        "rows": np.sort(rng.choice(1_000, m, replace=False)).astype(np.intp), "dense": floats(-1, 1), "dense_before": floats(-1, 1),
        "dense_session": floats(-1, 1), "dense_reply": floats(-1, 1), "agent": rng.random(m) < 0.5, "assisted": rng.random(m) < 0.5, "echo": rng.random(m) < 0.1, "unanswered": rng.random(m) < 0.1, "bm25": floats(0, 20), "counts": rng.integers(0, 4, (m, 7, terms)).astype(f4),
        "lengths": rng.integers(0, 60, (m, 7)).astype(f4), "in_session": rng.random((m, terms)) < 0.5, "idf": floats(0, 1, terms),
        "mean_length": float(rng.uniform(0, 30)), "speaker": rng.random(m) < 0.3, "traits": rng.integers(0, 64, m).astype(np.int32),
        "query_traits": int(rng.integers(0, 128)), "need": float(rng.uniform(-4, 0)), "days": days,
        "periods": make_periods(rng, days), "names_speaker": bool(rng.random() < 0.5),
        "words": rng.integers(0, 500, m).astype(f4), "times": rng.integers(0, 2 * 10**15, m), "now": int(rng.integers(0, 2 * 10**15)),
        "importance": floats(0, 1), "long_term": rng.integers(0, 2, m).astype(f4), "near": rng.integers(0, 2, m).astype(f4), "graph": floats(0, 1), "mood": floats(0, 1),
    }  # fmt: skip
    return Pool(**(random | values))


def make_periods(rng, days, **values):
    """Random answers of candidates by the periods that a query names."""
    m, starts = len(days), rng.choice(days, int(rng.integers(0, 4)) if len(days) else 0)
    within = rng.choice(np.array([0, 0.5, 1], np.float32), m)
    random = {
        "named": [(int(d), int(d) + int(rng.integers(0, 400))) for d in starts],
        "mentioned": [[(int(d) - 3, int(d) + 3)] if rng.random() < 0.3 else [] for d in days],
        "within": within, "answering": within * np.float32(0.5), "beside": float(rng.uniform(0, 2)),
        "elsewhere": (within == 0) & (rng.random() < 0.2),
    }  # fmt: skip
    return PeriodAnswers(**(random | values))


def part(pool, at):
    """The pool of some of its candidates."""
    kept = {}
    for field in dataclasses.fields(Pool):
        value = getattr(pool, field.name)
        if field.name == "periods":
            mentioned = [value.mentioned[int(i)] for i in at]
            kept[field.name] = dataclasses.replace(
                value,
                mentioned=mentioned,
                within=value.within[at],
                answering=value.answering[at],
                elsewhere=value.elsewhere[at],
            )
        elif isinstance(value, np.ndarray) and field.name != "idf":
            kept[field.name] = value[at]
        else:
            kept[field.name] = value
    return Pool(**kept)


class TestTop:
    @RUN
    @given(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.5]), max_size=40), st.integers(1, 50), SEED)
    def test_it_is_what_sorting_gives(self, values, k, seed):
        scores = np.array(values, np.float32)
        allowed = np.random.default_rng(seed).random(len(scores)) < 0.7
        for above in (-2.0, 0.0):
            rows = [i for i in range(len(scores)) if allowed[i] and scores[i] > above]
            rows.sort(key=lambda i: (-scores[i], i))
            assert top(scores, allowed, k, above=above).tolist() == rows[:k]


class TestNeighbours:
    @RUN
    @given(st.lists(st.integers(0, 2), max_size=25), SEED)
    def test_they_are_the_turns_around(self, groups, seed):
        chains = [[i for i, g in enumerate(groups) if g == group] for group in range(3)]
        np.random.default_rng(seed).shuffle(chains[0])  # the order of time need not be that of rows
        previous, following = np.full(len(groups) + 1, -1, np.int32), np.full(len(groups) + 1, -1, np.int32)
        for chain in chains:
            for here, there in itertools.pairwise(chain):
                following[here], previous[there] = there, here
        found = neighbours(np.arange(len(groups)), previous, following)
        assert found.shape == (len(groups), 7)
        for chain in chains:
            padded = [-1, -1, -1, *chain, -1, -1, -1]
            for place, row in enumerate(chain):
                assert found[row].tolist() == padded[place : place + 7]

    def test_of_nothing(self):
        none = np.array([-1], np.int32)
        assert neighbours(np.empty(0, np.intp), none, none).shape == (0, 7)


class TestFusion:
    def test_rank_fusion_by_hand(self):
        values = {
            "a": np.array([0.9, 0.1, 0.5, 0.0], np.float32),  # ranks 1, 3, 2; the last is not in the list
            "b": np.array([0.0, 2.0, 1.0, -1.0], np.float32),  # ranks -, 1, 2, -
        }
        found = recipes.total(recipes.rank_fusion(values, {"a": 0.5, "b": 0.25}, 60.0))
        by_hand = [0.5 / 61, 0.5 / 63 + 0.25 / 61, 0.5 / 62 + 0.25 / 62, 0.0]
        np.testing.assert_allclose(found, by_hand, rtol=1e-6)

    @RUN
    @given(seed=SEED)
    def test_quality_weighs_the_same_beside_ranks_as_beside_values(self, seed):
        pool = make_pool(seed)
        recipe = Recipe(weights={"dense": 0.5, "bm25": 0.5}, fusion="rrf", quality={"importance": 0.2})
        groups = np.zeros(len(pool), np.int32)
        _, _, parts = score(pool, recipe, groups)
        np.testing.assert_allclose(parts["importance"], 0.2 * pool.importance / 61, rtol=1e-4, atol=1e-7)
        assert parts["importance"].max() <= 0.2 / 61

    def test_rank_fusion_gives_the_lower_row_the_better_rank(self):
        found = recipes.total(recipes.rank_fusion({"a": np.array([1.0, 1.0], np.float32)}, {"a": 1.0}, 0.0))
        assert found.tolist() == [1.0, 0.5]

    def test_sums_by_hand(self):
        values = {"a": np.array([1.0, 3.0, 2.0], np.float32), "same": np.full(3, 7.0, np.float32)}
        weights = {"a": 2.0, "same": 1.0}
        assert recipes.plain_sum(values, weights).tolist() == [9.0, 13.0, 11.0]
        assert recipes.total(recipes.normalized(values, weights)).tolist() == [0.0, 2.0, 1.0]

    def test_spread_by_hand(self):
        scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0], np.float32)
        groups = np.array([1, 0, 1, 0, 1], np.int32)
        found = recipes.spread(scores, groups, 0.5)
        np.testing.assert_allclose(found, [5.0, 4.0, 3.0 - 0.5 * np.log(2), 2.0, 1.0 - 0.5 * np.log(3)], rtol=1e-6)

    @RUN
    @given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=1, max_size=30), st.floats(0, 3))
    def test_spread_against_counting(self, rows, weight):
        scores = np.array([value for value, _ in rows], np.float32)
        groups = np.array([group for _, group in rows], np.int32)
        seen = dict.fromkeys(range(4), 0)
        expected = scores.astype(np.float64)
        for i in sorted(range(len(rows)), key=lambda i: (-scores[i], i)):
            if groups[i]:
                expected[i] -= weight * np.log1p(seen[int(groups[i])])
            seen[int(groups[i])] += 1
        before = scores.copy()
        np.testing.assert_allclose(recipes.spread(scores, groups, weight), expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(scores, before)


# Lowest and highest value that each signal states for a query of up to nine terms.
RANGES = {
    "dense": (-1, 1), "session_dense": (-1, 1), "answers": (-1, 1), "coverage": (0, 3), "bm25": (0, np.inf), "bm25_window": (0, np.inf),
    "date": (0, 1.4), "period": (0, 1), "speaker": (0, 1), "length": (0, 3.3), "question": (0, 1), "cue": (0, 1), "importance": (0, 1),
    "recency": (0, 1), "tier": (0, 1), "level": (0, 1), "graph": (0, 1), "emotion": (0, 1),
    "reply": (-1, 1), "said": (0, 3), "person": (0, 1), "verbosity": (0, np.inf), "echo": (0, 1),
}  # fmt: skip


class TestSignals:
    def test_all_are_listed(self):
        assert set(RANGES) == set(SIGNALS)

    @RUN
    @given(SEED)
    def test_every_signal_is_in_its_stated_range(self, seed):
        pool = make_pool(seed)
        for name, signal in SIGNALS.items():
            values = signal(pool)
            low, high = RANGES[name]
            assert values.shape == (len(pool),), name
            assert np.isfinite(values).all(), name
            assert (values >= low).all(), name
            assert (values <= high + 1e-5).all(), name
        own = own_coverage(pool)
        assert ((own >= 0) & (own <= 1 + 1e-6)).all()

    @RUN
    @given(SEED)
    def test_a_candidate_has_the_same_value_in_any_pool(self, seed):
        pool = make_pool(seed)
        some = np.flatnonzero(np.random.default_rng(seed).random(len(pool)) < 0.6)
        if not len(some):
            return
        for name, signal in SIGNALS.items():
            np.testing.assert_allclose(signal(part(pool, some)), signal(pool)[some], rtol=1e-5, atol=1e-6, err_msg=name)

    def test_coverage_by_hand(self):
        counts = np.zeros((3, 7, 2), np.float32)
        counts[0, 3] = [2, 1]  # both in the turn itself
        counts[1, 2, 0] = 1  # one in the turn before
        pool = make_pool(
            1, 3, counts=counts, idf=np.array([1.0, 0.25], np.float32), in_session=np.array([[1, 1], [1, 1], [0, 1]], bool)
        )  # fmt: skip
        mass = np.sqrt(1.25)
        np.testing.assert_allclose(
            SIGNALS["coverage"](pool), [1.25 / mass, (0.8 + 0.3 * 0.25) / mass, 0.3 * 0.25 / mass], rtol=1e-5
        )
        np.testing.assert_allclose(own_coverage(pool), [1.0, 0.0, 0.0], rtol=1e-5)

    def test_date_by_hand(self):
        days = np.array([100, 110, 90, 103])
        told = make_periods(
            np.random.default_rng(1), days, named=[(100, 103)], mentioned=[[], [], [(50, 60), (102, 102)], []]
        )
        pool = make_pool(1, 4, days=days, periods=told)
        expected = [1.0, np.exp(-0.7), np.exp(-2.0) + 0.4, 1.0]
        np.testing.assert_allclose(SIGNALS["date"](pool), expected, rtol=1e-5)
        assert not SIGNALS["date"](dataclasses.replace(pool, periods=dataclasses.replace(told, named=[]))).any()

    def test_period_by_hand(self):
        told = make_periods(
            np.random.default_rng(1), np.arange(3), within=np.array([1, 0.5, 0], np.float32), beside=0.36
        )
        pool = make_pool(1, 3, periods=told, names_speaker=False, need=-1.0)
        expected = np.exp(-1 - 3.2 * 0.36) * np.array([1.0, 0.5, 0.0])
        np.testing.assert_allclose(SIGNALS["period"](pool), expected, rtol=1e-5)
        of_one = dataclasses.replace(pool, names_speaker=True)
        np.testing.assert_allclose(SIGNALS["period"](of_one), np.exp(-3.2) * expected, rtol=1e-5)

    def test_recency_by_hand(self):
        pool = make_pool(1, 3, now=100 * DAY, times=np.array([100 * DAY, 70 * DAY, 200 * DAY]))
        np.testing.assert_allclose(SIGNALS["recency"](pool), [1.0, 0.5, 1.0])

    def test_bits(self):
        traits = np.array([english.QUESTION | english.ASKS, english.TIME, 0], np.int32)
        pool = make_pool(1, 3, traits=traits, query_traits=english.TIME | english.NAME)
        assert SIGNALS["question"](pool).tolist() == [1, 0, 0]
        assert SIGNALS["cue"](pool).tolist() == [0, 1, 0]


class TestRecipes:
    @pytest.mark.parametrize("weights", [{}, {"magic": 1.0}, {"dense": 1.0, "magic": 1.0}])
    def test_unknown_signals_are_told(self, weights):
        with pytest.raises(InvalidInput, match="signals"):
            Recipe(weights=weights)
        with pytest.raises(InvalidInput, match="signals"):
            Recipe(weights={"dense": 1.0}, quality={"magic": 1.0})

    def test_a_recipe_is_a_value(self):
        weights = {"dense": 1.0}
        recipe = Recipe(weights=weights)
        weights["dense"] = 9.0
        assert recipe.weights["dense"] == 1.0
        with pytest.raises(TypeError):
            recipe.weights["dense"] = 2.0
        with pytest.raises(dataclasses.FrozenInstanceError):
            recipe.spread = 1.0

    def test_names(self):
        assert recipe_named("rrf") is RECIPES["rrf"]
        assert recipe_named(RECIPES["facts"]) is RECIPES["facts"]
        for unknown in ("best", "", None):
            with pytest.raises(InvalidInput, match="recipe"):
                recipe_named(unknown)
        assert all(recipe.fitted for recipe in RECIPES.values())

    @pytest.mark.parametrize("name", sorted(RECIPES))
    @RUN
    @given(seed=SEED)
    def test_scores_are_finite_and_explained(self, name, seed):
        pool, recipe = make_pool(seed), RECIPES[name]
        groups = np.random.default_rng(seed).integers(0, 4, len(pool)).astype(np.int32)
        scores, values, _ = score(pool, recipe, groups)
        assert np.isfinite(scores).all()
        bare, _, parts = score(pool, dataclasses.replace(recipe, spread=0.0), groups)
        np.testing.assert_allclose(sum(parts.values()), bare, rtol=1e-4, atol=1e-4)
        assisted = recipe.assisted if pool.assisted.any() else {}
        assert set(values) == {"dense", "bm25", *recipe.weights, *assisted, *recipe.quality}
        plain, fewer, _ = score(pool, dataclasses.replace(recipe, quality={}), groups)
        assert set(fewer) == {"dense", "bm25", *recipe.weights, *assisted}
        if recipe.fusion == "sum" and not recipe.spread:
            by_hand = sum(weight * values[signal] for signal, weight in recipe.weights.items())
            np.testing.assert_allclose(plain, by_hand, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.fusion == "sum"])
    @RUN
    @given(seed=SEED)
    def test_the_order_of_sums_does_not_depend_on_the_pool(self, name, seed):
        pool = make_pool(seed)
        recipe = dataclasses.replace(RECIPES[name], spread=0.0)
        some = np.flatnonzero(np.random.default_rng(seed).random(len(pool)) < 0.6)
        if not len(some):
            return
        groups = np.zeros(len(pool), np.int32)
        whole, _, _ = score(pool, recipe, groups)
        fewer, _, _ = score(part(pool, some), recipe, groups[some])
        np.testing.assert_allclose(fewer, whole[some], rtol=1e-5, atol=1e-5)

    @RUN
    @given(SEED)
    def test_worse_candidates_move_no_better_one(self, seed):
        """With spread too: what ranks lower in the pool takes nothing from what ranks higher."""
        pool, recipe = make_pool(seed), RECIPES["conversation"]
        groups = np.random.default_rng(seed).integers(0, 3, len(pool)).astype(np.int32)
        bare, _, _ = score(pool, dataclasses.replace(recipe, spread=0.0), groups)
        best = np.sort(np.argsort(-bare, kind="stable")[: max(1, len(pool) // 2)])
        whole, _, _ = score(pool, recipe, groups)
        fewer, _, _ = score(part(pool, best), recipe, groups[best])
        np.testing.assert_allclose(fewer, whole[best], rtol=1e-4, atol=1e-4)


class TestRelevance:
    @RUN
    @given(SEED, st.sampled_from([None, "hashing-256", *evidence.DEFAULT_MODELS]), st.integers(0, 10**9))
    def test_it_is_a_probability(self, seed, model, searched):
        pool = make_pool(seed)
        found = relevances(pool, np.random.default_rng(seed).permutation(len(pool)), model=model, searched=searched)
        assert found.shape == (len(pool),)
        assert ((found >= 0) & (found <= 1 + 1e-6)).all()

    @RUN
    @given(SEED, st.integers(1, 10**6), st.integers(1, 10**6))
    def test_it_falls_with_the_rank_and_with_the_number_of_records(self, seed, one, other):
        pool, model = make_pool(seed), evidence.DEFAULT_MODELS[0]
        order = np.arange(len(pool))
        forward, backward = (relevances(pool, way, model=model, searched=one) for way in (order, order[::-1]))
        first = order < len(pool) / 2 - 0.5
        assert (forward[first] >= backward[first]).all()
        fewer, more = (relevances(pool, order, model=model, searched=n) for n in sorted((one, other)))
        assert (fewer >= more).all()

    def test_other_embedders_count_by_words(self):
        pool = make_pool(5, 20, unanswered=np.arange(20) < 3)
        pool = dataclasses.replace(pool, periods=dataclasses.replace(pool.periods, answering=np.zeros(20, np.float32)))
        found = relevances(pool, np.arange(len(pool)), model="other", searched=9)
        np.testing.assert_array_equal(found[3:], own_coverage(pool)[3:])
        np.testing.assert_array_equal(found[:3], 0)

    def test_of_nothing(self):
        assert not len(relevances(make_pool(1, 0), np.empty(0, np.intp), model=evidence.DEFAULT_MODELS[0], searched=0))


class TestGrade:
    def test_nothing_is_none(self):
        pool = make_pool(1, 0)
        assert grade(pool, np.empty(0, np.intp), model="any") == evidence.Grade("none", 0.0)

    @RUN
    @given(SEED, st.sampled_from([None, "hashing-256", *evidence.DEFAULT_MODELS]))
    def test_a_probability_and_its_word(self, seed, model):
        pool = make_pool(seed)
        order = np.random.default_rng(seed).permutation(len(pool))
        found = grade(pool, order, model=model)
        assert 0 <= found.probability <= 1 + 1e-6
        first = order[~pool.unanswered[order]][:10]
        assisted = len(first) and model in evidence.DEFAULT_MODELS and pool.assisted[first].mean() > 0.5
        word = (
            "none"
            if found.probability < (0.25 if assisted else 0.17)
            else "weak"
            if found.probability < 0.6
            else "strong"
        )
        assert found.evidence == word

    @RUN
    @given(SEED, st.floats(0.01, 0.5))
    def test_higher_cosines_never_lower_it(self, seed, more):
        pool = make_pool(seed)
        order = np.arange(len(pool))
        nearer = dataclasses.replace(pool, dense=pool.dense + np.float32(more))
        model = evidence.DEFAULT_MODELS[0]
        assert grade(nearer, order, model=model).probability >= grade(pool, order, model=model).probability - 1e-6

    @RUN
    @given(SEED, st.integers(1, 400), st.integers(1, 400))
    def test_the_less_is_searched_the_less_it_takes(self, seed, one, other):
        pool = make_pool(seed)
        pool = dataclasses.replace(pool, assisted=np.zeros(len(pool), np.bool_))
        fewer, more = sorted((one, other))
        found, wide = (
            grade(pool, np.arange(len(pool)), model=evidence.DEFAULT_MODELS[0], searched=count).probability
            for count in (fewer, more)
        )
        if wide > 0.001:  # what is hopeless is not stretched into an answer
            assert found >= wide - 1e-6

    @RUN
    @given(SEED, st.sampled_from([None, *evidence.DEFAULT_MODELS]))
    def test_a_day_that_was_written_about_answers_a_question_about_it(self, seed, model):
        rng, one = np.random.default_rng(seed), np.eye(1, 8, dtype=np.float32)[0]
        told = make_periods(
            rng, rng.integers(1, 800_000, 8), within=one, answering=one, beside=0.0, elsewhere=np.zeros(8, np.bool_)
        )
        pool, order = make_pool(seed, 8, periods=told, need=0.0), np.arange(8)
        assert grade(pool, order, model=model).evidence == "strong"
        no_need = dataclasses.replace(pool, need=-4.0)
        assert grade(no_need, order, model=model).probability <= grade(pool, order, model=model).probability

    def test_by_words_alone_where_cosines_are_unknown(self):
        counts = np.zeros((11, 7, 2), np.float32)
        counts[0, 3, 0] = 1
        counts[10, 3] = 1  # the eleventh does not count
        zeros = np.zeros(11, np.float32)
        told = make_periods(np.random.default_rng(1), np.arange(11), within=zeros, answering=zeros, elsewhere=zeros > 0)
        pool = make_pool(1, 11, counts=counts, idf=np.array([0.5, 0.5], np.float32), periods=told)
        assert grade(pool, np.arange(11), model=None).probability == pytest.approx(0.5)
        assert grade(pool, np.arange(11), model="other").evidence == "weak"
        assert grade(pool, np.arange(11)[::-1], model=None).evidence == "strong"
