"""The eval documents: what a data file may hold, and that only the gate opens the holdout."""

from __future__ import annotations

import ast
import json

import pytest

from lib import cli, paths
from lib.evals import dataset, generate, likeness
from lib.evals.dataset import DatasetError
from lib.evals.fields import SCHEMAS
from lib.evals.holdout_key import HoldoutClosed, HoldoutKey
from lib.jsonl import RowError

KEY = HoldoutKey(purpose="tests of the dataset")
MAY_NAME_THE_KEY = {"lib/evals/dataset.py", "lib/evals/generate.py", "lib/evals/gate.py", "lib/evals/holdout_key.py"}
MAY_MAKE_ONE = "lib/evals/gate.py"
# Which refuses to write there, and which hashes it to show that it is untouched.
MAY_NAME_THE_FILE = {"lib/evals/cases.py", "lib/evals/incident.py"}


def row(**changed):
    made = {
        "id": "t-1", "tenantId": "tenant-aster", "critical": False, "docType": "receipt", "complexity": "simple",
        "sourceText": "RECEIPT", "expectedFields": dict.fromkeys(SCHEMAS["receipt"]),
    }  # fmt: skip
    return made | changed


@pytest.fixture
def file(tmp_path):
    """Writes rows (or lines as they are) as a data file."""

    def write(*rows):
        path = tmp_path / "documents.jsonl"
        lines = [each if isinstance(each, str) else json.dumps(each) for each in rows]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("where", ["id", "docType", "tenantId"])
def test_a_document_whose_name_shows_its_own_personal_value_is_refused_without_showing_it(file, where, capsys):
    value = {"id": "Ana-Paula-Souza", "docType": "Ana Paula Souza", "tenantId": "tenant-anapaulasouza"}[where]
    personal = {"piiPolicy": {"requiresRedaction": ["fullName"]}, "expectedFields": {"fullName": "Ana Paula Souza"}}
    path = file(row(**{"docType": "unknown"} | personal | {where: value}))
    assert cli.main(["evals", "--system", "baseline", "--documents", str(path)]) == 2
    said = capsys.readouterr()
    assert "documents.jsonl:1: id, tenantId or docType shows a personal value" in said.err
    assert "souza" not in (said.out + said.err).casefold().replace("-", "")


# --- the committed files


def test_dev_and_holdout_have_at_least_the_references_numbers_of_documents():
    assert len(dataset.load()) >= 16
    assert len(dataset.holdout(KEY)) >= 9


def test_no_id_and_no_text_stands_in_both_splits_generated_ones_included():
    dev, held = dataset.load(generated=480), dataset.holdout(KEY, generated=480)
    assert {d.id for d in dev} & {d.id for d in held} == set()
    assert {d.source_text for d in dev} & {d.source_text for d in held} == set()
    assert len({d.id for d in dev}) == len(dev) == len(dataset.load()) + 480


@pytest.mark.parametrize("documents", [dataset.load(), dataset.holdout(KEY)], ids=["dev", "holdout"])
def test_each_split_covers_tenants_types_and_complexities_and_has_the_critical_adversarial_notice(documents):
    assert {d.tenant_id for d in documents} == set(generate.TENANTS)
    assert {d.doc_type for d in documents} == set(SCHEMAS)
    assert {d.complexity for d in documents} == set(generate.COMPLEXITIES)
    assert {d.tenant_id for d in documents if d.critical} == {"tenant-crux"}
    found = [
        d
        for d in documents
        if (d.tenant_id, d.doc_type, d.complexity) == ("tenant-crux", "contract-notice", "adversarial")
    ]
    assert found and all(d.expected_fields["effectiveDate"] is None and "MEMO" in d.source_text for d in found)


@pytest.mark.parametrize("documents", [dataset.load(), dataset.holdout(KEY)], ids=["dev", "holdout"])
def test_every_label_that_is_not_null_can_be_read_off_its_document_and_people_are_marked_as_personal(documents):
    for each in documents:
        for name, label in each.expected_fields.items():
            if label and SCHEMAS[each.doc_type][name] in ("name", "code"):
                assert label in each.source_text, (each.id, name)
        expected = {name for name in each.expected_fields if name in generate.PII}
        assert set(each.pii_fields) == expected, each.id


def test_no_tax_id_of_the_committed_documents_has_right_check_digits():
    ids = [d.expected_fields.get("taxId") for d in [*dataset.load(), *dataset.holdout(KEY)]]
    assert len([each for each in ids if each]) >= 4
    assert [each for each in ids if each and is_a_cpf(each)] == []


def is_a_cpf(text):
    """Check digits by the rule of the sum modulo 11, written apart from the generator's."""
    digits = [int(c) for c in text if c.isdigit()]
    for n in (9, 10):
        rest = sum(d * w for d, w in zip(digits[:n], range(n + 1, 1, -1), strict=True)) % 11
        if digits[n] != (0 if rest < 2 else 11 - rest):
            return False
    return True


def test_the_check_digit_rule_of_these_tests_knows_a_right_number():
    assert is_a_cpf("529.982.247-25") and not is_a_cpf("529.982.247-24")


# --- the holdout


def test_the_holdout_does_not_open_without_the_gates_key():
    for ask in (lambda: dataset.load("holdout"), lambda: dataset.holdout(None), lambda: dataset.holdout("key")):
        with pytest.raises(HoldoutClosed, match="gate"):
            ask()


def test_the_holdouts_file_is_not_read_as_a_file_of_dev_documents_under_any_path(tmp_path):
    link = tmp_path / "link.jsonl"
    link.symlink_to(dataset.FOLDER / "dataset-holdout.jsonl")
    for path in (dataset.FOLDER / "dataset-holdout.jsonl", link):
        with pytest.raises(HoldoutClosed):
            dataset.load(path=path)


def test_a_copy_of_holdout_documents_is_refused_as_dev_documents(tmp_path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((dataset.FOLDER / "dataset-holdout.jsonl").read_bytes())
    with pytest.raises(DatasetError, match=r"ids of the other split.*hd-0005"):
        dataset.load(path=copy)


@pytest.mark.parametrize("generated", [False, True])
@pytest.mark.parametrize(
    "changed", [str, lambda text: "\n\n" + text.replace(" ", "  ").replace("\n", "\r\n") + "\t", str.upper,
                lambda text: text.replace(":", " \u200b-"), lambda text: text.replace("\n", "\nSeen by the desk.\n", 1),
                lambda text: text.replace("e", "\u0435"), lambda text: text[:40] + "\u0436" + text[41:],
                lambda text: "My own cover page\nof two lines\n" + "  ".join(text.split())],
    ids=["as it is", "white space", "case", "punctuation", "a line", "Cyrillic", "a letter", "a page around it"],
)  # fmt: skip
def test_a_document_of_the_holdout_is_no_dev_document_under_a_new_id(file, changed, generated, capsys):
    held = dataset.holdout(KEY, generated=1_000 if generated else 0)[-1]
    line = json.loads(dataset.dump(held)) | {"id": "mine-1", "sourceText": changed(held.source_text)}
    path = file(row(), line)
    with pytest.raises(DatasetError, match=r":2: 'mine-1': its text is that of .* of the other split"):
        dataset.load(path=path)
    assert cli.main(["evals", "--system", "workflow", "--documents", str(path)]) == 2
    assert capsys.readouterr().out == ""


def test_no_text_of_dev_is_one_of_the_holdout_but_for_its_form():
    held = {generate.text_mark(each.source_text) for each in dataset.holdout(KEY, generated=dataset.KNOWN)}
    assert not held & {generate.text_mark(each.source_text) for each in dataset.load(generated=2_000)}


def test_the_generators_part_of_the_holdout_does_not_open_either_and_no_split_is_made_up():
    for key in (None, "key"):
        with pytest.raises(HoldoutClosed, match="gate"):
            generate.documents("holdout", [0], key=key)
    assert generate.documents("holdout", [0], key=KEY)[0].id == "gen-holdout-000000"
    with pytest.raises(ValueError, match="allowed are dev, holdout"):
        generate.documents("test", [0])


def test_what_is_kept_of_the_holdouts_texts_without_a_key_are_hashes():
    kept = generate.index("holdout", 2)
    assert not any(isinstance(each, str) for each in kept._where) and kept._again(1) == likeness.read(
        generate.documents("holdout", [1], key=KEY)[0].source_text
    )
    marks = [*kept._again(1), *dataset.quotable()]
    assert all(isinstance(each, int) for some in marks for each in some)


@pytest.mark.parametrize("value", [52998224725, ["Ana Paula Souza"], {"a": "x; Ana Paula Souza"}])
def test_a_value_of_the_wrong_type_is_not_repeated_in_the_message(file, value):
    faulty = row(docType="intake-id", expectedFields={"fullName": None, "taxId": value, "dateOfBirth": None})
    for changed in (faulty, row(sourceText=value), row(complexity=value)):
        with pytest.raises(RowError, match="must be") as fault:
            dataset.load(path=file(changed))
        assert "52998224725" not in str(fault.value) and "Souza" not in str(fault.value)


def test_only_the_gate_makes_a_key_and_no_other_module_names_the_key_or_the_holdouts_file():
    for path in sorted([*(paths.ROOT / "lib").rglob("*.py"), *(paths.ROOT / "scripts").rglob("*.py")]):
        name = path.relative_to(paths.ROOT).as_posix()
        tree = ast.parse(path.read_bytes())
        named, called, texts = set(), set(), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named |= {part for alias in node.names for part in alias.name.split(".")}
                named |= set((getattr(node, "module", "") or "").split("."))
            elif isinstance(node, ast.Name | ast.Attribute):
                named.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            if isinstance(node, ast.Call):
                called.add(ast.unparse(node.func).split(".")[-1])
        if name not in MAY_NAME_THE_KEY:
            assert "HoldoutKey" not in named, name
        if name != MAY_MAKE_ONE:
            assert "HoldoutKey" not in called, name
        if name not in MAY_NAME_THE_FILE:
            assert not any("dataset-holdout" in each for each in texts), name


# --- files that are not ours


def test_an_unknown_type_is_a_document_like_any_other_whatever_fields_it_expects(file):
    unknown = row(docType="bill-of-lading", expectedFields={})
    (found,) = dataset.load(path=file(unknown))
    assert found.doc_type == "bill-of-lading" and found.pii_fields == ()


def test_an_empty_text_and_nulls_everywhere_are_a_document(file):
    (found,) = dataset.load(path=file(row(sourceText="")))
    assert found.source_text == "" and set(found.expected_fields.values()) == {None}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"id": ""}, "an id is letters"),
        ({"id": "a b"}, "an id is letters"),
        ({"id": "gen-dev-000001"}, "generated documents"),
        ({"tenantId": "aster"}, "tenantId 'aster'"),
        ({"tenantId": "tenant-Crux"}, "tenantId 'tenant-Crux'"),
        ({"expectedFields": {"merchantName": None}}, "receipt has merchantName, totalAmount"),
        ({"expectedFields": dict.fromkeys([*SCHEMAS["receipt"], "tip"])}, "receipt has merchantName"),
        ({"piiPolicy": {"requiresRedaction": ["taxId"]}}, "piiPolicy names taxId"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_its_line_and_what_is_allowed(file, changed, fault):
    with pytest.raises(DatasetError, match=r"documents\.jsonl:2: ") as raised:
        dataset.load(path=file(row(id="t-0"), row(**changed)))
    assert fault in str(raised.value)


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(row(critical="yes")),
        json.dumps(row(complexity="odd")),
        json.dumps(row(expectedFields={"totalAmount": 3})),
        json.dumps(row(sourceText=None)),
        json.dumps(row(extra=1)),
        json.dumps({"id": "t-1"}),
        "[]",
        "{",
        "",
        "null",
        json.dumps(row(piiPolicy={"requiresRedaction": "taxId"})),
        json.dumps(row(sourceText="\ud800")),
        '{"id": "t-1", "id": "t-2"}',
        "[" * 100_000,
    ],
)
def test_a_line_of_another_form_is_refused_with_its_place(file, line):
    with pytest.raises((RowError, DatasetError), match=r"documents\.jsonl:1"):
        dataset.load(path=file(line, row()))


def test_one_id_twice_and_a_tenant_that_is_critical_only_at_times_are_refused(file):
    with pytest.raises(DatasetError, match="line 1 already"):
        dataset.load(path=file(row(), row()))
    with pytest.raises(DatasetError, match="critical is True"):
        dataset.load(path=file(row(), row(id="t-2", critical=True)))


def test_a_file_without_documents_and_one_that_is_not_utf8_are_refused(file, tmp_path):
    with pytest.raises(DatasetError, match="no documents"):
        dataset.load(path=file())
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe7"}\n')
    with pytest.raises(RowError, match="not UTF-8"):
        dataset.load(path=tmp_path / "latin.jsonl")


def test_an_unknown_split_and_a_negative_number_are_refused():
    with pytest.raises(ValueError, match="allowed are dev and holdout"):
        dataset.load("test")
    with pytest.raises(ValueError, match="from 0 on"):
        dataset.load(generated=-1)


def test_dumped_documents_are_read_as_they_were(file):
    documents = dataset.load()
    again = dataset.load(path=file(*map(dataset.dump, documents)))
    assert again == documents


def test_the_version_changes_with_every_label_and_text_and_with_nothing_else():
    documents, version = dataset.load(), dataset.version
    other = [*documents[:-1], documents[0]]
    assert version("dev", documents) == version("dev", dataset.load())
    assert len({version("dev", documents), version("dev", other), version("holdout", documents)}) == 3


def test_the_models_sample_is_large_enough_and_has_more_of_the_critical_adversarial_documents():
    dev, held = dataset.pooled(), dataset.pooled(KEY)
    assert len(dev) + len(held) >= 120
    strata = [(d.tenant_id, d.doc_type, d.complexity) for d in held]
    counts = {stratum: strata.count(stratum) for stratum in generate.STRATA}
    assert min(counts.values()) >= 1
    for doc_type in SCHEMAS:
        assert counts["tenant-crux", doc_type, "adversarial"] >= 8
