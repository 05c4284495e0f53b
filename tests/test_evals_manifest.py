"""Version manifests: a result without an identity is refused, naming what is missing."""

from __future__ import annotations

import json

import pytest

from lib.evals import dataset, manifest, report_rows
from lib.evals.manifest import ManifestError

WHOLE = dict.fromkeys(manifest.REQUIRED, "1")


def written(tmp_path, data):
    path = tmp_path / "manifest.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_the_committed_manifest_is_complete_and_asks_for_what_reports_ask_for():
    assert set(manifest.load()) == set(manifest.REQUIRED) == set(report_rows.MANIFEST_FIELDS)


@pytest.mark.parametrize("name", manifest.REQUIRED)
@pytest.mark.parametrize("value", ["absent", None, ""])
def test_a_missing_version_is_named(tmp_path, name, value):
    data = {key: text for key, text in WHOLE.items() if key != name} | ({} if value == "absent" else {name: value})
    with pytest.raises(ManifestError, match=rf"manifest\.json: version manifest is incomplete \(missing: {name}\)"):
        manifest.load(written(tmp_path, data))


def test_several_missing_versions_are_named_together(tmp_path):
    data = {key: text for key, text in WHOLE.items() if key not in ("promptVersion", "modelIdentifier")}
    with pytest.raises(ManifestError, match=r"\(missing: promptVersion, modelIdentifier\)"):
        manifest.load(written(tmp_path, data))


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ([], "not list"),
        ("{", "not JSON"),
        ("null", "not NoneType"),
        (WHOLE | {"codeVersion": 3}, "codeVersion = 3"),
        (WHOLE | {"codeVersion": " "}, "incomplete .missing: codeVersion"),
        (WHOLE | {"codeVersion": "\u200b", "promptVersion": "TODO"}, "incomplete .missing: codeVersion, promptVersion"),
        (WHOLE | {"codeVersion": "a\nb"}, "one line"),
        (WHOLE | {"colour": "red"}, "unknown key 'colour'"),
        ('{"codeVersion": "1", "codeVersion": "2"}', "stands twice"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_another_form_is_refused(tmp_path, data, fault):
    with pytest.raises(ManifestError, match=fault):
        manifest.load(written(tmp_path, data))


def test_each_version_carries_the_hash_of_what_it_names(monkeypatch):
    documents = dataset.load()

    def made(**changed):
        options = {
            "split": "dev",
            "documents": documents,
            "code": ("rules",),
            "identifier": "a model",
            "prompted": True,
        }
        return manifest.complete(manifest.load(), **(options | changed))

    base = made()
    assert base == made() and set(base) == set(manifest.REQUIRED)
    assert base["datasetVersion"] != made(documents=documents[1:])["datasetVersion"]
    assert base["codeVersion"] != made(code=("rules", "values"))["codeVersion"]
    assert made(prompted=False)["promptVersion"] == "none (no prompt)"
    monkeypatch.setattr(manifest.prompt, "SYSTEM", "Guess.")
    changed = {name for name in base if base[name] != made()[name]}
    assert changed == {"promptVersion"}
