"""Model packages behave as onnxruntime's do; each test runs against both."""

import json
import os
import shutil

import numpy as np
import pytest

X = np.ones((2, 2), np.float32)
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


@pytest.fixture
def ours():
    import sardonyx.onnxruntime as ort

    return ort


@pytest.fixture
def asset(tmp_path, add):
    folder = tmp_path / "asset"
    (folder / "deep").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(add)
    (folder / "deep" / "notes.txt").write_text("notes")
    return folder


@pytest.fixture
def package(ort, asset):
    """A package of one component with a variant for the host and one for CUDA."""
    made = ort.ModelPackage()
    made.set_metadata(name="adder", version="1.2", description="adds")
    uri = made.add_shared_asset(str(asset))
    info = {"executor_info": {"ort": {"model_file": f"{uri}/model.onnx"}}}
    made.set_component_inline("main", json.dumps({"variants": {}}))
    made.set_variant("main", "on the host", json.dumps({"ep": CPU, **info}))
    made.set_variant("main", "on CUDA", json.dumps({"ep": CUDA, **info}))
    return made


def test_a_package_is_written_and_run(ort, package, tmp_path):
    root = str(tmp_path / "package")
    package.commit(root)
    context = ort.ModelPackageContext(root)
    assert (context.get_schema_version(), context.get_component_count(), context.get_component_names()) == (1, 1, ["main"])
    assert sorted(context.get_variant_names("main")) == ["on CUDA", "on the host"]
    assert context.get_variant_count("main") == 2
    assert context.get_variant_ep_name("main", "on CUDA") == CUDA
    chosen = context.select_component("main", ort.ModelPackageOptions(ort.SessionOptions()))
    assert (chosen.get_selected_variant_name(), chosen.get_selected_variant_folder_path()) == ("on the host", "")
    for options in (None, ort.SessionOptions()):
        s = chosen.create_session(options)
        assert isinstance(s, ort.InferenceSession)
        np.testing.assert_array_equal(s.run(None, {"x": X, "y": X})[0], X + X)


def test_what_a_package_says_of_itself(ort, package, asset, tmp_path):
    info = package.get_info()
    assert (info["package_name"], info["package_version"], info["description"], info["layout"]) == ("adder", "1.2", "adds", "portable")
    (told,) = info["shared_assets"]
    assert told == {"uri": ort.ModelPackage.compute_directory_hash(str(asset)), "resolved_path": str(asset)}
    (component,) = info["components"]
    assert [v["ep"] for v in component["variants"]] in ([CPU, CUDA], [CUDA, CPU])
    assert json.loads(package.get_variant_json("main", "on CUDA"))["ep"] == CUDA
    assert "variants" in json.loads(package.get_component_json("main"))
    package.set_additional_metadata_json("manifest", json='{"k": 1}')
    package.set_additional_metadata_json("component", "main", json='{"k": 2}')
    package.set_additional_metadata_json("variant", "main", "on CUDA", json='{"k": 3}')
    root = str(tmp_path / "package")
    package.commit(root)
    again = ort.ModelPackage.open(root).get_info()
    assert json.loads(again["additional_metadata_json"]) == {"k": 1}
    assert json.loads(again["components"][0]["additional_metadata_json"]) == {"k": 2}
    assert again["shared_assets"][0]["resolved_path"].startswith(root)


def test_a_package_is_changed(ort, package, asset, tmp_path):
    root = tmp_path / "package"
    package.commit(str(root))
    (root / "main" / "v").mkdir(parents=True)
    (root / "main" / "v" / "model.onnx").write_bytes((asset / "model.onnx").read_bytes())
    (root / "second.json").write_text(json.dumps({"variants": {"a": {"ep": CPU}}}))
    with ort.ModelPackage.open(str(root)) as opened:
        opened.remove_variant("main", "on CUDA")
        opened.remove_variant("main", "on the host")
        opened.remove_variant("main", "on the host")
        opened.set_variant("main", "own folder", json.dumps({"ep": CPU, "variant_directory": "main/v"}))
        opened.set_variant_executor_info_inline("main", "own folder", "ort", json.dumps({"model_file": "main/v/model.onnx"}))
        opened.set_variant_executor_info_external("main", "own folder", "other", "main/v/other.json")
        opened.remove_variant_executor_info("main", "own folder", "other")
        opened.set_component_external("second", "second.json")
        opened.set_layout("portable")
        opened.remove_shared_asset(opened.get_info()["shared_assets"][0]["uri"])
        opened.commit()
        opened.prune()
    with pytest.raises(ValueError, match="closed"):
        opened.get_info()
    manifest = json.loads((root / "manifest.json").read_text())
    assert manifest["components"]["second"] == "second.json"
    assert list(manifest["components"]["main"]["variants"]) == ["own folder"]


def test_an_interrupted_commit_leaves_the_package_as_it_was(ours, tmp_path, monkeypatch):
    root, replace = tmp_path / "package", os.replace
    (root / "a").mkdir(parents=True)
    (root / "manifest.json").write_text(json.dumps({"schema_version": "1.0", "components": {n: f"a/{n}.json" for n in ("one", "two")}}))
    for name in ("one", "two"):
        (root / "a" / f"{name}.json").write_text(json.dumps({"variants": {"v": {"ep": CPU}}}))

    def change(renames):
        def limited(source, target):
            nonlocal renames
            renames -= 1
            if renames < 0:
                raise KeyboardInterrupt
            replace(source, target)

        with ours.ModelPackage.open(str(root)) as opened:
            for name in ("one", "two"):
                opened.set_variant(name, "v", json.dumps({"ep": CUDA}))
            monkeypatch.setattr(os, "replace", limited)
            opened.commit()

    def providers():
        return [v["ep"] for c in ours.ModelPackage.open(str(root)).get_info()["components"] for v in c["variants"]]

    for renames in range(3):
        with pytest.raises(KeyboardInterrupt):
            change(renames)
        assert providers() == [CPU, CPU]
    change(3)
    assert providers() == [CUDA, CUDA]
    assert len(os.listdir(root / "a")) == 2
    files = sorted(os.listdir(root / "a"))
    change(1)
    assert sorted(os.listdir(root / "a")) == files


def test_a_copied_package_has_its_manifest_last(ours, asset, tmp_path, monkeypatch):
    package = ours.ModelPackage()
    package.add_shared_asset(str(asset))
    package.commit(str(tmp_path / "package"))
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt), ours.ModelPackage.open(str(tmp_path / "package")) as opened:
        opened.commit(str(tmp_path / "copy"))
    assert os.listdir(tmp_path / "copy") == ["shared_assets"]


def test_an_asset_that_was_copied_in_part_is_copied_again(ours, asset, tmp_path, monkeypatch):
    package = ours.ModelPackage()
    uri = package.add_shared_asset(str(asset))
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            package.commit(str(tmp_path / "package"))
    (tmp_path / "package").rename(tmp_path / "partial")
    package.commit(str(tmp_path / "package"))
    assert ours.ModelPackage.compute_directory_hash(package.resolve_asset_uri(uri)) == uri
    assert [p.name for p in (tmp_path / "partial" / "shared_assets").glob("sha256-*")] == []


def test_references(ort, package, asset, tmp_path):
    uri = package.get_info()["shared_assets"][0]["uri"]
    assert package.resolve_asset_uri(uri) == str(asset)
    assert package.resolve_string_ref(f"{uri}/model.onnx") == str(asset / "model.onnx")
    root = tmp_path / "package"
    package.commit(str(root))
    assert package.resolve_string_ref("a/b") == str(root / "a" / "b")
    context = ort.ModelPackageContext(str(root))
    assert context.resolve_string_ref("a/b") == str(root / "a" / "b")
    for ref, more in (("../a", {}), ("/a", {}), ("a", {"must_exist": True}), ("a", {"base_dir": str(tmp_path)})):
        with pytest.raises(RuntimeError):
            context.resolve_string_ref(ref, **more)
        with pytest.raises((ValueError, FileNotFoundError)):
            package.resolve_string_ref(ref, **more)


def test_mistakes(ort, package, asset, tmp_path):
    for call in (
        lambda: package.set_component_inline("c", "{}"),
        lambda: package.set_variant("main", "v", '{"ep": 1}'),
        lambda: package.set_variant("main", "v", '{"foo": "x"}'),
        lambda: package.set_variant("main", "v", '{"executor_info": {"a": 1}}'),
        lambda: package.set_additional_metadata_json("nowhere", json="{}"),
        lambda: package.set_layout("loose"),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call()
    for call in (
        lambda: package.set_variant("none", "v", "{}"),
        lambda: package.get_variant_json("main", "none"),
        lambda: package.get_component_json("none"),
        lambda: package.add_shared_asset(str(tmp_path / "none")),
        lambda: package.resolve_asset_uri("sha256:00"),
    ):
        with pytest.raises(FileNotFoundError):
            call()
    for call in (
        package.commit,
        lambda: package.commit(str(asset)),
        lambda: package.set_component_external("c", "c.json"),
        lambda: package.add_shared_asset(str(asset), "sha256:00"),
        lambda: ort.ModelPackageContext(str(tmp_path / "none")),
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(OSError):  # noqa: PT011
        ort.ModelPackage.open(str(tmp_path / "none"))
    (tmp_path / "manifest.json").write_text("garbage")
    with pytest.raises(ValueError):  # noqa: PT011
        ort.ModelPackage.open(str(tmp_path))


def test_nothing_suits(ort, state, package, tmp_path):
    package.remove_variant("main", "on the host")
    package.commit(str(tmp_path / "p"))
    context = ort.ModelPackageContext(str(tmp_path / "p"))
    with pytest.raises(RuntimeError):
        context.select_component("main", ort.ModelPackageOptions(ort.SessionOptions()))
    with pytest.raises(RuntimeError):
        context.select_component("none", ort.ModelPackageOptions(ort.SessionOptions()))
    package.set_variant("main", "without a file", json.dumps({"ep": CPU}))
    package.commit()
    chosen = ort.ModelPackageContext(str(tmp_path / "p")).select_component("main", ort.ModelPackageOptions(ort.SessionOptions()))
    with pytest.raises(state.Fail):
        chosen.create_session()
