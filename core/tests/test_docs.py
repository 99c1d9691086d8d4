"""Every example of the documents and of --help works: they are taken out of the text and run.

A fence of `sh`, `bash` or `python` is run, in the order of the document and then once more, in a folder with the files of the demo. What
takes an environment of its own, or long, is marked in the text, `sh elsewhere` for a fence and a comment `# takes ...` in a help
text, and run by CI instead: ELSEWHERE names where, and a test sees to it that it is so. Every fence says what it is.
"""

import importlib
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

from sardonyx.cli import main
from sardonyx.cli.app import COMMANDS
from sardonyx.runtime import discovery

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN, SHOWN, MARK = ("sh", "bash", "python"), ("toml", "text", "json"), "elsewhere"
SHELL = frozenset("|&;<>$`")

# command -> a file, and what stands in it if that file runs the command
ELSEWHERE = {
    "pip install ./core ./ep-cpu && sardonyx demo": ("noxfile.py", 'str(env / "bin/sardonyx"), "demo"'),
    "pip install nox && nox": (".ci/run", "pip install -q nox\nnox\n"),
    "sardonyx conformance cpu -k test_relu": ("noxfile.py", '"pytest", "--pyargs", "sardonyx_conformance"'),
}
# Its status says whether the machine's installation is in order, which is not for these tests to decide.
STATUS = {"sardonyx doctor": (0, 1)}
NEEDS = {"onnxruntime": "onnxruntime", "digit.pgm": "PIL", "openvino": "openvino"}


def fences(path: Path, *, elsewhere: bool = False) -> list[tuple[str, str]]:
    """(kind, text) of the fences that are run here, or of those marked."""
    found = [(m[1], m[3], m[2].strip() == MARK) for m in FENCE.finditer(path.read_text("utf-8"))]
    return [(kind, text) for kind, text, marked in found if kind in RUN and marked == elsewhere]


def commands(text: str) -> list[str]:
    """The commands of a shell fence, one per line; a backslash continues a line, # begins a comment."""
    lines = (line.partition("  #")[0].strip() for line in text.replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def run(command: str) -> None:
    if command.startswith("sardonyx ") and not SHELL & set(command):
        assert main(shlex.split(command)[1:]) in STATUS.get(command, (0,)), command
        return
    path = f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    done = subprocess.run(["bash", "-ec", path + command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder of an example: what `sardonyx demo --write .` leaves."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--write", "."]) == 0
    return tmp_path


def need(text: str) -> None:
    """Skip, with the reason, an example of something that this environment does not have."""
    for word, module in NEEDS.items():
        if word in text:
            pytest.importorskip(module, reason=f"an example needs {module}")


# The walk-through needs a package that it builds as it goes; the conformance suite's tests run it.
OWN_TEST = {"docs/writing-an-ep.md"}
RUNNABLE = [d for d in DOCUMENTS if fences(d) and d.relative_to(ROOT).as_posix() not in OWN_TEST]


@pytest.fixture
def namespace(monkeypatch):
    """Gives namespaces for Python examples, each of a module of its own."""

    def fresh() -> dict[str, object]:
        module = types.ModuleType("example_of_a_document")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module.__dict__

    yield fresh
    discovery.unregister("mine")


def run_python(text: str, document: Path, names: dict[str, object]) -> None:
    discovery.unregister("mine")
    exec(compile(text, f"{document.name}: {text.splitlines()[0]}", "exec"), names)


@pytest.mark.parametrize("document", RUNNABLE, ids=lambda d: d.relative_to(ROOT).as_posix())
def test_examples_of_documents_and_a_second_time(document, folder, namespace):
    found = fences(document)
    need("\n".join(text for _, text in found))
    for _ in range(2):
        names = namespace()
        for kind, text in found:
            if kind == "python":
                run_python(text, document, names)
                continue
            for command in commands(text):
                run(command)


@pytest.mark.parametrize("document", RUNNABLE, ids=lambda d: d.relative_to(ROOT).as_posix())
def test_every_python_example_needs_at_most_the_first(document, folder, namespace):
    first, *others = [text for kind, text in fences(document) if kind == "python"] or [""]
    for text in others:
        names = namespace()
        run_python(first, document, names)
        run_python(text, document, names)


@pytest.mark.parametrize("command", ELSEWHERE)
def test_commands_that_ci_runs(command):
    file, text = ELSEWHERE[command]
    assert text in (ROOT / file).read_text("utf-8")
    told = [c for d in DOCUMENTS for _, body in fences(d, elsewhere=True) for c in commands(body)]
    told += [line.partition("  #")[0].strip() for name in COMMANDS for line in examples(name) if "  # takes " in line]
    assert command in told, "nothing says this any more"


def test_what_is_marked_is_run_by_ci_and_every_fence_says_what_it_is():
    told = [c for d in DOCUMENTS for _, body in fences(d, elsewhere=True) for c in commands(body)]
    assert set(told) <= set(ELSEWHERE)
    for document in DOCUMENTS:
        kinds = {m[1] for m in FENCE.finditer(document.read_text("utf-8"))}
        assert kinds <= {*RUN, *SHOWN}, document


def examples(name: str) -> list[str]:
    return [line.strip() for line in importlib.import_module(f"sardonyx.cli.commands.{name}").EXAMPLE.splitlines() if "sardonyx" in line]


def help_examples(capsys, *arguments: str) -> list[str]:
    """The commands of the section Examples of a help text."""
    main([*arguments, "--help"])
    out = capsys.readouterr().out
    return [line.strip() for line in out[out.index("Examples:") :].splitlines() if line.strip().startswith("sardonyx ")]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_help(name, folder, capsys):
    found = help_examples(capsys, name)
    assert found == examples(name)
    need("\n".join(found))
    for command in found:
        if "  # takes " not in command:
            run(command)


def test_examples_of_the_main_help(folder, capsys):
    found = help_examples(capsys)
    assert found
    for command in found:
        run(command)


def test_links_lead_somewhere():
    broken = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text("utf-8")):
            if "://" not in target and not (document.parent / target).exists():
                broken.append(f"{document.relative_to(ROOT)}: {target}")
    assert not broken, ", ".join(broken)


def test_paths_named_in_documents_exist():
    missing = []
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")):
        for path in re.findall(r"`((?:core|ep-cpu|ep-native-cpp|conformance|examples|docs)/[\w./-]+)`", document.read_text("utf-8")):
            if not (ROOT / path).exists():
                missing.append(f"{document.name}: {path}")
    assert not missing, ", ".join(missing)


def test_the_list_of_operators_is_true():
    kernels = pytest.importorskip("sardonyx_ep_cpu.kernels", reason="the list is of the provider cpu").kernels
    text = (ROOT / "docs/user-guide.md").read_text("utf-8")
    told = text[text.index("Of com.microsoft it runs:") :].partition(":")[2].partition("\n\n#")[0].strip(" .\n")
    assert [name.strip() for name in told.split(",")] == sorted({k.op for k in kernels if k.domain == "com.microsoft"})
