"""onnxruntime's public names are here and work: a name that only raises does not count."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx.onnxruntime as ort
from sardonyx.onnxruntime import backend
from sardonyx.onnxruntime.capi import onnxruntime_pybind11_state as state

# The names of onnxruntime 1.32 that its clients use: of modules, and the members of classes.
NAMES = json.loads((Path(__file__).parent / "names.json").read_text())
CORE, STATE, BACKEND = (NAMES[m] for m in ("onnxruntime", "capi.onnxruntime_pybind11_state", "backend"))
X = np.ones((2, 2), np.float32)


@pytest.fixture
def instances(add, tmp_path):
    """An object of each class, made as a client gets it."""
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    session = ort.InferenceSession(add, options)
    (part,) = session.get_provider_graph_assignment_info()
    host = ort.OrtDevice.make("cpu", 0)
    device = ort.get_ep_devices()[0]
    made = {
        "InferenceSession": session,
        "SessionOptions": options,
        "RunOptions": ort.RunOptions(),
        "IOBinding": session.io_binding(),
        "SessionIOBinding": ort.SessionIOBinding(session._sess),
        "OrtValue": ort.OrtValue.ortvalue_from_numpy(X),
        "OrtDevice": host,
        "NodeArg": session.get_inputs()[0],
        "ModelMetadata": session.get_modelmeta(),
        "SparseTensor": ort.SparseTensor.sparse_coo_from_numpy([9], X[0], np.array([1, 5]), host),
        "OrtArenaCfg": ort.OrtArenaCfg({}),
        "OrtMemoryInfo": session.get_input_memory_infos()[0],
        "OrtEpDevice": device,
        "OrtHardwareDevice": device.device,
        "OrtSyncStream": ort.OrtSyncStream(),
        "OrtEpAssignedSubgraph": part,
        "OrtEpAssignedNode": part.get_nodes()[0],
        "ModelCompiler": ort.ModelCompiler(options, add),
        "OrtExternalInitializerInfo": ort.OrtExternalInitializerInfo("a", 1, 2),
        "OrtEpContextData": ort.OrtEpContextData(b"abc"),
        "OrtEpContextDataBuffer": ort.OrtEpContextDataBuffer(10),
        "LoraAdapter": ort.LoraAdapter(),
        "AdapterFormat": ort.AdapterFormat(),
        "OrtValueVector": state.OrtValueVector(),
    }
    package = ort.ModelPackage()
    package.set_component_inline("c", json.dumps({"variants": {"v": {}}}))
    package.commit(str(tmp_path / "package"))
    context, chosen = ort.ModelPackageContext(str(tmp_path / "package")), ort.ModelPackageOptions(options)
    made |= {"ModelPackage": package, "ModelPackageContext": context, "ModelPackageOptions": chosen}
    made["ModelPackageComponentContext"] = context.select_component("c", chosen)
    return made


def call_functions(path: Path, folder: Path) -> set[str]:
    """The functions that run."""
    data = path.read_bytes()
    log: list[tuple] = []
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    plugin = folder / "plugin.py"
    plugin.write_text(
        "from sardonyx.ep import KernelSet, Provider, ProviderInfo, hook\n"
        "class Mine(Provider):\n    kernels = KernelSet()\n"
        "@hook\ndef sardonyx_provider():\n    return ProviderInfo(name='mine', create=Mine)\n"
    )
    weight = np.ones((16, 2), np.float32)

    def packed(bits: int) -> tuple:
        shape = (2, 1, 16 * bits // 8)
        return np.zeros(shape, np.uint8), weight, np.zeros((2, 1), np.float32), np.zeros((2, 1), np.uint8), 16, 2, 16, True

    flat = (np.zeros(16, np.uint8), weight, np.zeros(2, np.float32))
    calls = {
        "get_available_providers": lambda: ort.get_available_providers()[-1] == "CPUExecutionProvider",
        "get_all_providers": lambda: "CUDAExecutionProvider" in ort.get_all_providers(),
        "get_device": lambda: ort.get_device() in ("CPU", "GPU"),
        "get_version_string": lambda: ort.get_version_string() == ort.__version__,
        "get_build_info": lambda: "Sardonyx" in ort.get_build_info(),
        "set_seed": lambda: ort.set_seed(1) is None,
        "set_default_logger_severity": lambda: ort.set_default_logger_severity(2) is None,
        "set_default_logger_verbosity": lambda: ort.set_default_logger_verbosity(0) is None,
        "set_default_logger_callback": lambda: (
            ort.set_default_logger_callback(lambda *a: log.append(a), 0) is None and ort.set_default_logger_callback(None) is None
        ),
        "set_global_thread_pool_sizes": lambda: ort.set_global_thread_pool_sizes(0, 0) is None,
        "disable_telemetry_events": lambda: ort.disable_telemetry_events() is None,
        "enable_telemetry_events": lambda: ort.enable_telemetry_events() is None,
        "has_collective_ops": lambda: ort.has_collective_ops() is False,
        "preload_dlls": lambda: ort.preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None) is None,
        "print_debug_info": lambda: ort.print_debug_info() is None,
        "create_and_register_allocator": lambda: ort.create_and_register_allocator(info, None) is None,
        "create_and_register_allocator_v2": lambda: (
            ort.create_and_register_allocator_v2("CPUExecutionProvider", info, {}, ort.OrtArenaCfg({})) is None
        ),
        "copy_tensors": lambda: (
            ort.copy_tensors([ort.OrtValue.ortvalue_from_numpy(X)], [ort.OrtValue.ortvalue_from_numpy(X.copy())], None) is None
        ),
        "get_ep_devices": lambda: len(ort.get_ep_devices()) > 0,
        "register_execution_provider_library": lambda: ort.register_execution_provider_library("mine", str(plugin)) is None,
        "unregister_execution_provider_library": lambda: ort.unregister_execution_provider_library("mine") is None,
        "get_default_session_options": lambda: state.get_default_session_options().enable_mem_pattern,
        "get_session_initializer": lambda: state.get_session_initializer() is not None,
        "get_all_operator_schema": lambda: "Add" in {s.name for s in state.get_all_operator_schema()},
        "get_all_opkernel_def": lambda: "Add" in {k.op_name for k in state.get_all_opkernel_def()},
        "get_registered_ep_kernel_defs": lambda: "Add" in {k.op_name for k in state.get_registered_ep_kernel_defs("CPUExecutionProvider")},
        "get_hardware_devices": lambda: len(state.get_hardware_devices()) > 0,
        "get_hardware_device_ep_incompatibility_details": lambda: (
            state.get_hardware_device_ep_incompatibility_details("CPUExecutionProvider", state.get_hardware_devices()[0])
            == {"reasons_bitmask": 0, "notes": None, "error_code": 0}
        ),
        "get_model_compatibility_for_ep_devices": lambda: (
            state.get_model_compatibility_for_ep_devices(ort.get_ep_devices(), "") == state.OrtCompiledModelCompatibility.EP_NOT_APPLICABLE
        ),
        "get_compatibility_info_from_model": lambda: state.get_compatibility_info_from_model(str(path), "CPUExecutionProvider") is None,
        "get_compatibility_info_from_model_bytes": lambda: (
            state.get_compatibility_info_from_model_bytes(data, "CPUExecutionProvider") is None
        ),
        "quantize_matmul_2bits": lambda: state.quantize_matmul_2bits(*packed(2)) is None,
        "quantize_matmul_4bits": lambda: state.quantize_matmul_4bits(*packed(4)) is None,
        "quantize_matmul_8bits": lambda: state.quantize_matmul_8bits(*packed(8)) is None,
        "quantize_qdq_matmul_2bits": lambda: state.quantize_qdq_matmul_2bits(*flat, np.zeros(2, np.uint8), 16, 2, 16, True),
        "quantize_qdq_matmul_4bits": lambda: state.quantize_qdq_matmul_4bits(*flat, np.zeros(2, np.uint8), 16, 2, 16, True),
        "quantize_matmul_bnb4": lambda: state.quantize_matmul_bnb4(*flat, 16, 1, 2, 16) is None,
        "prepare": lambda: np.array_equal(backend.prepare(data).run([X, X])[0], X + X),
        "run": lambda: np.array_equal(backend.run(data, [X, X])[0], X + X),
        "is_compatible": lambda: backend.is_compatible(data),
        "supports_device": lambda: backend.supports_device("CPU"),
    }
    return {name for name, call in calls.items() if call()}


def working(names: list[str], module, instances, functions: set[str]) -> set[str]:
    """Those of the names that are here and work: constants, functions that run, exceptions, enumerations, classes with an
    instance."""
    found = set()
    for name in names:
        thing = getattr(module, name, None)
        if isinstance(thing, type):
            usable = issubclass(thing, (Exception, int)) or instances.get(name) is not None
        else:
            usable = name in functions if callable(thing) else thing is not None
        if usable:
            found.add(name)
    return found


def test_names_of_clients_work(add, instances, tmp_path):
    path = tmp_path / "add.onnx"
    path.write_bytes(add)
    functions = call_functions(path, tmp_path)
    groups = {
        "onnxruntime": (CORE, working(CORE, ort, instances, functions)),
        "state": (STATE, working(STATE, state, instances, functions)),
        "backend": (BACKEND, working(BACKEND, backend, instances, functions)),
    }
    for name in NAMES.keys() - {"onnxruntime", "capi.onnxruntime_pybind11_state", "backend"}:
        thing = instances.get(name) or getattr(ort, name)
        groups[name] = (NAMES[name], {m for m in NAMES[name] if hasattr(thing, m)})
    wanted = sum(len(names) for names, _ in groups.values())
    lacking = sorted(f"{group}.{n}" for group, (names, have) in groups.items() for n in names if n not in have)
    assert len(lacking) <= 0.05 * wanted, f"{len(lacking)} of {wanted}: {lacking}"


def public(thing) -> set[str]:
    return {n for n in dir(thing) if not n.startswith("_")}


def test_members_of_classes_are_those_of_onnxruntime(instances):
    """Every public class of onnxruntime as installed; members compared with an instance of ours."""
    real = pytest.importorskip("onnxruntime", reason="compares with onnxruntime itself")
    real_state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    wanted, lacking = 0, []
    for name in {*CORE, *STATE}:
        theirs = getattr(real, name, None) or getattr(real_state, name, None)
        if not inspect.isclass(theirs) or issubclass(theirs, Exception):
            continue
        ours = instances.get(name) or getattr(ort, name, None) or getattr(state, name)
        members = public(theirs) - ({"name", "value"} if hasattr(theirs, "__members__") else set())
        members -= set(dir(int))
        wanted += len(members)
        lacking += [f"{name}.{m}" for m in sorted(members) if not hasattr(ours, m)]
    assert wanted > 200
    assert len(lacking) <= 0.05 * wanted, f"{len(lacking)} of {wanted}: {lacking}"


def test_public_names_of_onnxruntime_are_here():
    real = pytest.importorskip("onnxruntime", reason="compares with onnxruntime itself")
    assert public(real) - public(ort) <= {"contextlib", "datasets", "quantization", "tools", "transformers", "experimental", "backend"}
    assert set(CORE) <= set(dir(real))


@pytest.mark.parametrize("name", ["SessionOptions", "RunOptions"])
def test_options_are_found_on_the_class(name):
    """mlflow asks the class which options there are."""
    assert [n for n in NAMES[name] if not hasattr(getattr(ort, name), n)] == []
