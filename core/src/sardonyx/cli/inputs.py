"""The options that say what is fed to a model, and the feeds they give: files, literals, the rest random."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from sardonyx.cli import show
from sardonyx.cli.options import listed
from sardonyx.cli.read_values import Target, read_all, read_value
from sardonyx.errors import InvalidInput
from sardonyx.runtime.session import InferenceSession, NodeArg
from sardonyx.tools.random_values import random_value

__all__ = ["Inputs", "bind_dims", "input_options", "parse_dims"]


@dataclass(frozen=True)
class Inputs:
    """What the options of `input_options` say."""

    given: tuple[str, ...]
    dims: str | None
    seed: int
    max_int: int
    mean: str
    std: str
    quiet: bool

    def feeds(self, session: InferenceSession) -> dict[str, Any]:
        """A value for every input: what was given, else random by the declared type and shape. Says on stderr what is
        random. Raises InvalidInput for a wrong name, file or dimension."""
        needed = session.get_inputs()
        known = {a.name: a for a in (*needed, *session.get_overridable_initializers())}
        dims = parse_dims(self.dims)
        _check_dims(dims, list(known.values()))
        feeds = self._read(known, needed, dims)
        for name, value in feeds.items():
            _learn(dims, known[name], value)
        rng = np.random.default_rng(self.seed)
        free: dict[str, int] = {}
        for arg in needed:
            if arg.name in feeds or arg.type.startswith("optional("):
                continue
            shape = bind_dims(arg, dims, free)
            feeds[arg.name] = random_value(arg, shape, rng, self.max_int)
            if not self.quiet:
                show.note(f"input {arg.name!r} is random, {arg.type}{show.shape_text(shape)}; --input {arg.name}=FILE gives it")
        if free and not self.quiet:
            show.note("free dimensions taken as 1: " + ", ".join(free) + f" (--dims {next(iter(free))}=N)")
        return feeds

    def _read(self, known: dict[str, NodeArg], needed: list[NodeArg], dims: dict[str, int]) -> dict[str, Any]:
        mean, std = _numbers("--mean", self.mean), _numbers("--std", self.std)
        feeds: dict[str, Any] = {}
        for text in self.given:
            name, equals, source = text.partition("=")
            values: dict[str, Any]
            if equals and name in known:
                values = {name: read_value(source, Target(known[name], dims, mean, std))}
            elif equals and not name.endswith((".npy", ".npz", ".pb", ".png", ".jpg")):
                raise InvalidInput(f"the model has no input {name!r}; its inputs are: {', '.join(known) or 'none'}")
            elif text.endswith(".npz"):
                values = _all_known(read_all(text), known, text)
            elif len(needed) == 1:
                values = {needed[0].name: read_value(text, Target(needed[0], dims, mean, std))}
            else:
                raise InvalidInput(f"--input {text}: say which input it is, NAME={text}; the inputs are: {', '.join(known)}")
            twice = next((n for n in values if n in feeds), None)
            if twice is not None:
                raise InvalidInput(f"--input {text}: input {twice!r} has a value already, from an --input before")
            feeds |= values
        return feeds


def _all_known(values: dict[str, np.ndarray], known: dict[str, NodeArg], path: str) -> dict[str, np.ndarray]:
    unknown = [n for n in values if n not in known]
    if unknown:
        raise InvalidInput(f"{path} holds {unknown[0]!r}, which is no input of the model; its inputs are: {', '.join(known) or 'none'}")
    return values


def parse_dims(text: str | None, option: str = "--dims", forms: str = "NAME=SIZE, INPUT.AXIS=SIZE or *=SIZE") -> dict[str, int]:
    """`batch=1,x.2=320` as a dict; `forms` says what the option takes. InvalidInput for another form, and for a name given twice."""
    dims: dict[str, int] = {}
    for part in text.split(",") if text else ():
        name, _, value = part.rpartition("=")
        if not name or not value.strip().isdecimal():
            raise InvalidInput(f"{option} {part!r} is not of the form {forms}")
        size, name = int(value), name.strip()
        if name in dims:
            raise InvalidInput(f"{option} sets {name!r} twice, to {dims[name]} and {size}")
        if size >= 1 << 63:
            raise InvalidInput(f"{option} {part!r}: no dimension is as large as {size}")
        dims[name] = size
    return dims


def _free(arg: NodeArg) -> dict[str, str]:
    """The free dimensions of an input: `input.axis` -> symbol or ''."""
    return {f"{arg.name}.{i}": d or "" for i, d in enumerate(arg.shape) if not isinstance(d, int)}


def _check_dims(dims: dict[str, int], args: list[NodeArg]) -> None:
    free: dict[str, str] = {}
    for arg in args:
        free |= _free(arg)
    valid = {"*", *free, *free.values()}
    for name in dims:
        if name not in valid:
            names = list(dict.fromkeys(symbol or place for place, symbol in free.items()))
            raise InvalidInput(f"--dims: no free dimension is called {name!r}; free are: {', '.join(names) or 'none'}")


def _learn(dims: dict[str, int], arg: NodeArg, value: Any) -> None:
    """Symbols take the sizes of the arrays that were given."""
    if isinstance(value, np.ndarray) and len(value.shape) == len(arg.shape):
        for symbol, size in zip(arg.shape, value.shape, strict=True):
            if isinstance(symbol, str):
                dims.setdefault(symbol, size)


def bind_dims(arg: NodeArg, dims: dict[str, int], free: dict[str, int] | None = None) -> list[int]:
    """The shape of an input with its free dimensions bound; those nobody binds are 1 and noted in `free`."""
    shape = []
    for i, d in enumerate(arg.shape):
        if isinstance(d, int):
            shape.append(d)
            continue
        place = f"{arg.name}.{i}"
        size = next((dims[key] for key in (place, d, "*") if key in dims), None)
        if size is None and free is not None:
            free[d or place] = 1
        shape.append(1 if size is None else size)
    return shape


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")] if text else []
    except ValueError:
        raise InvalidInput(f"{option} {text!r} is not a list of numbers such as 0.485,0.456,0.406") from None


OPTIONS = (
    click.option(
        "--input", "-i", "given", multiple=True, metavar="NAME=FILE", help="npy, npz, pb, a picture, or a literal such as 16000 or [1,2]."
    ),
    click.option("--random", "quiet", is_flag=True, help="Inputs that are not given are random: do not mention it."),
    click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of random inputs."),
    listed("--dims", metavar="NAME=N,...", help="Sizes of free dimensions, e.g. batch=1,x.2=320 or *=1."),
    click.option("--max-int", type=click.IntRange(min=1), default=2, metavar="N", help="Random integers are below N (default 2)."),
    click.option("--mean", default="", metavar="A,B,C", help="Subtracted from a picture's channels, which run from 0 to 1."),
    click.option("--std", default="", metavar="A,B,C", help="What the channels are then divided by."),
)


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets them as `inputs`."""

    @functools.wraps(command)
    def wrapped(
        *, given: tuple[str, ...], dims: str | None, seed: int, max_int: int, mean: str, std: str, quiet: bool, **kwargs: Any
    ) -> Any:
        return command(inputs=Inputs(given, dims, seed, max_int, mean, std, quiet), **kwargs)

    out: Callable[..., Any] = wrapped
    for option in reversed(OPTIONS):
        out = option(out)
    return out
