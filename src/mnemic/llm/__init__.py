"""Language model tasks: one file per task, with its prompt and the validation of its answer.

A task is a value that a module such as `segmentation` or `extraction` makes from messages or memories.
`LanguageModel.ask` sends it and returns a valid answer, or raises `LanguageModelError`: then the caller falls back to
rules. The task modules need pydantic from the extra ``llm``: import them where they are used.
"""

from mnemic.llm.language_model import LanguageModel

__all__ = ["LanguageModel"]
