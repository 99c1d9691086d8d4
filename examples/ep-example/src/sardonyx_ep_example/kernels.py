"""The kernels: a dozen operators on float32 and float64."""

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import normalize_axes, normalize_axis

ops = KernelSet()
FLOATS = {"T": ("float32", "float64")}


@ops.add("Add", since=7, types=FLOATS)
def add(xp, a, b):
    return a + b


@ops.add("Sub", since=7, types=FLOATS)
def sub(xp, a, b):
    return a - b


@ops.add("Mul", since=7, types=FLOATS)
def mul(xp, a, b):
    return a * b


@ops.add("Relu", since=6, types=FLOATS)
def relu(xp, x):
    return xp.maximum(x, 0)


@ops.add("LeakyRelu", since=6, types=FLOATS)
def leaky_relu(xp, x, *, alpha=0.01):
    return xp.where(x < 0, alpha * x, x)


@ops.add("Sigmoid", since=6, types=FLOATS)
def sigmoid(xp, x):
    with xp.errstate(over="ignore"):
        return 1 / (1 + xp.exp(-x))


@ops.add("Tanh", since=6, types=FLOATS)
def tanh(xp, x):
    return xp.tanh(x)


@ops.add("MatMul", since=1, types=FLOATS)
def matmul(xp, a, b):
    return xp.matmul(a, b)


@ops.add("Gemm", since=7, types=FLOATS)
def gemm(xp, a, b, c=0.0, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    product = (a.T if transA else a) @ (b.T if transB else b)
    return alpha * product + beta * c


@ops.add("Softmax", since=13, types=FLOATS)
def softmax(xp, x, *, axis=-1):
    axis = normalize_axis(axis, x.ndim)
    e = xp.exp(x - x.max(axis, keepdims=True, initial=-xp.inf))
    return e / e.sum(axis, keepdims=True)


@ops.add("Transpose", since=1, types=FLOATS)
def transpose(xp, data, *, perm=None):
    return xp.transpose(data, None if perm is None else normalize_axes(perm, data.ndim))


@ops.add("Concat", since=4, types=FLOATS)
def concat(xp, *inputs, axis):
    return xp.concatenate(inputs, normalize_axis(axis, inputs[0].ndim))
