"""The checker of machine code, on objects made to be wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))
from checks import objects

AVX2 = ("-O3", "-mavx2", "-mfma")
ADD = "void add(float* x) { for (int i = 0; i < 64; i++) x[i] += 1; }"


def product(accumulators: int) -> str:
    """A sum of products over k of so many vectors of 8 floats."""
    return f"""
    typedef float vf __attribute__((vector_size(32), aligned(4)));
    void product(const float* a, const vf* b, long k, vf* out) {{
      vf acc[{accumulators}];
    #pragma GCC unroll 32
      for (int v = 0; v < {accumulators}; v++) acc[v] = out[v];
    #pragma GCC unroll 1
      for (long i = 0; i < k; i++, b += {accumulators})
    #pragma GCC unroll 32
        for (int v = 0; v < {accumulators}; v++) acc[v] += b[v] * a[i];
    #pragma GCC unroll 32
      for (int v = 0; v < {accumulators}; v++) out[v] = acc[v];
    }}"""


def inside(isa: str, source: str) -> str:
    """The source in the namespace of an instruction set."""
    return f"namespace sx {{ namespace {isa} {{\n{source}\n}} }}"


@pytest.fixture
def compiled(tmp_path):
    """compiled(source, flags, to): an object; `to` is its path in the folder."""

    def of(source: str, flags: tuple[str, ...] = (), to: str = "a.o") -> Path:
        file = tmp_path / to
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.with_suffix(".cc")
        text.write_text(source)
        subprocess.run(["g++", "-c", "-fPIC", "-fvisibility=hidden", *flags, "-o", str(file), str(text)], check=True)
        return file

    return of


@pytest.fixture
def build(compiled, tmp_path):
    """build(engine, kernels, link flags): a build folder with one baseline and one avx2 object."""

    def of(engine: str = ADD, gemm: str = product(4), *link: str) -> Path:
        parts = [
            compiled(engine, ("-O2",), "engine.o"),
            compiled(inside("baseline", ADD), ("-O3",), "CMakeFiles/kernels_baseline.dir/csrc/kernels/rows/add.cc.o"),
            compiled(gemm, AVX2, "CMakeFiles/kernels_avx2.dir/csrc/kernels/gemm/gemm.cc.o"),
        ]
        subprocess.run(["g++", "-shared", *link, "-o", str(tmp_path / "_native.so"), *map(str, parts)], check=True)
        return tmp_path

    return of


@pytest.mark.parametrize(
    ("name", "isa"),
    [
        ("_ZN2sx4avx24gemmERKNS_4GemmE", "avx2"),
        ("_ZN2sx4avx2L4tileILi6ELi2EEEvl", "avx2"),
        ("_ZNK2sx6avx5124Rows3runEv", "avx512"),
        ("_ZN2sx11avx512_vnni5tableE", "avx512_vnni"),
        ("_ZZN2sx4avx27productEvE5zeros", "avx2"),
        ("_ZN2sx4avx24gemmEv.constprop.0", "avx2"),
        ("_ZN2sx4Pool8parallelEv", None),
        ("_ZSt4sortIPN2sx4avx21TEEvT_", None),
        ("main", None),
    ],
)
def test_namespace_of(name, isa):
    assert objects.namespace_of(name) == isa


@pytest.mark.parametrize(
    ("source", "flags", "found"),
    [
        (ADD, AVX2, True),
        (inside("baseline", ADD), AVX2, True),
        (inside("avx2", ADD), AVX2, False),
        (ADD, ("-O3",), False),
        ("unsigned bits(unsigned x, unsigned y) { return x & ~y; }", ("-O2", "-mbmi"), True),
    ],
    ids=["no namespace", "baseline", "avx2", "plain code", "bmi"],
)
def test_wide_code_outside(compiled, source, flags, found):
    assert bool([*objects.wide_code_outside(objects.functions(compiled(source, flags)))]) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (inside("avx2", ADD), False),
        ("static float one;\n" + inside("avx2", "float* of() { return &one; }"), False),
        (inside("avx2", "template <class T> T twice(T x) { return x + x; } template int twice(int);"), False),
        ("inline __attribute__((noinline)) int half(int x) { return x / 2; }\n" + inside("avx2", "int f(int x) { return half(x); }"), True),
        ("#include <vector>\n" + inside("avx2", "void f(std::vector<int>& v) { v.push_back(1); }"), True),
        ("int shared_by_all = 1;", True),
    ],
    ids=["namespaced", "local", "own template", "inline", "std::vector", "variable"],
)
def test_shared_symbols(compiled, source, found):
    assert bool([*objects.shared_symbols(compiled(source, AVX2), "avx2")]) == found


@pytest.mark.parametrize(("accumulators", "found"), [(4, False), (12, False), (20, True), (24, True)])
def test_spills(compiled, accumulators, found):
    functions = [*objects.functions(compiled(product(accumulators), AVX2))]
    products = [sum("vfmadd" in i.text for i in loop) for f in functions for loop in f.innermost_loops()]
    assert accumulators in products
    assert bool([*objects.spills(functions)]) == found


def test_check(build):
    assert objects.check(build(gemm=inside("avx2", product(4)))) == []


def test_check_finds(build, capsys):
    folder = build(gemm=product(20))
    assert objects.main([str(folder)]) == 1
    out = capsys.readouterr().out
    assert "outside of an instruction set's namespace" in out
    assert "could serve another instruction set" in out
    assert "spills" in out


def test_check_needs_symbols(build):
    with pytest.raises(FileNotFoundError, match="stripped"):
        objects.check(build(ADD, inside("avx2", product(4)), "-s"))


def test_check_needs_a_build(tmp_path):
    with pytest.raises(FileNotFoundError, match="_native"):
        objects.check(tmp_path)
