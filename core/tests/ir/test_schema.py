"""Which version of an operator is meant."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.schema import KNOWN, in_force, newest, schema, since_version


def test_versions_in_force():
    assert [since_version("", "Softmax", v) for v in (1, 10, 11, 12, 13, 99)] == [1, 1, 11, 11, 13, 13]
    assert since_version("", "Gelu", 19) is None
    assert since_version("", "Nothing", 20) is None
    assert since_version("mine", "Op", 1) is None


def test_deprecated_versions():
    """Old exporters kept writing operators after their end; the last version that was not deprecated is meant."""
    assert (since_version("", "Upsample", 13), in_force("", "Upsample", 13), newest("", "Upsample")) == (9, None, 9)
    assert (since_version("ai.onnx.ml", "TreeEnsembleClassifier", 5), in_force("ai.onnx.ml", "TreeEnsembleClassifier", 5)) == (3, None)
    assert since_version("", "GroupNormalization", 18) == 18
    assert newest("", "GroupNormalization") == 21


def test_nothing_is_newer_than_what_is_known():
    assert newest("", "Add") <= KNOWN[""]
    assert newest("com.microsoft", "Gelu") is None


def test_fixed_types_are_type_variables_too():
    s = schema("", "TopK", 11)
    assert s.types["tensor(int64)"] == {np.dtype(np.int64)}
    assert s.input(1).type == "tensor(int64)"


def test_variadic_formals_repeat():
    s = schema("", "Concat", 13)
    assert s.input(7) == s.inputs[0]
    assert schema("", "Neg", 13).input(1) is None


def test_attributes():
    s = schema("", "Conv", 22)
    assert (s.attributes["group"], s.attributes["auto_pad"], s.attributes["pads"]) == (1, "NOTSET", None)
    assert schema("", "Cast", 21).required == {"to"}
    assert schema("", "Swish", 24).has_function
    assert not schema("", "MatMul", 13).has_function
