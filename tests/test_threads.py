"""A GitHub export becomes one document a thread, whatever the order of its lines."""

import json
import random

import pytest

from lib import threads
from lib.lakefile import LakeError

API = "https://api.github.com/repos/o/r"
ANA = {"login": "ana"}

ISSUE = {
    "url": f"{API}/issues/7", "number": 7, "title": "Strict mode", "state": "closed", "state_reason": "not_planned",
    "user": ANA, "created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-02-01T00:00:00Z",
    "closed_at": "2020-02-01T00:00:00Z", "body": "Please.\r\nThanks.",
}  # fmt: skip
COMMENT = {
    "url": f"{API}/issues/comments/1", "issue_url": f"{API}/issues/7", "id": 1, "user": None,
    "created_at": "2020-01-03T00:00:00Z", "updated_at": "2020-01-03T00:00:00Z", "body": "No.",
}  # fmt: skip
LATER = COMMENT | {"id": 2, "user": ANA, "created_at": "2020-01-04T00:00:00Z", "body": "Why?"}
PULL_AS_ISSUE = {
    "url": f"{API}/issues/8", "number": 8, "title": "Add it", "state": "closed", "user": ANA, "body": None,
    "created_at": "2020-03-01T00:00:00Z", "updated_at": "2020-03-05T00:00:00Z", "closed_at": "2020-03-04T00:00:00Z",
    "pull_request": {"merged_at": "2020-03-04T00:00:00Z"},
}  # fmt: skip
PULL = {
    "url": f"{API}/pulls/8", "issue_url": f"{API}/issues/8", "number": 8, "title": "Add it", "state": "closed",
    "user": ANA, "body": None, "created_at": "2020-03-01T00:00:00Z", "updated_at": "2020-03-05T00:00:00Z",
    "closed_at": "2020-03-04T00:00:00Z", "merged_at": "2020-03-04T00:00:00Z", "head": {},
}  # fmt: skip
REVIEW = {
    "pull_request_url": f"{API}/pulls/8", "id": 3, "user": {"login": "bo"}, "state": "CHANGES_REQUESTED",
    "submitted_at": "2020-03-02T00:00:00Z", "body": "",
}  # fmt: skip
WRAPPER = REVIEW | {"id": 4, "state": "COMMENTED"}
CODE_COMMENT = {
    "url": f"{API}/pulls/comments/5", "pull_request_url": f"{API}/pulls/8", "id": 5, "path": "src/a.py",
    "user": {"login": "bo"}, "body": "Here.",
    "created_at": "2020-03-02T00:00:01Z", "updated_at": "2020-03-02T00:00:01Z",
}  # fmt: skip
RELEASE = {
    "url": f"{API}/releases/9", "id": 9, "tag_name": "v1.0", "name": "", "author": ANA, "body": "Notes.",
    "created_at": "2020-04-01T00:00:00Z", "published_at": "2020-04-02T00:00:00Z",
}  # fmt: skip
ALL = [ISSUE, COMMENT, LATER, PULL_AS_ISSUE, PULL, REVIEW, WRAPPER, CODE_COMMENT, RELEASE]

EXPECTED = {
    "issues/7": (
        "# Strict mode\n\nissue #7 by ana, 2020-01-01T00:00:00Z, closed as not planned 2020-02-01T00:00:00Z\n\n"
        "Please.\nThanks.\n\n## comment by ghost, 2020-01-03T00:00:00Z\n\nNo.\n\n"
        "## comment by ana, 2020-01-04T00:00:00Z\n\nWhy?\n"
    ),
    "pulls/8": (
        "# Add it\n\npull request #8 by ana, 2020-03-01T00:00:00Z, merged 2020-03-04T00:00:00Z\n\n"
        "## review (changes requested) by bo, 2020-03-02T00:00:00Z\n\n"
        "## comment on the code at src/a.py by bo, 2020-03-02T00:00:01Z\n\nHere.\n"
    ),
    "releases/v1.0": "# v1.0\n\nrelease v1.0 by ana, 2020-04-02T00:00:00Z\n\nNotes.\n",
}


def export(tmp_path, *objects):
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in objects), encoding="utf-8")
    return path


def test_issues_pull_requests_reviews_and_releases_become_documents(tmp_path):
    assert threads.documents(export(tmp_path, *ALL)) == EXPECTED
    assert list(EXPECTED) == sorted(EXPECTED)
    assert [threads.origin(doc) for doc in EXPECTED] == ["threads", "threads", "releases"]


def test_order_and_repetition_of_lines_change_nothing(tmp_path):
    shuffled = ALL * 2
    random.Random(1).shuffle(shuffled)
    assert threads.documents(export(tmp_path, *shuffled)) == EXPECTED


def test_of_two_versions_the_one_updated_last_counts(tmp_path):
    newer = COMMENT | {"body": "Well, yes.", "updated_at": "2021-01-01T00:00:00Z"}
    for lines in ([ISSUE, COMMENT, newer], [newer, COMMENT, ISSUE]):
        text = threads.documents(export(tmp_path, *lines))["issues/7"]
        assert "Well, yes." in text
        assert "No." not in text


def test_an_open_issue_says_so(tmp_path):
    still_open = ISSUE | {"state": "open", "state_reason": None, "closed_at": None}
    assert (
        "issue #7 by ana, 2020-01-01T00:00:00Z, open\n" in threads.documents(export(tmp_path, still_open))["issues/7"]
    )


def without(item, key):
    return {name: value for name, value in item.items() if name != key}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"url": ', "export.jsonl:2: not JSON"),
        ('"text"', "export.jsonl:2: a JSON str; each line is one object: issue, pull request"),
        ("{}", "export.jsonl:2: not one of issue, pull request, .*: KeyError: 'issue_url'"),
        (json.dumps(without(ISSUE, "body")), "export.jsonl:2: not one of .*: KeyError: 'body'"),
        (json.dumps(without(ISSUE, "number")), "export.jsonl:2: not one of .*: KeyError: 'number'"),
        (json.dumps(ISSUE | {"user": 3}), "export.jsonl:2: not one of .*: TypeError"),
        (json.dumps(ISSUE | {"body": 3}), "export.jsonl:2: not one of .*: AttributeError"),
        (json.dumps(without(RELEASE, "author")), "export.jsonl:2: not one of .*: KeyError: 'author'"),
        (json.dumps(without(LATER, "id")), "export.jsonl:2: not one of .*: KeyError: 'id'"),
        (
            json.dumps(LATER | {"issue_url": f"{API}/issues/99"}),
            "export.jsonl:2: a reply in thread 99, which the export does not hold",
        ),
        (
            json.dumps(ISSUE | {"url": "https://api.github.com/repos/o/other/issues/7"}),
            "export.jsonl:2: two repositories in one export, allowed is one: .*/o/r, .*/o/other",
        ),
    ],
)
def test_a_faulty_line_is_named(tmp_path, line, message):
    path = export(tmp_path, ISSUE)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(LakeError, match=message):
        threads.documents(path)


def test_a_line_that_is_not_utf8_is_named(tmp_path):
    path = export(tmp_path, ISSUE)
    path.write_bytes(path.read_bytes() + b'{"body": "\xff"}\n')
    with pytest.raises(LakeError, match=r"export\.jsonl:2: not UTF-8 at byte 10"):
        threads.documents(path)


def test_an_empty_export_is_refused(tmp_path):
    with pytest.raises(LakeError, match="an empty export; it holds at least one issue"):
        threads.documents(export(tmp_path))
