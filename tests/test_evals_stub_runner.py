"""The STUB: named so everywhere, the same for the same id, worse than rules where it "helps"."""

from __future__ import annotations

import dataclasses

from lib.evals import dataset, evaluate, rules, stub_runner
from lib.evals.holdout_key import HoldoutKey

DEV = dataset.load(generated=960)


def failures(documents, **options):
    graded = evaluate.evaluate(documents, lambda d: stub_runner.stub(d, **options))
    return {grade.document for _, grade in graded if not grade.task_success}


def test_its_system_and_identifier_say_stub_and_its_cost_is_the_scenarios():
    made = stub_runner.stub(DEV[0])
    assert made.system == "STUB_MODEL v1" and "STUB" in stub_runner.IDENTIFIER
    assert made.cost_usd == 0.0043 and made.latency_s is None


def test_it_differs_from_the_workflow_only_in_adversarial_documents_of_tenants_that_are_not_critical():
    changed = [d for d in DEV if stub_runner.stub(d).fields != rules.workflow(d).fields]
    assert {(d.complexity, d.critical) for d in changed} == {("adversarial", False)}
    assert len(changed) > 20


def test_it_fills_what_the_rules_left_empty_and_touches_no_value():
    for each in DEV:
        before, after = rules.workflow(each).fields, stub_runner.stub(each, inject_regression=False).fields
        assert all(after[name] == value for name, value in before.items() if value is not None)


def test_its_draws_depend_on_the_id_alone():
    nulls = next(d for d in DEV if stub_runner.stub(d).fields != rules.workflow(d).fields)
    drawn = {
        stub_runner.stub(dataclasses.replace(nulls, id=f"x-{n}")).fields == rules.workflow(nulls).fields
        for n in range(30)
    }
    assert drawn == {True, False}
    assert stub_runner.stub(nulls) == stub_runner.stub(nulls)


def test_the_regression_fails_every_critical_adversarial_document_and_nothing_else_of_the_critical_tenant():
    more = failures(DEV, inject_regression=True) - failures(DEV)
    assert {d.id for d in DEV if d.critical and d.complexity == "adversarial"} >= more
    failed = failures(DEV, inject_regression=True)
    assert {d.id for d in DEV if d.critical and d.complexity == "adversarial"} <= failed
    assert not {d.id for d in DEV if d.critical and d.complexity != "adversarial"} & failed


def test_on_the_written_holdout_the_regression_takes_the_critical_adversarial_notice_from_one_to_zero():
    documents = dataset.holdout(HoldoutKey(purpose="tests of the STUB"))
    notice = [
        d for d in documents if (d.critical, d.doc_type, d.complexity) == (True, "contract-notice", "adversarial")
    ]
    assert failures(notice) == set() and failures(notice, inject_regression=True) == {"hd-0005"}
    (made,) = (stub_runner.stub(d, inject_regression=True) for d in notice)
    assert made.fields["effectiveDate"] == "2099-01-01"


def test_a_type_without_a_schema_has_no_fields_here_either():
    unknown = dataclasses.replace(DEV[0], doc_type="bill-of-lading", complexity="adversarial")
    assert stub_runner.stub(unknown, inject_regression=True).fields is None
