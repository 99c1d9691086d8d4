"""Derivatives of matrix products."""

from __future__ import annotations

from sardonyx.ir.gradient.rules import Rules

__all__ = ["rules"]

rules = Rules()


@rules.add("MatMul", broadcasts=True)
def matmul(t, node, g, a, b):
    """g B' and A' g. A vector is a matrix of one row, or one column, in between; an unknown rank is taken for 2 or more."""
    rows = t("Unsqueeze", a, [0]) if a.rank == 1 else a
    columns = t("Unsqueeze", b, [1]) if b.rank == 1 else b
    if b.rank == 1:
        g = t("Unsqueeze", g, [-1])
    if a.rank == 1:
        g = t("Unsqueeze", g, [-2])

    def left():
        made = t("MatMul", g, _transposed(t, columns))
        return t("Squeeze", made, [-2]) if a.rank == 1 else made

    def right():
        if b.rank == 2 and a.rank is not None and a.rank > 2:
            return t("Gemm", t("Flatten", a, axis=-1), t("Flatten", g, axis=-1), transA=1)
        made = t("MatMul", _transposed(t, rows), g)
        return t("Squeeze", made, [-1]) if b.rank == 1 else made

    return left, right


def _transposed(t, x):
    if x.rank is None:
        return t("Einsum", x, equation="...ij->...ji")
    order = list(range(x.rank))
    return t("Transpose", x, perm=[*order[:-2], order[-1], order[-2]])


@rules.add("Gemm", broadcasts=True)
def gemm(t, node, g, a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    """alpha g B' and alpha A' g, transposed where the operands are, and beta g."""

    def left():
        if transA:
            return t("Gemm", b, g, alpha=alpha, transA=transB, transB=1)
        return t("Gemm", g, b, alpha=alpha, transB=1 - transB)

    def right():
        if transB:
            return t("Gemm", g, a, alpha=alpha, transA=1, transB=transA)
        return t("Gemm", a, g, alpha=alpha, transA=1 - transA)

    return left, right, lambda: g if beta == 1 else t("Mul", g, beta)


@rules.add("Einsum", broadcasts=True)
def einsum(t, node, g, *operands, equation):
    """The equation with the operand and the output in each other's place."""
    left, _, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "->" not in equation:
        letters = sorted(set(left) - set(",."))
        output = ("..." if "..." in left else "") + "".join(s for s in letters if left.count(s) == 1)

    def gradient(i):
        others = [term for j, term in enumerate(terms) if j != i]
        letters = terms[i].replace("...", "")
        if len(set(letters)) < len(letters) or not set(letters) <= set("".join([output, *others])):
            t.refuse(f"a letter of operand {i} occurs twice in it, or nowhere else, in {equation!r}")
        if "..." in equation and not all("..." in term for term in (*terms, output)):
            t.refuse(f"not every term has the ellipsis in {equation!r}")
        values = [v for j, v in enumerate(operands) if j != i]
        return t("Einsum", g, *values, equation=f"{','.join([output, *others])}->{terms[i]}")

    return [lambda i=i: gradient(i) for i in range(len(terms))]
