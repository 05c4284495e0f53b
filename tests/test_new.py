"""lib/new.py, new_documents.py, new_example.py: a new study passes its own checks, runs, and overwrites nothing."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from embedders import letters

from lib import (
    check,
    cli,
    config,
    embed,
    giveaways,
    jsonl,
    lake,
    lakefile,
    launch,
    material,
    new,
    new_documents,
    new_example,
    paths,
    questions,
    results,
    retrieve,
    rules,
)
from lib.lake import Lake
from lib.lakefile import Git, LakeError
from lib.new_documents import NewError
from lib.schema import Document, sha256

DOCUMENTS = new.TEMPLATES / new.MADE_UP
PROSE = (DOCUMENTS / "docs/decisions.md").read_text(encoding="utf-8")
WATCH = (DOCUMENTS / "docs/watch.md").read_text(encoding="utf-8")
RELEASES = "".join(f"## [{n}.0.0] - 2026\n\nThing number {n} went elsewhere.\n\n" for n in (3, 2, 1))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where studies and lakes go, and what a build leaves; nothing of it in the repository."""
    return move(tmp_path, monkeypatch)


def move(place, monkeypatch):
    for name in ("BUILD", "STUDIES", "LAKES"):
        monkeypatch.setattr(paths, name, place / "data" / name.lower())
    return place / "data"


def create(home, name="mine", **options):
    assert paths.STUDIES.parent == home, "not in the repository"
    return new.create(name, **options)


def fill(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.fixture
def folder(tmp_path):
    return fill(tmp_path / "theirs", {"README.md": PROSE, "docs/watch.md": WATCH, "src/a.py": "LIMIT = 3\n"})


def git(folder, *arguments):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(folder):
    """A repository of somebody else: two commits, a light and an annotated tag on the first."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First")
    git(folder, "tag", "light")
    git(folder, "tag", "-a", "v1", "-m", "one")
    fill(folder, {"CHANGELOG.md": f"# Changes\n\n{RELEASES}"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Second")
    return folder


def pinned(made):
    """The lake of a new study as `lake --pin` and the next loading see it."""
    lake.pin(made.lake)
    return lake.load(made.lake)


# --- what is written


def test_a_new_study_without_a_source_brings_made_up_documents_and_passes_its_own_check(home, capsys):
    made = create(home)
    assert sorted(p.name for p in made.folder.iterdir()) == [
        "DEVIATIONS.md", "PREREGISTRATION.md", "cards.jsonl", "documents", "questions.jsonl", "study.toml"
    ]  # fmt: skip
    found = pinned(made)
    assert made.documents == len(found) == 7
    assert check.faults(config.load(made.folder), found) == []


def test_every_kind_of_source_gives_a_study_whose_lake_can_be_pinned_and_checked(home, repository, folder):
    for name, options in (
        ("a", {"git": str(repository)}), ("b", {"git": str(repository), "ref": "v1"}), ("c", {"folder": folder}),
        ("d", {"git": repository.as_uri(), "ref": "main"}), ("e", {"git": repository.as_uri(), "ref": "v1"}),
    ):  # fmt: skip
        made = create(home, name, **options)
        found = pinned(made)
        assert made.documents == len(found), name
        assert check.faults(config.load(made.folder), found) == [], name
        assert lakefile.load(made.lake).name == name
    assert [d.doc for d in lake.load(home / "lakes/a.toml")] == [
        "CHANGELOG.md#1.0.0", "CHANGELOG.md#2.0.0", "CHANGELOG.md#3.0.0", "README.md", "docs/watch.md", "src/a.py"
    ]  # fmt: skip
    assert [d.doc for d in lake.load(home / "lakes/e.toml")] == ["README.md", "docs/watch.md", "src/a.py"]


def test_the_examples_are_marked_and_verified_by_nobody(home):
    made = create(home)
    study = config.load(made.folder)
    cards, asked = jsonl.read(made.folder / "cards.jsonl", rules.Card), questions.load(study)
    assert {(card.author, card.verified) for card in cards} == {(rules.EXAMPLE, False)}
    for text in [card.decision for card in cards] + [question.question for question in asked]:
        assert text.en.startswith("EXAMPLE") and text.pt.startswith("EXEMPLO")
    assert all(question.note.startswith("EXAMPLE") for question in asked)
    blocks = {(question.block, question.split) for question in asked}
    assert blocks >= {("common", "test"), ("conflict", "test"), ("unanswerable", "test"), ("common", "calibration")}
    assert sum(question.pilot for question in asked) == 1


def test_an_example_is_right_by_its_own_document(home, folder):
    made = create(home, folder=folder)
    texts = {document.doc: document.text for document in pinned(made)}
    for question in questions.load(config.load(made.folder)):
        if question.block == "common":
            (answer,) = [option.en for option in question.options if option.role == "answer"]
            doc, before = re.search(r"in `(.*)`, which word comes right after (\w+)\?", question.question.en).groups()
            assert re.findall(rf"\b{before}\W+(\w+)", texts[doc], re.IGNORECASE) == [answer]
            span = question.evidence[0]
            assert f"{before} {answer}" in texts[doc][span.start : span.end]
        for option in question.options:
            assert question.block != "unanswerable" or option.role == "distractor"


def test_all_options_of_an_example_have_one_length_and_every_comment_of_the_toml_fits_its_keys(home):
    made = create(home)
    for question in questions.load(config.load(made.folder)):
        assert len({len(option.en) for option in question.options}) == 1
    text = (made.folder / "study.toml").read_text(encoding="utf-8")
    assert "{" not in re.sub(r"(?m)^\s*\{ .*\},$", "", text) and text.count("#") > 25
    assert all(len(line) <= 180 for line in text.splitlines())
    gate = text.replace("# [gate]\n# threshold", "[gate]\nthreshold")
    assert tomllib.loads(gate)["gate"] == {"threshold": 0.5}


def test_the_same_documents_and_name_give_the_same_bytes(tmp_path, home, folder, monkeypatch):
    first = create(home, folder=folder)
    second = create(move(tmp_path / "again", monkeypatch), folder=folder)
    for name in ("study.toml", "cards.jsonl", "questions.jsonl", "PREREGISTRATION.md"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
    assert first.lake.read_bytes() == second.lake.read_bytes()


def test_the_chain_runs_to_its_end_with_the_stub(home, folder, monkeypatch):
    made = create(home, folder=folder)
    monkeypatch.setattr(embed, "embedder", lambda name: letters()[0])
    pinned(made)
    assert check.report(made.folder) == 0
    study = config.load(made.folder)
    rows = material.search(material.load(study, frozen=False), replay=False)
    retrieve.write_retrieval(made.folder / "retrieval.jsonl", rows)
    assert launch.pilot(study, language=None) == 0
    assert launch.run(study, launch.Wanted(exploratory=True)) == 0  # frozen it would be, were this tree committed
    found = results.load(study, runs="exploratory-en", calls=None, replicates=100)
    arms = found.tables["arms"]
    assert set(arms["arm"]) == set(study.arms) and set(arms["state"]) == {"complete"}
    assert set(arms["model"]) == {"STUB", "STUB-large"}
    assert len(found.tables["hypotheses"]) == 5
    assert results.standing(5, found.exploratory).startswith("STUB · ")
    assert results.standing(5, results.unfrozen(study), counted=False).startswith("STUB · ")
    assert set(found.tables["hypotheses"]["verdict"]) == {"not computable"}
    assert all("STUB: STUB is no model" in why for why in found.tables["hypotheses"]["reason"])


def test_examples_among_other_cards_and_questions_are_faults(home):
    made = create(home)
    found, study = pinned(made), config.load(made.folder)
    cards = jsonl.read(made.folder / "cards.jsonl", rules.Card)
    own = jsonl.dump(cards[5]).replace(rules.EXAMPLE, "me").replace('"verified":false', '"verified":true')
    jsonl.write(made.folder / "cards.jsonl", cards[:5])
    with (made.folder / "cards.jsonl").open("a", encoding="utf-8") as file:
        file.write(own + "\n")
    told = [str(fault) for fault in check.faults(study, found)]
    assert len(told) == 5 and all("an EXAMPLE of `python -m lib new` among others: remove it" in each for each in told)
    path = made.folder / "questions.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[-1] = lines[-1].replace(rules.EXAMPLE, "my own")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert sum("questions.jsonl" in str(fault) for fault in check.faults(study, found)) == len(lines) - 1


def test_a_card_that_nobody_verified_is_still_a_fault_whoever_wrote_it(home):
    made = create(home)
    found, study = pinned(made), config.load(made.folder)
    path = made.folder / "cards.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace(rules.EXAMPLE, "EXAMPLE of mine"), encoding="utf-8")
    assert sum("verified is false" in str(fault) for fault in check.faults(study, found)) == 6


# --- names, and what is there already


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "../a", "/a", "a\\b", "a b", "-a", ".a", "_a", "a.", "a..b", "ação", "a\n", "a:b", "a*",
     "a" * 65, "a.lock", "x.toml", "a\0b", "~", "a#b", "a?"],
)  # fmt: skip
def test_a_name_that_is_no_plain_name_is_refused_and_nothing_is_written(home, name):
    with pytest.raises(NewError, match=r"a study cannot be called .*; allowed are letters"):
        create(home, name)
    assert not home.exists()


@pytest.mark.parametrize("name", ["CON", "nul", "Aux", "prn", "COM1", "lpt9", "nul.txt", "con.a.b"])
def test_the_name_of_a_device_is_refused_and_nothing_is_written(home, name):
    with pytest.raises(NewError, match="that is a device on Windows"):
        create(home, name)
    assert not home.exists()


@pytest.mark.parametrize("name", ["a", "console", "com", "com10", "nul-1", "a.nul", "A-1", "pytest.9_x", "0", "a" * 64])
def test_plain_names_are_taken(home, name):
    made = create(home, name)
    assert made.folder.name == name
    assert subprocess.run(["git", "check-ref-format", f"refs/tags/prereg-{name}"]).returncode == 0


@pytest.mark.parametrize("there", ["studies/mine", "studies/MINE", "lakes/mine.toml", "lakes/Mine.selection.tsv"])
def test_nothing_that_is_there_is_overwritten_also_not_in_another_case(home, there):
    path = home / there
    path.parent.mkdir(parents=True)
    path.mkdir() if there.startswith("studies") else path.write_text("work of somebody")
    with pytest.raises(NewError, match=rf"{re.escape(str(path))} is there already, and nothing is overwritten"):
        create(home)
    assert [p for p in home.rglob("*") if p.is_file()] == ([] if path.is_dir() else [path])


def test_what_fails_half_way_leaves_nothing_behind(home, folder, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(new.check, "faults", stopped)
    with pytest.raises(KeyboardInterrupt):
        create(home, folder=folder)
    assert [path for path in home.rglob("*") if path.is_file()] == [] and list((home / "studies").iterdir()) == []
    monkeypatch.undo()
    move(home.parent, monkeypatch)
    assert create(home, folder=folder).documents == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"git": "x", "folder": Path("y")}, "--git and --folder"),
        ({"ref": "main"}, "--ref 'main' goes with --git"),
        ({"folder": Path("/no/such")}, "--folder /no/such: no such folder"),
        ({"git": ""}, "--git ''"),
        ({"git": "--upload-pack=touch /tmp/x"}, "--git '--upload-pack"),
        ({"git": ".", "ref": "--all"}, "--ref '--all'"),
        ({"git": ".", "ref": ""}, "--ref ''"),
        ({"git": "https://me:s3cret@example.org/a.git"}, "holds a user or a password"),
        ({"git": "https://token@example.org/a.git"}, "holds a user or a password"),
    ],
)
def test_options_that_cannot_be_used_are_refused_without_the_secret_in_them(home, options, said):
    with pytest.raises(NewError, match=re.escape(said)) as fault:
        create(home, **options)
    assert "s3cret" not in str(fault.value)
    assert list(home.rglob("*.toml")) == []


def test_what_git_cannot_find_is_said_in_its_words(home, repository, tmp_path):
    (tmp_path / "plain").mkdir()
    for options, said in (
        ({"git": str(tmp_path / "none")}, "no such folder"),
        ({"git": str(tmp_path / "plain")}, "not a git repository"),
        ({"git": str(repository / "docs")}, "not a git repository"),  # a folder inside one is none
        ({"git": str(repository), "ref": "gone"}, "no branch, tag or commit 'gone' there"),
        ({"git": repository.as_uri(), "ref": "gone"}, "no branch or tag 'gone' there"),
        ({"git": (tmp_path / "none").as_uri()}, "git failed"),
        ({"git": repository.as_uri(), "ref": "ab" * 20}, "has no commit"),
    ):
        with pytest.raises(LakeError, match=said):
            create(home, **options)


# --- which documents


def test_a_ref_is_pinned_to_the_commit_that_it_is_now(repository, tmp_path):
    first, second = git(repository, "rev-parse", "light"), git(repository, "rev-parse", "main")
    for url in (str(repository), repository.as_uri()):
        for ref, commit in {"HEAD": second, "main": second, "light": first, "v1": first, first: first}.items():
            assert new_documents.git_source(url, ref, base=tmp_path).commit == commit, (url, ref)
    assert new_documents.git_source(str(repository), "main~1", base=tmp_path).commit == first
    assert new_documents.git_source(str(repository), "main", base=tmp_path) == Git(url=str(repository), commit=second)


def test_a_place_inside_the_repository_is_relative_and_another_one_absolute(tmp_path):
    assert new_documents.relative(paths.STUDIES / "x/documents", paths.LAKES) == "../studies/x/documents"
    assert new_documents.relative(tmp_path, paths.LAKES) == tmp_path.as_posix()
    assert new_documents.relative(paths.STUDIES, tmp_path) == paths.STUDIES.as_posix()


def test_what_cannot_be_a_document_is_left_out_and_counted(home, folder, tmp_path):
    fill(folder, {
        "latin.txt": "Decisão".encode("latin-1"), "empty.md": "", "blank.rst": " \n\t\n", "picture.md": b"\x89PNG\0\1",
        "long.txt": "word soup " * 10_000, "a star*.md": "x", "a hash#.md": "x", "a tab\t.md": "x", "logo.png": b"\0",
        "LICENSE.txt": "MIT", "docs/with space/café.md": WATCH.replace("watch", "guard"), ".github/x.md": "x",
        "node_modules/a/README.md": "x", "docs/windows.md": "A line\r\nand another one\r\n",
    })  # fmt: skip
    (folder / "link.md").symlink_to(folder / "README.md")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_bytes(b"x")
    made = create(home, folder=folder)
    assert made.left_out == {
        "not UTF-8": 1, "blank": 2, "binary": 1, "longer than 40000 characters": 1,
        "with a name that a rule cannot hold": 4,
    }  # fmt: skip
    assert [document.doc for document in pinned(made)] == [
        "README.md", "docs/watch.md", "docs/windows.md", "docs/with space/café.md", "src/a.py"
    ]  # fmt: skip
    steps = "\n".join(new.next_steps(made))
    assert "left out 9 files: 1 binary; 2 blank; 1 longer than 40000 characters; 1 not UTF-8; 4 with a name" in steps
    for verb in ("lake mine --pin", "check", "recall mine --write", "pilot", "freeze", "run", "analyse", "draft"):
        assert f"python -m lib {verb}" in steps


def test_a_first_choice_is_small_and_takes_prose_then_changelogs_then_code(home, folder):
    fill(folder, {f"docs/p{n:02}.md": f"Page {n}\n" for n in range(30)})
    fill(folder, {f"src/c{n:02}.py": f"N = {n}\n" for n in range(30)})
    fill(
        folder,
        {"CHANGES.rst": "Changes\n=======\n\n" + "".join(f"Version {n}.1\n-----------\n\nX\n\n" for n in range(9))},
    )
    made = create(home, folder=folder)
    origins = [document.origin for document in pinned(made)]
    assert {origin: origins.count(origin) for origin in origins} == {"releases": 9, "docs": 12, "code": 5}
    assert made.left_out == {new_documents.FULL: 30 + 2 - 12 + 30 + 1 - 5}
    steps = "\n".join(new.next_steps(made))
    assert "left out 46 files: 46 beyond the size of a first choice (12 files of prose, 3 changelogs, " in steps
    assert f"{made.lake} lists those that were taken" in steps


THEIRS = """
README.md README.pt-BR.md CONTRIBUTING.md CHANGELOG.md docs/index.md docs/api.md docs/de/index.md docs/adr/0001-cache.md
setup.py src/pkg/__init__.py src/pkg/core.py src/pkg/file_lock.py src/pkg/deep/er.py tests/test_core.py how-to.md
coverage/control.py
"""
NOT_THEIRS = """
pkg.egg-info/SOURCES.txt src/pkg.egg-info/top_level.txt requirements.txt requirements-dev.txt dev-requirements.txt
requirements/base.txt poetry.lock conda-lock.txt src/pkg/_vendor/other.py vendor/README.md node_modules/left/README.md
third_party/x/a.c build/lib/pkg/core.py src/pkg/wire_pb2.py web/app.min.js web/types.d.ts web/api.generated.ts
LICENSE.txt CMakeLists.txt venv/lib/site.py pkg-1.0.dist-info/README.md .github/README.md src/pkg/_version.py
"""


def test_a_first_choice_begins_with_the_readme_and_leaves_out_what_the_project_did_not_write():
    found = sorted(new_documents._candidates(frozenset(f"{THEIRS}{NOT_THEIRS}".split())), key=new_documents._rank)
    assert [name for _, name in found] == [
        "README.md", "docs/index.md", "docs/adr/0001-cache.md", "docs/api.md", "how-to.md", "CONTRIBUTING.md",
        "README.pt-BR.md", "docs/de/index.md", "CHANGELOG.md", "coverage/control.py", "src/pkg/core.py",
        "src/pkg/file_lock.py", "src/pkg/deep/er.py", "setup.py", "src/pkg/__init__.py", "tests/test_core.py",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "made"),
    [
        ("# Code generated by protoc. DO NOT EDIT.\n", True),
        ("<!-- @generated -->\n", True),
        ("# This file was automatically generated by SWIG\n", True),
        ("Clients are generated from the schema; edit the schema.\n", False),
        ("x\n" * 400 + "DO NOT EDIT\n", False),
    ],
)
def test_a_file_that_says_that_a_program_made_it_is_left_out(home, folder, head, made):
    fill(folder, {"src/wire.py": head})
    assert create(home, folder=folder).left_out == ({"that a program generated": 1} if made else {})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (RELEASES, ["3.0.0", "2.0.0", "1.0.0"]),
        ("# 1.2\n\na\n# 1.1\n\nb\n# 1.0\n", ["1.2", "1.1", "1.0"]),
        ("pkg 3.0\n=======\n\nx\n\nv2.0\n----\n\nVersion 1.0 (old)\n-----------------\n", ["3.0", "2.0", "1.0"]),
        ("# 1.0\n# 1.0\n# 0.9\n", None),
        ("# 1.1\n# 1.0\n", None),
        ("no headings\n", None),
    ],
)
def test_changelogs_are_cut_at_their_releases_where_each_stands_once(text, parts):
    rule = new_documents._split("c", text)
    found = new_documents.documents.split(text, rule, where="c") if rule else None
    assert (list(found) if found else None) == parts


def test_a_place_without_documents_says_what_was_there(home, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(NewError, match=r"no document in its 0 files \(no file of a kind that we know\); known: prose"):
        create(home, folder=tmp_path / "none")
    fill(tmp_path / "none", {"a.md": "", "b.md": b"\xff"})
    with pytest.raises(NewError, match=r"no document in its 2 files \(1 blank; 1 not UTF-8\)"):
        create(home, folder=tmp_path / "none")


# --- examples


def made_lake(**texts):
    rows = (Document(doc, "docs", doc, text, sha256(text)) for doc, text in texts.items())
    return Lake("l", tuple(rows), "0" * 64)


def test_documents_with_too_little_text_are_told_how_much_there_is(home, tmp_path):
    with pytest.raises(
        NewError, match=r"1 documents with 11 characters hold too little running text .* 0 of the 9 places"
    ):
        new_example.make(made_lake(a="Hello there"), study="s")
    with pytest.raises(NewError, match="too little running text"):
        create(home, folder=fill(tmp_path / "short", {"a.md": "日本語の文書。" * 50}))


def test_one_document_is_enough_and_other_scripts_with_words_are_words():
    for text in (PROSE, GREEK):
        example = new_example.make(made_lake(a=text), study="s")
        assert len(example.cards) == 6 and len(example.questions) == 8
        assert list(giveaways.of_bank(example.questions, example.seed)) == []


GREEK = """Κάθε πλοίο γράφεται πρώτα στο βιβλίο, επειδή κάποτε χάθηκαν δύο φορτία χωρίς ίχνος. Ύστερα ακούγεται σήμα.
Κανένας φύλακας δεν αφήνει λάμπα σβηστή όταν φυσάει νοτιάς, γιατί παλιά έσπασε μόλος. Πλοίαρχοι πληρώνουν τέλη κάθε
μήνα, εκτός όταν μένουν λιγότερο από τρεις νύχτες. Μετρητές παγώνουν συχνά, οπότε χρειάζεται ξύλινη βέργα δίπλα.
Ψαράδες ζητούν άδεια πριν δέσουν σκάφη μπροστά στην αποθήκη. Παλιές σημειώσεις μένουν άθικτες, διορθώσεις μπαίνουν κάτω.
Χειμώνα καιρό κλείνει βόρεια πύλη, νότια πόρτα μένει πάντα ανοιχτή, πέτρινη σκάλα οδηγεί ψηλά, εκεί κάθεται βάρδια.
"""


# --- the command


def test_the_command_says_what_it_did_and_a_mistake_is_one_line_with_status_2(home, folder, capsys):
    assert cli.main(["new", "mine", "--folder", str(folder)]) == 0
    assert f"wrote {home / 'studies/mine'}" in capsys.readouterr().out
    assert cli.main(["new", "mine", "--folder", str(folder)]) == 2
    told = capsys.readouterr().err
    assert told.startswith("NewError: ") and told.count("\n") == 1


def test_the_templates_are_part_of_the_package_and_hold_no_third_party_text():
    listed = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert "new_study/**/*" in listed["package-data"]["lib"]
    assert sorted(p.relative_to(new.TEMPLATES).as_posix() for p in new.TEMPLATES.rglob("*") if p.is_file()) == [
        "DEVIATIONS.md.txt", "PREREGISTRATION.md.txt", "documents/CHANGELOG.md", "documents/README.md",
        "documents/docs/decisions.md", "documents/docs/watch.md", "lake.toml.txt", "study.toml.txt",
    ]  # fmt: skip


# --- what may be frozen


def test_a_new_study_may_be_frozen_as_it_is_and_not_once_it_has_a_model_or_material_of_its_own(home):
    made = create(home)
    assert check.unwritten(config.load(made.folder)) == []
    toml, prereg = made.folder / "study.toml", made.folder / "PREREGISTRATION.md"
    stub = toml.read_text()
    toml.write_text(stub.replace('provider = "stub"\nmodel = "STUB"\n', 'provider = "local"\nmodel = "x"\n'))
    told = [str(fault) for fault in check.unwritten(config.load(made.folder))]
    assert f"{made.folder / 'cards.jsonl'}:1: an EXAMPLE of `python -m lib new`: write your own and remove it" in told
    where = next(n for n, line in enumerate(prereg.read_text().splitlines(), start=1) if line.startswith("TO WRITE"))
    assert any(each.startswith(f"{prereg}:{where}: still says 'TO WRITE': write it, 'TO WRITE: which") for each in told)
    assert len(told) == prereg.read_text().count("TO WRITE") + len(config.load(made.folder).models) - 2 + 6 + 8
    toml.write_text(stub)
    prereg.write_text("All is written.\n")
    for name in ("cards.jsonl", "questions.jsonl"):
        path = made.folder / name
        path.write_text(path.read_text().replace(rules.EXAMPLE, "a person"))
    assert check.unwritten(config.load(made.folder)) == []


def test_freeze_refuses_what_is_not_written_with_file_and_line(home, capsys):
    made = create(home)
    lake.pin(made.lake)
    for name in ("cards.jsonl", "questions.jsonl"):
        path = made.folder / name
        own = path.read_text().replace(rules.EXAMPLE, "a person")
        path.write_text(re.sub(r'"verified": ?false', '"verified": true', own))
    assert cli.main(["freeze", str(made.folder)]) == 1
    told = capsys.readouterr()
    assert f"{made.folder / 'PREREGISTRATION.md'}:" in told.out and "still says 'TO WRITE'" in told.out
    assert "what is not written is not frozen" in told.err and not (made.folder / "FROZEN.sha256").exists()


def test_without_a_source_it_says_that_its_documents_are_made_up_and_how_to_give_others(home, folder):
    said = "\n".join(new.next_steps(create(home)))
    assert "made up: --git REPOSITORY [--ref TAG] or --folder DIR" in said
    assert "made up" not in "\n".join(new.next_steps(create(home, "other", folder=folder)))
