"""The session of onnxruntime's extension module, which programs reach for as `_sess`; each test runs against both."""

import numpy as np
import pytest

CPU = "CPUExecutionProvider"


def test_the_session_beneath(ort, state, add):
    s = ort.InferenceSession(add)
    beneath = s._sess
    assert [a.name for a in beneath.inputs_meta] == ["x", "y"]
    assert [a.name for a in beneath.outputs_meta] == ["z"]
    assert beneath.overridable_initializers == []
    assert beneath.model_meta.graph_name == "g"
    assert beneath.session_options.enable_profiling is False
    assert [i.name for i in (*beneath.input_meminfos, *beneath.output_meminfos)] == ["Cpu"] * 3
    assert [d.ep_name for d in beneath.input_epdevices] == [CPU, CPU]
    assert beneath.get_providers() == [CPU]
    assert beneath.get_provider_options() == {CPU: {}}
    assert isinstance(beneath.get_profiling_start_time_ns, int)
    assert beneath.is_webgpu_graph_capture_enabled() is False
    assert beneath.get_tuning_results() == []
    beneath.set_tuning_results([], False)
    beneath.set_ep_dynamic_options({"a": "b"})
    beneath.release_captured_graph(0)


def test_runs_of_the_session_beneath(ort, state, add):
    beneath = ort.InferenceSession(add)._sess
    x = np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(beneath.run(["z"], {"x": x, "y": x}, None)[0], x + x)
    given = ort.OrtValue.ortvalue_from_numpy(x)._get_c_value()
    results = beneath.run_with_ort_values({"x": given, "y": given}, ["z"], None)
    assert isinstance(results, state.OrtValueVector)
    np.testing.assert_array_equal(results[0].numpy(), x + x)
    fetches = state.OrtValueVector()
    feeds = state.OrtValueVector()
    feeds.push_back(given)
    feeds.push_back(given)
    device = ort.OrtDevice.make("cpu", 0)._get_c_device()
    beneath.run_with_ortvaluevector(ort.RunOptions(), ["x", "y"], feeds, ["z"], fetches, [device])
    np.testing.assert_array_equal(fetches[0].numpy(), x + x)
    with pytest.raises(state.InvalidArgument):
        beneath.run(["z"], {"x": x, "y": np.ones((3, 5), np.float32)}, None)
