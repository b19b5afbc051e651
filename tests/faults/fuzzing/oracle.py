"""What a refusal has to be."""

from mnemic import MnemicError


def told(error: Exception) -> None:
    """An error of the declared tree, with something to say that fits on a screen."""
    assert isinstance(error, MnemicError)
    assert 0 < len(str(error)) < 2_000, error
