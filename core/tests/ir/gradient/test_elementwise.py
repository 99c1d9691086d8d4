"""Rules of arithmetic and activations, against finite differences."""

import numpy as np
import pytest

# Operators of one tensor of positive numbers below 1, and those of any numbers.
POSITIVE = ["Acos", "Asin", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Log", "Reciprocal", "Sin", "Sinh", "Sqrt", "Tan"]
# fmt: off
ANY = [
    "Abs", "Asinh", "Celu", "Elu", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "LogSoftmax", "Mish", "Neg", "Relu",
    "Selu", "Shrink", "Sigmoid", "Softmax", "Softplus", "Softsign", "Swish", "Tanh", "ThresholdedRelu",
]
# fmt: on
BROADCASTS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((1,), (2, 3)), ((2, 1, 3), (2, 1)), ((), (2,)), ((1, 3), (2, 1)), ((1, 1), (1, 1))]


@pytest.mark.parametrize("op", POSITIVE)
def test_functions_of_positive_numbers(op, check, rng):
    check(f"y = {op}(x)", {"x": rng.uniform(0.1, 0.9, (2, 3))}, rtol=1e-5)


@pytest.mark.parametrize("op", ANY)
def test_functions(op, check, rng):
    check(f"y = {op}(x)", {"x": rng.standard_normal((3, 4))}, opset=24, rtol=1e-5)


def test_acosh(check, rng):
    check("y = Acosh(x)", {"x": rng.uniform(1.5, 3, (3,))}, rtol=1e-5)


@pytest.mark.parametrize(
    "node", ["LeakyRelu <alpha=0.3>", "Elu <alpha=0.7>", "Celu <alpha=0.7>", "Selu <alpha=2.0, gamma=0.5>", 'Gelu <approximate="tanh">']
)
def test_attributes(node, check, rng):
    check(f"y = {node} (x)", {"x": rng.standard_normal((3, 4))})


@pytest.mark.parametrize("node", ["Softmax <axis=0>", "LogSoftmax <axis=1>", "Hardmax <axis=1>"])
def test_axes(node, check, rng):
    check(f"y = {node} (x)", {"x": rng.standard_normal((2, 3, 2))})


@pytest.mark.parametrize(("a", "b"), BROADCASTS)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"])
def test_broadcasting(op, a, b, check, rng):
    check(f"y = {op}(a, b)", {"a": rng.uniform(0.5, 2, a), "b": rng.uniform(0.5, 2, b)}, rtol=1e-5, second=a == (2, 3))


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min"])
def test_many_operands(op, check, rng):
    check(f"y = {op}(a, b, c, a)", {"a": rng.standard_normal((2, 3)), "b": rng.standard_normal(3), "c": rng.standard_normal((2, 1))})
    check(f"y = {op}(a)", {"a": rng.standard_normal(3)})


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, -1.0, 0.5])
def test_powers(exponent, check, rng):
    check("y = Pow(x, n)", {"x": rng.uniform(0.5, 2, 4)}, weights={"n": np.float64(exponent)}, rtol=1e-5)
    if exponent >= 0 and exponent % 1 == 0:
        check("y = Pow(x, n)", {"x": np.array([-1.5, 0.0, 2.0])}, weights={"n": np.int64(exponent)})


def test_power_of_zero(check):
    """No 0 times infinity for the exponent either."""
    check("y = Pow(x, n)", {"x": np.zeros(2), "n": np.array([1.0, 2.0])}, xs=["n"], second=False)


def test_where_and_clip(check, rng):
    x = {"a": rng.standard_normal((2, 3)), "b": rng.standard_normal(3)}
    check("y = Where(c, a, b)", {"c": np.array([[True], [False]]), **x})
    check("y = Clip(a, low, high)", {"a": x["a"], "low": np.array(-0.5), "high": np.array(0.5)})
    check("y = Clip(a, low)", {"a": x["a"], "low": np.array(-0.5)})
    check("y = Clip(a, , high)", {"a": x["a"]}, weights={"high": np.array(0.5)})
    check("y = Clip(a)", {"a": x["a"]})


def test_prelu(check, rng):
    check("y = PRelu(x, slope)", {"x": rng.standard_normal((2, 3, 2)), "slope": rng.standard_normal((3, 1))})


def test_steps(check, rng):
    """Between steps the derivative is zero; what depends on the tensor otherwise still counts."""
    for op in ("Ceil", "Floor", "Round", "Sign"):
        check(f"s = {op}(x) y = Mul(s, x)", {"x": rng.uniform(0.1, 0.4, 3)})


def test_casts(check, rng):
    x = rng.standard_normal((2, 2))
    check("f = Cast<to=1>(x) d = Cast<to=11>(f) y = Mul(d, x)", {"x": x.astype(np.float32).astype(np.float64)}, rtol=0.02, second=False)
    check("i = Cast<to=7>(x) d = CastLike(i, x) y = Mul(d, x)", {"x": x})


def test_activations_do_not_overflow(model_of, run):
    """exp(1000) would be infinite, and times 0 not a number."""
    x = np.array([-1000.0, 1000.0])
    for op, slope in {"Elu": 1.0, "Selu": 1.0507009873554805, "Celu": 1.0, "Softplus": 1.0, "Mish": 1.0}.items():
        text = f'(double[2] x) => (d) {{ y = {op}(x) d = ai.onnx.preview.training.Gradient<xs=["x"], y="y">(x) }}'
        np.testing.assert_allclose(run(model_of(text), {"x": x})[0], [0, slope], atol=1e-12, rtol=1e-7)


def test_dropout(check, rng):
    check("y = Dropout(x)", {"x": rng.standard_normal(4)})
