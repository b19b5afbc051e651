"""How the texts of a store become vectors: which fields, which model, and what to do when it is not to be had."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from langchain_core.embeddings import Embeddings
from langgraph.store.base import ensure_embeddings, get_text_at_path, tokenize_path

from langchain_mnemic.store.ranking import clean, unit_rows
from mnemic import ConfigurationError, Embedder, EmbedderError, EmbedderUnavailable, OnnxEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["Index", "MnemicIndex", "Vectorised", "index_of"]

logger = logging.getLogger(__name__)

LARGEST = 1.001
"""What a number of a unit vector cannot exceed; what is no number at all exceeds it too."""

_KNOWN = ("dims", "embed", "fields")


class MnemicIndex(TypedDict, total=False):
    """LangGraph's ``IndexConfig``, where ``embed`` may also be an embedder of Mnemic, and ``dims`` may be left out.

    ``fields`` names what of a value is searched, as paths such as ``"text"`` or ``"notes[*].body"``; default: all of it.
    """

    dims: int
    embed: Any
    fields: list[str] | None


@dataclass(frozen=True, slots=True)
class Vectorised:
    """The vectors of the texts and of the questions of a batch; a text without one is found by its words."""

    texts: Mapping[str, Vectors]
    questions: Mapping[str, Vectors]


class _Local(Embeddings):
    """An embedder of Mnemic where LangChain expects its own. The asynchronous forms run these in worker threads."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embedder.embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embedder.embed([text], kind="query")[0].tolist()


@dataclass(frozen=True, slots=True)
class Index:
    """What a store is searched by.

    Attributes:
        embeddings: the model, or None for a store that is searched by words only.
        name: of the model where it has one, else ``"custom"``; kept in the file beside the vectors.
        dims: how long a vector must be, if that was said.
        fields: paths into a value, each with its tokens.
    """

    embeddings: Embeddings | None
    name: str
    dims: int | None
    fields: tuple[tuple[str, Any], ...]

    def texts_of(self, value: Mapping[str, Any], fields: Literal[False] | Sequence[str] | None) -> list[str]:
        """The texts an item is found by; ``fields`` are those of one ``put``, None for the store's."""
        if fields is False:
            return []
        paths = self.fields if fields is None else tuple((path, _tokens(path)) for path in fields)
        found = (clean(text) for _, tokens in paths for text in get_text_at_path(dict(value), tokens))
        return [*dict.fromkeys(text for text in found if text.strip())]

    def documents(self, texts: Sequence[str]) -> Vectors:
        """One unit row for each text.

        Raises:
            EmbedderError: there is no model, it cannot be had, or gives something that cannot be used.
        """
        if self.embeddings is None:
            raise EmbedderError("There is no model: the index is None.")
        return self._checked(len(texts), self.embeddings.embed_documents([*texts]))

    def vectors(self, texts: Sequence[str], questions: Sequence[str]) -> Vectorised:
        """The vectors of a batch; none of them when the model is not to be had at present.

        Raises:
            EmbedderError: the model gives something that cannot be used.
        """
        model = self.embeddings
        if model is None or not (texts or questions):
            return Vectorised({}, {})
        try:
            documents = model.embed_documents([*texts]) if texts else []
            return self._paired(texts, documents, questions, [model.embed_query(q) for q in questions])
        except EmbedderUnavailable:
            return self._without()

    async def avectors(self, texts: Sequence[str], questions: Sequence[str]) -> Vectorised:
        """See ``vectors``."""
        model = self.embeddings
        if model is None or not (texts or questions):
            return Vectorised({}, {})
        try:
            documents = await model.aembed_documents([*texts]) if texts else []
            asked = await asyncio.gather(*(model.aembed_query(q) for q in questions))
            return self._paired(texts, documents, questions, asked)
        except EmbedderUnavailable:
            return self._without()

    def _without(self) -> Vectorised:
        logger.warning("The embedder cannot be had: words only. Items put meanwhile get their vectors by reindex().")
        return Vectorised({}, {})

    def _paired(
        self,
        texts: Sequence[str],
        documents: Sequence[Sequence[float]],
        questions: Sequence[str],
        asked: Sequence[Sequence[float]],
    ) -> Vectorised:
        split = len(texts)
        made = self._checked(split + len(questions), [*documents, *asked])
        return Vectorised(dict(zip(texts, made[:split], strict=True)), dict(zip(questions, made[split:], strict=True)))

    def _checked(self, wanted: int, given: Sequence[Sequence[float]]) -> Vectors:
        """Unit rows, as many as wanted."""
        sizes = {len(row) for row in given} | {*filter(None, [self.dims])}
        if len(given) != wanted or len(sizes) != 1:
            raise EmbedderError(
                f"The embedder gave {len(given)} vectors for {wanted} texts, of lengths {sorted(sizes)} (dims={self.dims}). "
                "Nothing was stored."
            )
        made = unit_rows(given)
        if not bool((abs(made) <= LARGEST).all()):
            raise EmbedderError("The embedder gave vectors that are not finite numbers. Nothing was stored.")
        return made


def _tokens(path: str) -> Any:
    return path if path == "$" else tokenize_path(path)


def index_of(given: Mapping[str, Any] | Literal["local"] | None) -> Index:
    """The index that was asked for.

    Raises:
        ConfigurationError: it is not understood.
    """
    if given == "local":
        given = {"embed": OnnxEmbedder()}
    config = {"embed": None} if given is None else {**given} if isinstance(given, Mapping) else {}  # pyright: ignore[reportUnnecessaryIsInstance]
    if "embed" not in config or (given is not None and config["embed"] is None):
        raise ConfigurationError(
            f'index must be "local", None, or a mapping with "embed", not {given!r:.80}. '
            '"local" searches with a model on this machine, None by words only.'
        )
    if unknown := sorted({*config} - {*_KNOWN} - {name for name in config if name.startswith("__")}):
        raise ConfigurationError(f"index knows {[*_KNOWN]}, not {unknown}.")
    fields = tuple((path, _tokens(path)) for path in config.get("fields") or ["$"])
    embed = config["embed"]
    if embed is None:
        return Index(None, "", None, fields)
    if isinstance(embed, Embedder) and not isinstance(embed, Embeddings):
        return Index(_Local(embed), embed.id, config.get("dims"), fields)
    return Index(ensure_embeddings(embed), "custom", config.get("dims"), fields)
