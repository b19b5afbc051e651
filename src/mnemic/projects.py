"""Where a project begins, what it is called and what it is about."""

__all__: list[str] = []
