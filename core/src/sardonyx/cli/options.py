"""The options that say which providers run a model, and how; and the session they ask for."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from sardonyx.cli import show
from sardonyx.errors import InvalidInput, ProviderError
from sardonyx.runtime import discovery
from sardonyx.runtime.options import LEVELS, GraphOptimizationLevel, SessionOptions
from sardonyx.runtime.session import InferenceSession

__all__ = [
    "INSTALL",
    "Choice",
    "Command",
    "FiniteRange",
    "json_option",
    "listed",
    "model_argument",
    "need_provider",
    "provider_names",
    "session_options",
    "split_names",
]

INSTALL = "pip install sardonyx-ep-cpu (in a checkout: pip install ./ep-cpu)"

THREADS = click.IntRange(0, (1 << 31) - 1)


class FiniteRange(click.FloatRange):
    """A number in a range, neither NaN nor infinite: comparisons with NaN say neither that something differs nor that it is the same."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a mistake in the call if it is none."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Command(click.Command):
    """A command that refuses an option given twice where only one value counts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, after that check."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for p in order:
            if isinstance(p, click.Option) and not (p.multiple or p.is_flag) and order.count(p) > 1:
                raise click.UsageError(f"{p.opts[0]} is given more than once, and takes one value", ctx)
        return super().parse_args(ctx, args)


def listed(*names: str, **kwargs: Any) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """An option whose value is a list between commas, and which may be repeated: the lists together are one. The command gets the
    text, or None where the option is not given."""

    def joined(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> str | None:
        return ",".join(values) if values else None

    return click.option(*names, multiple=True, callback=joined, **kwargs)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json; the command gets it as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")(command)


def model_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument MODEL; the command gets it as `model`."""
    return click.argument("model", metavar="MODEL")(command)


@dataclass(frozen=True)
class Choice:
    """What the options of `session_options` say."""

    ep: str | None
    ep_option: tuple[str, ...]
    strict: bool
    threads: int
    level: str

    @property
    def names(self) -> list[str] | None:
        """The providers asked for, or None for all usable ones."""
        if self.ep is None:
            return None
        return provider_names(self.ep)

    def providers(self) -> list[tuple[str, dict[str, str]]] | None:
        """Names with their options, as a session takes them."""
        given: dict[str, dict[str, str]] = {}
        for text in self.ep_option:
            key, equals, value = text.partition("=")
            name, dot, option = key.partition(".")
            if not (equals and dot and name and option):
                raise InvalidInput(f"--ep-option {text!r} is not of the form PROVIDER.OPTION=VALUE")
            if option in given.setdefault(name, {}):
                raise InvalidInput(f"--ep-option sets {key} twice")
            given[name][option] = value
        names = self.names if self.names is not None else (discovery.available() if given else None)
        unused = given.keys() - set(names or ())
        if unused:
            raise InvalidInput(f"--ep-option names provider {sorted(unused)[0]!r}, which this command does not use")
        return None if names is None else [(n, given.get(n, {})) for n in names]

    def options(self) -> SessionOptions:
        """SessionOptions with the threads, the level and strictness."""
        o = SessionOptions()
        o.intra_op_num_threads = self.threads
        o.strict = self.strict
        o.graph_optimization_level = GraphOptimizationLevel(next(number for number, name in LEVELS.items() if name == self.level))
        return o

    def open(self, model: Any, options: SessionOptions | None = None) -> InferenceSession:
        """A session for `model` (a path or bytes). Raises ProviderError where no provider can be used."""
        if self.ep is None:
            need_provider()
        if self.strict and self.ep is None:
            raise InvalidInput("--strict needs --ep: the providers that may run nodes")
        with show.status(f"loading {model}" if isinstance(model, str) else "loading"):
            return InferenceSession(model, options or self.options(), self.providers())


def need_provider() -> None:
    """Raise ProviderError if no provider can be used here, saying what to install."""
    states = discovery.providers()
    if any(s.usable for s in states):
        return
    if not states:
        raise ProviderError(f"no execution provider is installed; install one, for example: {INSTALL}")
    raise ProviderError("no installed execution provider can be used here: " + "; ".join(f"{s.name}: {s.reason}" for s in states))


OPTIONS = (
    listed("--ep", metavar="NAMES", help="Providers in order of preference, e.g. native,cpu (default: all, by priority)."),
    click.option("--ep-option", multiple=True, metavar="EP.KEY=VALUE", help="An option of a provider; `sardonyx providers -v` lists them."),
    click.option("--strict", is_flag=True, help="Fail if a node cannot run on the providers of --ep."),
    click.option("--threads", type=THREADS, default=0, metavar="N", help="Threads for one operator (0: all usable cores)."),
    click.option("--level", type=click.Choice(["none", "basic", "extended", "all"]), default="all", help="How much to optimize."),
)


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets them as `choice`."""

    @functools.wraps(command)
    def wrapped(*, ep: str | None, ep_option: tuple[str, ...], strict: bool, threads: int, level: str, **kwargs: Any) -> Any:
        return command(choice=Choice(ep, ep_option, strict, threads, level), **kwargs)

    out: Callable[..., Any] = wrapped
    for option in reversed(OPTIONS):
        out = option(out)
    return out


def provider_names(text: str) -> list[str]:
    """What --ep names; InvalidInput if it names nothing."""
    return split_names("--ep", text, "provider; `sardonyx providers` lists them")


def split_names(option: str, text: str, kind: str) -> list[str]:
    """The names between commas that `option` gives; InvalidInput if there are none, or one is there twice."""
    names = [n for n in (part.strip() for part in text.split(",")) if n]
    if not names:
        raise InvalidInput(f"{option} {text!r} names no {kind}")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"{option} names {name!r} twice")
    return names
