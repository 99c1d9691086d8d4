"""onnxruntime's own tools prepare, fuse and quantize a small network: operators of each file, and what it says of sixteen inputs.

Weights are unsigned: with signed ones onnxruntime's answer depends on the processor, since its AVX2 kernels saturate.
"""

import collections
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization, transformers
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType
from onnxruntime.tools import onnx_model_utils
from onnxruntime.transformers import optimizer

RNG = np.random.default_rng(0)
X = (RNG.standard_normal((16, 3, 12, 12)) + 3 * RNG.standard_normal((16, 3, 1, 1))).astype(np.float32)


class Reader(CalibrationDataReader):
    """Four batches of other inputs."""

    def __init__(self) -> None:
        self.batches = iter(np.random.default_rng(1).standard_normal((4, 8, 3, 12, 12)).astype(np.float32))

    def get_next(self) -> dict[str, np.ndarray] | None:
        """The next batch."""
        batch = next(self.batches, None)
        return None if batch is None else {"x": batch}


def network() -> onnx.ModelProto:
    """Conv, BatchNormalization, Relu, the mean of each channel, an erf GELU taken apart, and a classifier of ten labels."""
    shapes = {"w": (16, 3, 3, 3), "scale": (16,), "shift": (16,), "mean": (16,), "c": (16, 10), "d": (10,)}
    weights = {k: RNG.standard_normal(s).astype(np.float32) for k, s in shapes.items()}
    weights |= {"var": np.ones(16, np.float32), "root": np.float32(np.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
        helper.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "var"], ["b"], name="norm"),
        helper.make_node("Relu", ["b"], ["r"], name="relu"),
        helper.make_node("ReduceMean", ["r"], ["m"], axes=[2, 3], keepdims=0, name="pool"),
        helper.make_node("Div", ["m", "root"], ["g1"], name="gelu1"),
        helper.make_node("Erf", ["g1"], ["g2"], name="gelu2"),
        helper.make_node("Add", ["g2", "one"], ["g3"], name="gelu3"),
        helper.make_node("Mul", ["m", "g3"], ["g4"], name="gelu4"),
        helper.make_node("Mul", ["g4", "half"], ["g5"], name="gelu5"),
        helper.make_node("Gemm", ["g5", "c", "d"], ["y"], name="gemm"),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 12, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def optimize(path: Path, out: Path) -> None:
    """Write what a session makes of a file at level basic; optimize_model would do that itself, but only where torch is installed."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def look(path: Path) -> dict[str, object]:
    """Operators of a file, and the label it gives each input."""
    operators = collections.Counter(n.op_type for n in onnx.load(path).graph.node)
    (scores,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": X})
    return {"operators": dict(sorted(operators.items())), "labels": scores.argmax(-1).tolist()}


def main() -> None:
    """Write what each tool made to the file named on the command line."""
    assert transformers.optimizer is optimizer
    folder = Path(tempfile.mkdtemp())
    plain, prepared, made = folder / "plain.onnx", folder / "prepared.onnx", folder / "made.onnx"
    onnx.save(network(), plain)
    answer = {}
    quantization.quant_pre_process(plain, prepared)
    answer["prepared"] = look(prepared)
    quantization.quantize_dynamic(prepared, made, weight_type=QuantType.QUInt8)
    answer["dynamic"] = look(made)
    for form in QuantFormat:
        kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8}
        quantization.quantize_static(prepared, made, Reader(), quant_format=form, **kinds)
        answer[f"static {form}"] = look(made)
    optimize(plain, prepared)
    optimizer.optimize_model(str(prepared), "bert", num_heads=2, hidden_size=16, opt_level=0).save_model_to_file(str(made))
    answer["fused"] = look(made)
    fixed = onnx.load(plain)
    onnx_model_utils.make_dim_param_fixed(fixed.graph, "N", 16)
    onnx.save(fixed, made)
    answer["fixed"] = look(made)
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(answer, f)


main()
