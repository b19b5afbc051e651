"""What every store of a record promises: classes of tests that each engine runs."""

from tests.stores.suite.erasure import ErasureSuite
from tests.stores.suite.stores import StoreSuite

__all__ = ["ErasureSuite", "StoreSuite"]
