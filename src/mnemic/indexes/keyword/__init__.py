"""Search by words."""

from mnemic.indexes.keyword.fts5 import Fts5Index
from mnemic.indexes.keyword.rank_bm25 import RankBM25Index

__all__ = ["Fts5Index", "RankBM25Index"]
