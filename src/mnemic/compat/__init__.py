"""The interfaces of other memory libraries over a ``Memory``."""
