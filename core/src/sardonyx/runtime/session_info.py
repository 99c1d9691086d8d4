"""What a session answers about itself."""

from __future__ import annotations

from sardonyx.ep.provider import Provider
from sardonyx.runtime.explain import Placement
from sardonyx.runtime.model_info import ModelMetadata, NodeArg
from sardonyx.runtime.options import SessionOptions

__all__ = ["SessionInfo"]


class SessionInfo:
    """The questions that every session answers; the session fills in the attributes."""

    _placement: Placement
    _input_args: list[NodeArg]
    _output_args: list[NodeArg]
    _overridable_args: list[NodeArg]
    _meta: ModelMetadata
    _providers: list[Provider]
    _given: SessionOptions

    def explain(self) -> Placement:
        """Where every node runs, and why not elsewhere."""
        return self._placement

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""
        return list(self._input_args)

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return list(self._output_args)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have a default."""
        return list(self._overridable_args)

    def get_modelmeta(self) -> ModelMetadata:
        """What the model file says about itself."""
        return self._meta

    def get_providers(self) -> list[str]:
        """The session's providers, in order of preference."""
        return [p.name for p in self._providers]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider, as text."""
        return {p.name: {k: str(v) for k, v in p.options.items()} for p in self._providers}

    def get_session_options(self) -> SessionOptions:
        """The options the session was made with."""
        return self._given
