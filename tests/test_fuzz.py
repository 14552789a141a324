"""A few random programs and tortures; `python -m tests.fuzz` runs thousands."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import differences
from tests.fuzz.reduce import shrink
from tests.fuzz.workers import Task

SEEDS = st.integers(0, 10**6)
FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("kind", ["programs", "torture"])
def test_gradients_of_random_programs(kind, folder):
    task = Task(kind, size=8)

    @FEW
    @given(SEEDS)
    def one(seed):
        source = task.source(seed)
        verdict = task.verdict(source, f"{kind}_{seed}", folder)
        assert verdict.outcome not in ("wrong", "crash"), f"{verdict}\n{source}"

    one()


@pytest.mark.parametrize("kind", ["programs", "torture"])
def test_generated_text_is_deterministic_and_can_be_judged(kind, folder):
    task = Task(kind, plain=True)
    outcomes = []
    for seed in range(30):
        assert task.source(seed) == task.source(seed)
        outcomes.append(task.verdict(task.source(seed), f"plain_{kind}_{seed}", folder).outcome)
    assert outcomes.count("right") >= 27


def test_differences_refuse_to_judge_at_a_kink():
    with pytest.raises(differences.Unjudged):
        differences.gradient(lambda x: abs(x - 1e-3), (0.0,))


def test_reducer_keeps_only_what_fails():
    source = Task("torture").source(3)
    small = shrink(source + "if s:\n    t = abs(np.cumsum(x) * 2)\n", lambda text: "np.cumsum(x)" in text)
    assert small == "t = np.cumsum(x)\n"
