"""Embeddings from a remote service, through the providers of pydantic-ai."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mnemic import paths
from mnemic.errors import EmbedderError, EmbedderUnavailable, MissingExtra
from mnemic.services import connections
from mnemic.services.connections import Connection, Connections, ErrorTexts, Failure, RetryPolicy, retry, service_name
from mnemic.validation import MAX_CHARACTERS, option, prepared, seconds
from mnemic.vectors import checked

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic_ai.embeddings import Embedder as PydanticEmbedder
    from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings

    from mnemic.protocols import InputKind, Vectors

BLANK = "."  # sent for blank texts, which most services reject


class RemoteEmbedder:
    """Vectors from OpenAI, Ollama, Google, Cohere, Voyage, Bedrock ... Needs ``pip install "mnemic[remote]"``.

    pydantic-ai reads keys from the environment; they are never stored or shown in errors. Requests run on a separate event
    loop in a background thread: it works from blocking code, from several threads, and inside a running loop. Blank texts
    are sent as ``"."``, because services reject empty ones.

    Args:
        model: ``"provider:model"``, or a pydantic-ai `Embedder` or `EmbeddingModel` that nothing else uses.
        dimensions: the dimension of the vectors, for models that support several.
        timeout: seconds for one attempt.
        batch_size: texts per request, 1 to 2,048.
        retries: retries after a transient error (busy, rate limit, connection), 0 to 10.
        backoff: seconds before the first retry, doubled each time; a longer wait requested by the service is respected.
        max_characters: texts are cut to this length; lower it for models with a short context.
        name: the id of the vectors. Default: ``provider:model``, with ``@dimensions`` if they are given.
    """

    def __init__(
        self,
        model: str | PydanticEmbedder | EmbeddingModel,
        *,
        dimensions: int | None = None,
        timeout: float = 30.0,
        batch_size: int = 64,
        retries: int = 3,
        backoff: float = 0.5,
        max_characters: int = MAX_CHARACTERS,
        name: str | None = None,
    ) -> None:
        if paths.wheel_folder("pydantic_ai") is None:
            raise MissingExtra("RemoteEmbedder", "remote")
        inner: Any = getattr(model, "model", model)  # an Embedder holds its model, or the name of it
        service = service_name(inner, "Embedder or EmbeddingModel")
        self._dimensions = None if dimensions is None else option("dimensions", dimensions, 1, 65_536)
        self._dimension = self._dimensions
        self._batch_size = option("batch_size", batch_size, 1, 2048)
        self._max_characters = option("max_characters", max_characters, 1, 10_000_000)
        self._patience = RetryPolicy(
            seconds("timeout", timeout, above=True),
            option("retries", retries, 0, 10),
            seconds("backoff", backoff),
        )
        self._id = name or service + (f"@{dimensions}" if dimensions else "")
        closed = f"The embedder {self._id} was closed. Create a new one."
        self._connections = Connections(lambda: _Connection(model, service), EmbedderUnavailable, closed)

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._id!r})"

    @property
    def id(self) -> str:
        """``provider:model``, with ``@dimensions`` if they were given, or the given name."""
        return self._id

    @property
    def dimension(self) -> int | None:
        """The dimension: as given, or from the first response; None before."""
        return self._dimension

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            InvalidInput: `texts` is not a sequence of strings.
            EmbedderUnavailable: the service cannot be reached after all attempts, or denied access.
            EmbedderError: the service rejected these texts, or its response is invalid.
        """
        cleaned = [text if text.strip() else BLANK for text in prepared(texts, kind, self._max_characters)]
        self._connections.check()
        parts = [cleaned[start : start + self._batch_size] for start in range(0, len(cleaned), self._batch_size)]
        vectors: list[Sequence[float]] = []
        for part in parts:
            answer = checked(self._request(part, kind), len(part), self._dimension)
            self._dimension = answer.shape[1]
            vectors += list(answer)
        return checked(vectors, len(cleaned), self._dimension)

    def close(self) -> None:
        """End running calls with an error, close connections and stop the background thread. May be called twice."""
        self._connections.close()

    def _request(self, texts: list[str], kind: InputKind) -> Sequence[Sequence[float]]:
        settings = cast("EmbeddingSettings", {"dimensions": self._dimensions} if self._dimensions else {})
        return self._connections.run(lambda connection: connection.ask(texts, kind, settings, self._patience))


class _Connection(Connection["PydanticEmbedder"]):
    """The connection to one service."""

    def __init__(self, model: str | PydanticEmbedder | EmbeddingModel, service: str) -> None:
        super().__init__("embedding service", service, EmbedderUnavailable)
        self._model = model

    async def ask(
        self, texts: list[str], kind: InputKind, settings: EmbeddingSettings, patience: RetryPolicy
    ) -> Sequence[Sequence[float]]:
        """One request, retried within `patience`. Runs on the loop."""
        client = await self.client()

        async def request() -> Sequence[Sequence[float]]:
            return (await client.embed(texts, input_type=kind, settings=settings or None)).embeddings

        outcome = await retry(
            request, patience.timeout, patience.waits(), lambda error: classify(error, self.service, self.secrets)
        )
        if isinstance(outcome, Failure):
            raise outcome.error
        return outcome

    async def create_client(self) -> PydanticEmbedder:
        """The embedder of pydantic-ai."""
        from pydantic_ai.embeddings import Embedder, EmbeddingModel, infer_embedding_model
        from pydantic_ai.providers import Provider, infer_provider

        if isinstance(self._model, Embedder):
            return self._model
        if isinstance(self._model, EmbeddingModel):
            return Embedder(self._model)
        providers: list[Provider[Any]] = []

        def provider(name: str) -> Provider[Any]:
            providers.append(infer_provider(name))
            return providers[-1]

        # Let services truncate long texts instead of failing.
        client = Embedder(infer_embedding_model(self._model, provider_factory=provider), settings={"truncate": True})
        for opened in providers:
            await self.opened.enter_async_context(opened)
        return client


_TEXTS: ErrorTexts = {
    "refused": (
        "The embedding service {service} denied access or does not have this model ({label}). "
        "Check the provider's key in the environment, the account, and the model's name."
    ),
    "rejected": (
        "The embedding service {service} rejected these texts ({label}): {detail} "
        "Shorten them with max_characters, or lower batch_size."
    ),
    "transient": (
        "The embedding service {service} did not answer ({label}): {detail} Check the network and "
        "the service, or raise timeout and retries. The texts can be embedded later."
    ),
    "other": "The embedding service {service} failed ({label}): {detail} Check the service.",
}


def classify(error: Exception, service: str, secrets: Collection[str] = ()) -> Failure:
    """Classify an error of a request to `service`; `secrets` are masked in the message."""
    return connections.classify(error, service, _TEXTS, (EmbedderUnavailable, EmbedderError), secrets)
