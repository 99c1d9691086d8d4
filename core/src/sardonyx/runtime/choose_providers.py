"""From the `providers` argument to the providers of a session, in order of preference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sardonyx.ep.provider import Provider
from sardonyx.errors import InvalidInput, ProviderError, SardonyxError, foreign
from sardonyx.runtime import discovery

__all__ = ["FLOOR", "choose_providers"]

FLOOR = "cpu"


def choose_providers(
    names: Sequence[Any] | None, options: Sequence[dict[str, Any]] | None, strict: bool
) -> tuple[list[Provider], list[str]]:
    """The providers, and the names of those asked for.

    `names` are names or (name, options) pairs, `options` more options by position; None means every usable provider, by
    priority. The floor comes last unless `strict`. Raises InvalidInput, ProviderError.
    """
    asked: list[tuple[str, dict[str, Any]]] = []
    if isinstance(names, str):
        raise InvalidInput(f"providers is a list, e.g. [{names!r}]")
    if names is None or discovery.HOST_ALIAS in names:
        discovery.warn_of_mistakes()
    for i, item in enumerate(names or ()):
        name, given = item if isinstance(item, (tuple, list)) else (item, {})
        if options is not None and i < len(options):
            given = {**given, **options[i]}
        for state in discovery.find(str(name)):
            asked.append((state.name, dict(given) if state.name == name else {}))
    if names is None:
        asked = [(n, {}) for n in discovery.available()]
    chosen = dict(reversed(asked))
    order = list(dict.fromkeys(n for n, _ in asked))
    if not strict and FLOOR in discovery.available():
        order = [n for n in order if n != FLOOR or names is not None] + ([FLOOR] if FLOOR not in order or names is None else [])
    made = []
    for name in order:
        made.append(_make(name, chosen.get(name, {})))
    return made, list(dict.fromkeys(n for n, _ in asked)) if names is not None else []


def _make(name: str, options: dict[str, Any]) -> Provider:
    info = discovery.find(name)[0].info
    assert info is not None
    checked = info.check_options(options)
    try:
        provider = info.create(checked)
    except SardonyxError:
        raise
    except Exception as e:
        raise foreign(f"provider {name!r}: making it", e, ProviderError) from e
    if not isinstance(provider, Provider):
        raise ProviderError(f"provider {name!r}: its create(options) returned {type(provider).__name__}, not a sardonyx.ep.Provider")
    provider.name = provider.name or name
    return provider
