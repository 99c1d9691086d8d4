"""Model files with broken bytes."""

from __future__ import annotations

import random

__all__ = ["mutate_bytes"]

VARINTS = (
    b"\x00",
    b"\x7f",
    b"\xff\x01",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\xff" * 9 + b"\x01",
    b"\xff" * 11,
)


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """`data` after one to four changes: bits and bytes, runs removed, doubled, moved or zeroed, numbers, the end cut off."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not out:
            break
        rng.choice(CHANGES)(out, rng)
    return bytes(out)


def _at(out: bytearray, rng: random.Random) -> int:
    return rng.randrange(len(out))


def _flip(out: bytearray, rng: random.Random) -> None:
    out[_at(out, rng)] ^= 1 << rng.randrange(8)


def _byte(out: bytearray, rng: random.Random) -> None:
    out[_at(out, rng)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _step(out: bytearray, rng: random.Random) -> None:
    at = _at(out, rng)
    out[at] = (out[at] + rng.choice((-1, 1))) & 255


def _cut(out: bytearray, rng: random.Random) -> None:
    del out[_at(out, rng) :]


def _remove(out: bytearray, rng: random.Random) -> None:
    at = _at(out, rng)
    del out[at : at + rng.randrange(1, 24)]


def _double(out: bytearray, rng: random.Random) -> None:
    at = _at(out, rng)
    out[at:at] = out[at : at + rng.randrange(1, 64)]


def _move(out: bytearray, rng: random.Random) -> None:
    at, to = _at(out, rng), _at(out, rng)
    size = rng.randrange(1, 32)
    out[to : to + size] = out[at : at + size]


def _zeros(out: bytearray, rng: random.Random) -> None:
    at = _at(out, rng)
    size = min(rng.randrange(1, 16), len(out) - at)
    out[at : at + size] = bytes(size)


def _number(out: bytearray, rng: random.Random) -> None:
    at = _at(out, rng)
    out[at : at + rng.randrange(2)] = rng.choice(VARINTS)


CHANGES = (_flip, _flip, _byte, _byte, _step, _step, _cut, _remove, _double, _move, _zeros, _number)
