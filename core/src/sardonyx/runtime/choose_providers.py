"""From the `providers` argument to the providers of a session, in order of preference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sardonyx.ep.provider import Provider
from sardonyx.errors import InvalidInput, InvalidType, ProviderError, SardonyxError, foreign
from sardonyx.runtime import arguments, discovery

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
    pairs = _pairs(names, options)
    if names is None or any(name == discovery.HOST_ALIAS for name, _ in pairs):
        discovery.warn_of_mistakes()
    for name, given in pairs:
        for state in discovery.find(name):
            asked.append((state.name, given if state.name == name else {}))
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


def _pairs(names: Any, options: Any) -> list[tuple[str, dict[str, Any]]]:
    """(name, options) of each provider that the arguments of a session name."""
    if names is None:
        if options:
            raise InvalidInput("provider_options are for the providers named in providers=, which names none")
        return []
    if isinstance(names, str):
        raise InvalidType(f"providers is a list, e.g. [{names!r}]")
    form = "a list of names or (name, options) pairs, in order of preference"
    items: list[Any] = list(arguments.instance("providers", names, (list, tuple), form))
    more: list[Any] = list(arguments.instance("provider_options", () if options is None else options, (list, tuple), "a list of dicts"))
    if len(more) > len(items):
        raise InvalidInput(f"provider_options has {len(more)} entries for {len(items)} providers: one for each")
    pairs: list[tuple[str, dict[str, Any]]] = []
    more += [{}] * (len(items) - len(more))
    for item, extra in zip(items, more, strict=True):
        name, given = item if isinstance(item, (tuple, list)) and len(item) == 2 else (item, {})
        if not isinstance(name, str):
            raise InvalidType(f"providers is {form}, e.g. ['cpu'] or [('cpu', {{}})]; {arguments.shown(item)} is neither")
        settings: dict[str, Any] = {}
        for part in (given, extra):
            settings |= arguments.instance(f"the options of provider {name!r}", part, Mapping, "a dict of option -> value")
        if any(name == other and settings != before for other, before in pairs):
            raise InvalidInput(f"providers names {name!r} twice, with different options")
        pairs.append((name, settings))
    return pairs


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
