"""`import onnxruntime` gives Sardonyx after install(), and under python -m sardonyx.onnxruntime."""

import multiprocessing
import subprocess
import sys
import textwrap

import pytest

from sardonyx.onnxruntime.__main__ import main


def python(*args: str, cwd=None) -> str:
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def run(code: str) -> str:
    return python("-c", "import sardonyx.onnxruntime; sardonyx.onnxruntime.install()\n" + textwrap.dedent(code))


def test_every_module_is_ours():
    assert (
        run("""
        import sys
        import onnxruntime, onnxruntime as ort
        from onnxruntime import InferenceSession, backend
        from onnxruntime.capi import _pybind_state as C
        import onnxruntime.capi.onnxruntime_pybind11_state as state
        from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument
        from onnxruntime.capi.onnxruntime_inference_collection import OrtValue, IOBinding
        from onnxruntime.backend.backend import OnnxRuntimeBackend
        import sardonyx.onnxruntime as ours
        assert onnxruntime is ours and state is ours.capi.onnxruntime_pybind11_state
        assert InferenceSession is ours.InferenceSession and OrtValue is ours.OrtValue and C.Fail is Fail is state.Fail
        assert state.__name__ == "sardonyx.onnxruntime.capi.onnxruntime_pybind11_state" == state.__spec__.name
        assert sys.modules["onnxruntime.capi"] is sys.modules["sardonyx.onnxruntime.capi"]
        ours.install()
        ours.uninstall()
        assert "onnxruntime" not in sys.modules
        print("fine")
    """)
        == "fine"
    )


def test_it_comes_too_late():
    pytest.importorskip("onnxruntime", reason="needs onnxruntime itself")
    code = "import onnxruntime, sardonyx.onnxruntime\ntry:\n    sardonyx.onnxruntime.install()\nexcept RuntimeError as e:\n    print(e)"
    assert "before install()" in python("-c", code)


def test_the_tools_of_an_installed_onnxruntime_run_on_sardonyx(tmp_path, add):
    pytest.importorskip("onnxruntime", reason="runs onnxruntime's tools")
    (tmp_path / "add.onnx").write_bytes(add)
    assert run(f"""
        import numpy as np
        from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
        import onnxruntime.quantization.calibrate as calibrate
        from onnxruntime.tools.onnx_model_utils import make_dim_param_fixed
        import sardonyx.onnxruntime as ours
        assert calibrate.onnxruntime is ours
        class Reader(CalibrationDataReader):
            left = 3
            def get_next(self):
                self.left -= 1
                x = np.full((2, 2), self.left + 1, np.float32)
                return {{"x": x, "y": x}} if self.left >= 0 else None
        quantize_static({str(tmp_path / "add.onnx")!r}, {str(tmp_path / "q.onnx")!r}, Reader())
        s = ours.InferenceSession({str(tmp_path / "q.onnx")!r})
        x = np.ones((2, 2), np.float32)
        assert abs(s.run(None, {{"x": x, "y": x}})[0] - 2).max() < 0.1
        print("fine")
    """).endswith("fine")


def test_tools_are_imported_from_the_package_too():
    pytest.importorskip("onnxruntime", reason="runs onnxruntime's tools")
    assert run("""
        from onnxruntime import datasets, quantization, tools
        import onnxruntime, sardonyx.onnxruntime as ours
        assert quantization.quantize_static.__module__ == "onnxruntime.quantization.quantize"
        assert ours.InferenceSession(datasets.get_example("mul_1.onnx")).get_inputs()[0].shape == [3, 2]
        assert not hasattr(onnxruntime, "training")
        iris = ours.InferenceSession(datasets.get_example("logreg_iris.onnx"))  # its weights are for more features than its input has
        assert [round(p, 3) for p in iris.run(None, {"float_input": [[0.5, 0.5]] * 3})[1][0].values()] == [0.624, 0.225, 0.151]
        print("fine")
    """).endswith("fine")


def test_without_onnxruntime():
    """As in an environment that does not have it: the package says it is there, tools say what to install."""
    assert (
        run("""
        import importlib.metadata, importlib.util
        import sardonyx.onnxruntime.import_hook as here
        here._folder = lambda: None
        import onnxruntime
        from onnxruntime.quantization import QuantType, QuantFormat, CalibrationDataReader, quantize_dynamic
        from onnxruntime.transformers.io_binding_helper import TypeHelper
        assert importlib.util.find_spec("onnxruntime") is not None
        assert importlib.util.find_spec("onnxruntime.training") is None
        for module in ("tools.symbolic_shape_infer", "transformers.optimizer", "quantization.calibrate"):
            try:
                importlib.import_module(f"onnxruntime.{module}")
            except ImportError as e:
                assert isinstance(e, NotImplementedError) and "install onnxruntime" in str(e), e
            else:
                raise AssertionError(module)
        try:
            quantize_dynamic("a", "b")
        except NotImplementedError as e:
            assert "install onnxruntime" in str(e)
        found = [d for d in here._finder.find_distributions() if d.name == "onnxruntime"]
        assert [d.version for d in found] == [onnxruntime.__version__]
        print("fine")
    """)
        == "fine"
    )


PROGRAM = """
import sys, os
import onnxruntime
from helper import VALUE
print(onnxruntime.__name__, __name__, os.path.basename(sys.argv[0]), sys.argv[1:], VALUE)
if "fail" in sys.argv:
    sys.exit(3)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("VALUE = 5\n")
    return tmp_path / "program.py"


def test_a_script_is_run(program):
    out = python("-m", "sardonyx.onnxruntime", str(program), "-m", "--flag", "a b")
    assert out == "sardonyx.onnxruntime __main__ program.py ['-m', '--flag', 'a b'] 5"


def test_a_module_is_run(program):
    out = python("-m", "sardonyx.onnxruntime", "-m", "program", "x", cwd=program.parent)
    assert out == "sardonyx.onnxruntime __main__ program.py ['x'] 5"


def test_text_is_run(program):
    out = python("-m", "sardonyx.onnxruntime", "-c", "import onnxruntime, sys; print(onnxruntime.__name__, sys.argv)", "x")
    assert out == "sardonyx.onnxruntime ['-c', 'x']"


WORKERS = """
import multiprocessing, sys
import onnxruntime

def work(x):
    return x, onnxruntime.__name__

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(work, [5]))
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_have_it_too(tmp_path, method):
    (tmp_path / "workers.py").write_text(WORKERS)
    out = python("-m", "sardonyx.onnxruntime", str(tmp_path / "workers.py"), method)
    assert out == "[(5, 'sardonyx.onnxruntime')]"


def test_the_status_is_the_programs(program):
    done = subprocess.run([sys.executable, "-m", "sardonyx.onnxruntime", str(program), "fail"], capture_output=True, check=False)
    assert done.returncode == 3


@pytest.mark.parametrize("args", [[], ["-m"], ["-m", "-x"], ["--no-such-option"], ["/no/such/script.py"]])
def test_wrong_command_lines(args, capsys):
    assert main(args) == 2
    assert capsys.readouterr().err


def test_help(capsys):
    assert main(["--help"]) == 0
    assert "python -m sardonyx.onnxruntime SCRIPT" in capsys.readouterr().out
