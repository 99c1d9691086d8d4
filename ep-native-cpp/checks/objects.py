"""What the compiled engine must not have, read off its machine code.

    python checks/objects.py BUILD_FOLDER

1. Instructions outside of a plain x86-64 (VEX and EVEX encodings: AVX, FMA, BMI) in functions outside of an instruction set's
   namespace: they would run on any machine.
2. Symbols of a kernel's object that the linker could merge with another instruction set's: whatever is not local and not in
   the namespace.
3. Vector registers spilled to the stack in the innermost loops of products in gemm and conv.

The build folder is CMake's, its extension not stripped. Needs objdump, nm and c++filt (binutils).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NAMESPACES = ("baseline", "avx2", "avx512", "avx512_vnni")
WIDE = frozenset(NAMESPACES[1:])
PREFIXES = frozenset({"26", "2e", "36", "3e", "64", "65", "67"})
VEX = frozenset({"c4", "c5", "62"})
# Maps and transforms, not products: their constants, or the 36 vectors of a tile, are more than the registers.
NO_PRODUCTS = frozenset({"activate.cc.o", "norm.cc.o", "winograd.cc.o", "winograd_weights.cc.o"})

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t(.*)$")
_JUMP = re.compile(r"^(?:bnd )?(j\w+)\s+([0-9a-f]+)\b")
_PRODUCT = re.compile(r"^(vf(n?m)(add|sub)\w*p[sd]|mulp[sd]|vmulp[sd]|vpdp\w+|vdpbf16ps|pmaddwd|vpmaddwd)\b")
_VECTOR = re.compile(r"%[xyz]mm")


@dataclass
class Instruction:
    """One instruction: its address, its bytes in hex, its text."""

    address: int
    code: list[str]
    text: str

    @property
    def is_vex(self) -> bool:
        """Whether it is VEX or EVEX encoded. Both begin with a byte that is no instruction of 64-bit code otherwise."""
        return next((b for b in self.code if b not in PREFIXES), "") in VEX


@dataclass
class Function:
    """A function's mangled name and its instructions."""

    name: str
    body: list[Instruction] = field(default_factory=list)

    @property
    def namespace(self) -> str | None:
        """The instruction set in whose namespace it lies."""
        return namespace_of(self.name)

    def innermost_loops(self) -> Iterator[list[Instruction]]:
        """Stretches closed by a backward jump that run through: without a return, a jump away or a smaller loop inside."""
        start = self.body[0].address if self.body else 0
        jumps = [(m[1], i.address, int(m[2], 16)) for i in self.body if (m := _JUMP.match(i.text))]
        spans = [(to, at) for _, at, to in jumps if start <= to <= at]
        for low, high in spans:
            inside = [i for i in self.body if low <= i.address <= high]
            leaves = any(kind == "jmp" and low <= at < high and not low <= to <= high for kind, at, to in jumps)
            returns = any(i.text.startswith("ret") for i in inside)
            nested = any((a, b) != (low, high) and low <= a and b <= high for a, b in spans)
            if not (leaves or returns or nested):
                yield inside


def namespace_of(name: str) -> str | None:
    """The instruction set whose namespace sx::ISA holds a mangled name: a function, variable, table of a class, or local of one."""
    m = re.match(r"^_Z(?:T[VIST]|GV)?Z*N[KVr]*2sx(\d+)", name)
    if m is None:
        return None
    found = name[m.end() : m.end() + int(m[1])]
    return found if found in NAMESPACES else None


def functions(file: Path) -> Iterator[Function]:
    """The functions of an object or a library with symbols."""
    current: Function | None = None
    for line in _run("objdump", "-dw", str(file)):
        if head := _FUNCTION.match(line):
            if current is not None:
                yield current
            current = Function(head[1])
        elif current is not None and (m := _INSTRUCTION.match(line)):
            current.body.append(Instruction(int(m[1], 16), m[2].split(), m[3].strip()))
    if current is not None:
        yield current


def wide_code_outside(found: Iterable[Function]) -> Iterator[str]:
    """Check 1, one line per function."""
    for f in found:
        if f.namespace in WIDE:
            continue
        vex = [i for i in f.body if i.is_vex]
        if vex:
            yield f"{f.name}: {len(vex)} instructions of AVX or its kin outside of an instruction set's namespace, the first: {vex[0].text}"


def shared_symbols(file: Path, isa: str) -> Iterator[str]:
    """Check 2 for one object of an instruction set."""
    for line in _run("nm", "--defined-only", str(file)):
        kind, name = line.split()[1:3]
        if not (kind.islower() and kind not in "uvw") and namespace_of(name) != isa:
            yield f"{file.name} ({isa}): symbol {name} ({kind}) is outside of sx::{isa} and could serve another instruction set"


def spills(found: Iterable[Function], least: int = 4) -> Iterator[str]:
    """Check 3: innermost loops of at least `least` products that move vector registers to or from the stack."""
    for f in found:
        frame = any(i.text.split() == ["mov", "%rsp,%rbp"] for i in f.body)
        stack = re.compile(r"\(%r[sb]p[,)]" if frame else r"\(%rsp[,)]")
        for loop in f.innermost_loops():
            products = sum(bool(_PRODUCT.match(i.text)) for i in loop)
            moved = [i for i in loop if stack.search(i.text) and _VECTOR.search(i.text)]
            if products >= least and moved:
                where = f"the loop at +{loop[0].address - f.body[0].address:#x} ({products} products in {len(loop)} instructions)"
                yield f"{f.name}: {where} spills {len(moved)} times, the first: {moved[0].text}"


def check(build: Path) -> list[str]:
    """Every finding in a build folder. Raises FileNotFoundError where there is no extension or no object."""
    library = next(iter(sorted(build.glob("_native*.so"))), None)
    if library is None:
        raise FileNotFoundError(f"{build} has no _native*.so")
    objects = {isa: sorted(build.glob(f"CMakeFiles/kernels_{isa}.dir/**/*.o")) for isa in NAMESPACES}
    if not objects["baseline"]:
        raise FileNotFoundError(f"{build} has no objects of kernels")
    compiled = list(functions(library))
    if not any(f.namespace for f in compiled):
        raise FileNotFoundError(f"{library} is stripped: its functions have no names")
    findings = list(wide_code_outside(compiled))
    for isa, files in objects.items():
        for file in files:
            findings += shared_symbols(file, isa)
            if file.parent.name in ("gemm", "conv") and file.name not in NO_PRODUCTS:
                findings += (f"{isa}: {line}" for line in spills(functions(file)))
    return [_demangle(line) for line in findings]


def _demangle(line: str) -> str:
    return subprocess.run(["c++filt"], input=line, capture_output=True, text=True, check=True).stdout.rstrip("\n")


def _run(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main(arguments: Sequence[str]) -> int:
    """The command: 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="CMake's build folder, with _native*.so and its objects")
    findings = check(parser.parse_args(arguments).build)
    print("\n".join(findings) or "the objects are fine")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
