"""Questions to a language model: one file per task, its prompt and the check of its answer side by side.

A task is a value that a module such as `segmenting` or `extracting` makes from messages or memories. `LanguageModel.ask`
sends it and gives back a plain value that keeps every rule of the task, or raises `LanguageModelError`: then the caller
does the work by rule. The task modules need pydantic, which comes with the extra ``llm``: import them where they are used.
"""

from mnemic.llm.keys import key_for, store_key
from mnemic.llm.language_model import LanguageModel
from mnemic.llm.task import Task

__all__ = ["LanguageModel", "Task", "key_for", "store_key"]
