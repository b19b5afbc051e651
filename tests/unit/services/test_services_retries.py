import pytest

from mnemic.errors import InvalidInput, MnemicError
from mnemic.services.connections import LONGEST_WAIT, Failure, RetryPolicy, retry


class Service:
    """Fails with each of `errors` in turn, then answers; remembers how long it was waited for."""

    def __init__(self, *errors):
        self.errors, self.waits = list(errors), []

    async def request(self):
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def sleep(self, seconds):
        self.waits.append(seconds)

    async def ask(self, patience, wait=0.0, waits=None):
        def judge(error):
            return Failure(MnemicError(str(error)), "transient" if isinstance(error, OSError) else "other", wait)

        return await retry(self.request, patience.timeout, waits or patience.waits(), judge, sleep=self.sleep)


async def test_waits_double():
    service = Service(OSError(), OSError(), OSError())
    assert await service.ask(RetryPolicy(5, 3, 0.5)) == "answer"
    assert service.waits == [0.5, 1.0, 2.0]


async def test_what_is_left_of_the_waits_serves_the_next_request():
    service, patience = Service(OSError(), KeyError(), OSError(), OSError("left")), RetryPolicy(5, 2, 0.5)
    waits = patience.waits()
    await service.ask(patience, waits=waits)
    outcome = await service.ask(patience, waits=waits)
    assert str(outcome.error) == "left"
    assert service.waits == [0.5, 1.0]


async def test_jitter_only_shortens_and_never_the_wait_asked_for():
    service = Service(*[OSError()] * 10)
    assert await service.ask(RetryPolicy(5, 10, 1, jitter=0.5)) == "answer"
    assert all(2**n / 2 <= wait <= 2**n for n, wait in enumerate(service.waits))
    assert len({wait / 2**n for n, wait in enumerate(service.waits)}) > 1
    asked = Service(OSError())
    await asked.ask(RetryPolicy(5, 1, 0.1, jitter=0.5), wait=7)
    assert asked.waits == [7]


async def test_the_last_failure_comes_back_when_patience_ends():
    service = Service(OSError("one"), OSError("two"), OSError("three"))
    outcome = await service.ask(RetryPolicy(5, 1, 0))
    assert str(outcome.error) == "two"
    assert service.waits == [0]


@pytest.mark.parametrize(("error", "wait"), [(KeyError("odd"), 0), (OSError(), LONGEST_WAIT + 1)])
async def test_what_will_not_pass_soon_is_not_tried_again(error, wait):
    service = Service(error)
    assert isinstance(await service.ask(RetryPolicy(5, 3, 0), wait=wait), Failure)
    assert service.waits == []


async def test_errors_of_ones_own_go_through():
    with pytest.raises(InvalidInput):
        await Service(InvalidInput("wrong")).ask(RetryPolicy(5, 3, 0))
