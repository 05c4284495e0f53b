"""lib/verify_archive.py: whatever is done to an archive, packed or unpacked, is named, and nothing else is."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import pytest

from lib import archive, verify_archive

BLOB = b"blob 6\0frozen"
OBJECT = hashlib.sha1(BLOB).hexdigest()
OBJECT_NAME = f"history.git/objects/{OBJECT[:2]}/{OBJECT[2:]}"
FILES = {
    "README.md": b"# Read me\n",
    "lib/a.py": b"A = 1\n" * 200,
    "lib/empty.py": b"",
    "figures/s/06_x.svg": b"<svg/>\n",
    "data/ção e espaço.txt": "é\n".encode(),
    OBJECT_NAME: zlib.compress(BLOB, 0),
}
TOP = "minilake-0.1.0-abc"


def sums(files):
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())).encode()


def packed(files, top=TOP):
    return archive.zipped(archive.tarred(files, top=top, executable=(), seconds=1_800_000_000))


def whole():
    return FILES | {"SHA256SUMS": sums(FILES)}


@pytest.fixture
def folder(tmp_path):
    for name, data in whole().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def told(path, capsys):
    """The exit status and what was printed."""
    status = verify_archive.report(str(path))
    return status, capsys.readouterr().out


def wrong(path, capsys):
    """The lines about faults; the status must be 1."""
    status, out = told(path, capsys)
    assert status == 1
    return out.splitlines()


def test_a_whole_folder_and_a_whole_archive_pass_and_say_the_hash_of_the_list(folder, tmp_path, capsys):
    status, out = told(folder, capsys)
    assert status == 0
    assert out == f"6 files, each as SHA256SUMS says; sha256 of SHA256SUMS: {hashlib.sha256(sums(FILES)).hexdigest()}\n"
    (tmp_path / "a.tar.gz").write_bytes(packed(whole()))
    assert told(tmp_path / "a.tar.gz", capsys) == (0, out)


def test_sha256sum_reads_the_same_list(folder):
    tool = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "-a", "256"]
    subprocess.run([*tool, "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)


def test_every_file_that_is_missing_changed_or_extra_is_named(folder, capsys):
    (folder / "README.md").unlink()
    (folder / "lib/a.py").write_bytes(FILES["lib/a.py"] + b"\n")
    (folder / "lib/evil.py").write_bytes(b"")
    assert wrong(folder, capsys) == [
        "README.md: missing",
        "lib/a.py: changed",
        "lib/evil.py: extra",
        "3 faults in 6 files",
    ]


def test_a_name_in_another_case_is_a_missing_and_an_extra_file(folder, capsys):
    (folder / "README.md").rename(folder / "readme.MD")
    assert wrong(folder, capsys)[:2] == ["README.md: missing", "readme.MD: extra"]


def test_links_and_what_is_no_file_are_named_even_where_they_lead_to_the_same_bytes(folder, capsys):
    shutil.move(folder / "README.md", folder.parent / "elsewhere.md")
    (folder / "README.md").symlink_to(folder.parent / "elsewhere.md")
    (folder / "more").symlink_to(folder / "lib")
    (folder / "lib/a.py").unlink()
    (folder / "lib/a.py").mkdir()
    os.mkfifo(folder / "pipe")  # opening it would wait for ever
    assert wrong(folder, capsys)[:4] == [
        "README.md: is a link", "lib/a.py: missing", "more: is a link", "pipe: is no regular file"
    ]  # fmt: skip


def test_names_that_a_terminal_cannot_show_are_written_in_ascii(folder, capsys):
    Path(os.fsdecode(os.fsencode(folder) + b"/\xe9\x1b[31m")).write_bytes(b"")
    assert wrong(folder, capsys)[0] == r"\udce9\x1b[31m: extra"


def test_what_running_makes_is_said_and_not_counted(folder, capsys):
    for name in (".venv/bin/python", "data/build/lakes/x", "lib/__pycache__/a.pyc", "notebooks/.ipynb_checkpoints/n"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    status, out = told(folder, capsys)
    assert status == 0
    assert "made by running: .venv (1 files)" in out and "lib/__pycache__ (1 files)" in out
    assert len(out.splitlines()) == 5


def test_in_an_archive_nothing_is_taken_for_made_by_running(tmp_path, capsys):
    (tmp_path / "a.tar.gz").write_bytes(packed(whole() | {"lib/__pycache__/a.pyc": b"x"}))
    assert wrong(tmp_path / "a.tar.gz", capsys)[0] == "lib/__pycache__/a.pyc: extra"


def test_a_forged_git_object_is_named_even_when_the_list_was_forged_too(folder, capsys):
    (folder / OBJECT_NAME).write_bytes(zlib.compress(b"blob 5\0forged", 0))
    forged = {name: (folder / name).read_bytes() for name in FILES}
    (folder / "SHA256SUMS").write_bytes(sums(forged))
    assert wrong(folder, capsys)[0] == f"{OBJECT_NAME}: is not the git object that its name says"
    (folder / OBJECT_NAME).write_bytes(b"not compressed")
    (folder / "SHA256SUMS").write_bytes(sums(forged | {OBJECT_NAME: b"not compressed"}))
    assert "is not the git object" in wrong(folder, capsys)[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"hello\n", "SHA256SUMS:7: no line `sha256  name`: hello"),
        (b"0" * 64 + b" one-space\n", "SHA256SUMS:7: no line"),
        (b"0" * 64 + b"  torn", "SHA256SUMS:7: no line"),
        (b"0" * 64 + b"  ../../etc/passwd\n", "SHA256SUMS:7: ../../etc/passwd points outside"),
        (b"0" * 64 + b"  /etc/passwd\n", "SHA256SUMS:7: /etc/passwd points outside"),
        (b"0" * 64 + b"  a\\b\n", "points outside"),
        (b"0" * 64 + b"  SHA256SUMS\n", "points outside the archive, or at this list itself"),
        (b"0" * 64 + b"  README.md\n", "SHA256SUMS:7: README.md stands there twice"),
        (b"\xff\xfe\n", "SHA256SUMS:7: no line"),
    ],
)
def test_a_list_that_is_none_is_refused_with_its_line(folder, line, said, capsys):
    with (folder / "SHA256SUMS").open("ab") as file:
        file.write(line)
    assert said in wrong(folder, capsys)[0]


def test_no_list_or_an_empty_one_is_refused(folder, capsys):
    (folder / "SHA256SUMS").write_bytes(b"")
    assert "SHA256SUMS is empty" in wrong(folder, capsys)[0]
    (folder / "SHA256SUMS").unlink()
    assert "there is no file SHA256SUMS" in wrong(folder, capsys)[0]
    assert "No such file" in wrong(folder / "none.tar.gz", capsys)[0]


# --- packed


def test_an_archive_that_is_cut_short_anywhere_does_not_pass(tmp_path, capsys):
    data, path = packed(whole()), tmp_path / "a.tar.gz"
    for end in [*range(0, 12), *range(12, len(data), 97), *range(len(data) - 12, len(data))]:
        path.write_bytes(data[:end])
        assert len(wrong(path, capsys)) == 1, end


def test_no_flipped_bit_passes_that_changes_anything_and_none_beside_the_archives_own_hash(tmp_path, capsys):
    data, path, rng = packed(whole()), tmp_path / "a.tar.gz", random.Random(1)
    plain, idle = verify_archive.unzipped(data), 0
    for at in [*range(0, 20), *rng.sample(range(len(data)), 200), *range(len(data) - 20, len(data))]:
        damaged = bytearray(data)
        damaged[at] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        if verify_archive.report(str(path)) == 0:  # of a compressed stream a few bits mean nothing
            assert verify_archive.unzipped(bytes(damaged)) == plain
            idle += 1
    assert idle <= 5
    (tmp_path / "a.tar.gz.sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  a.tar.gz\n")
    for at in (0, 4, len(data) // 2, *range(len(data) - 12, len(data))):
        damaged = bytearray(data)
        damaged[at] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        assert wrong(path, capsys)[-1].endswith("not the archive that a.tar.gz.sha256 was written for")
    path.write_bytes(data)
    assert told(path, capsys)[0] == 0


def test_bytes_after_the_end_do_not_pass(tmp_path, capsys):
    path = tmp_path / "a.tar.gz"
    for more in (b"\0", b"x", packed(whole())):
        path.write_bytes(packed(whole()) + more)
        assert "bytes after the end of the archive" in wrong(path, capsys)[0]
    plain = archive.tarred(whole(), top=TOP, executable=(), seconds=0)
    path.write_bytes(archive.zipped(plain + b"x" * 512))
    assert "bytes after the end of the tar archive" in wrong(path, capsys)[0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../evil", "../evil: points outside"),
        (f"{TOP}/../../evil", "points outside"),
        ("/etc/evil", "/etc/evil: points outside"),
        ("other/evil", "other/evil: points outside"),
        (f"{TOP}/lib\\evil", "points outside"),
        (TOP, "points outside"),
        (f"{TOP}/README.md", "README.md: stands in the archive twice"),
    ],
)
def test_members_that_would_land_elsewhere_or_hide_another_are_named(tmp_path, name, said, capsys):
    (tmp_path / "a.tar.gz").write_bytes(with_member(tarfile.TarInfo(name)))
    assert any(said in line for line in wrong(tmp_path / "a.tar.gz", capsys))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_members_that_are_no_files_are_named(tmp_path, kind, capsys):
    member = tarfile.TarInfo(f"{TOP}/lib/odd")
    member.type, member.linkname = kind, "/etc/passwd"
    (tmp_path / "a.tar.gz").write_bytes(with_member(member))
    assert wrong(tmp_path / "a.tar.gz", capsys)[0] == "lib/odd: is no regular file"


def with_member(member):
    out = io.BytesIO(archive.tarred(whole(), top=TOP, executable=(), seconds=0))
    with tarfile.open(fileobj=out, mode="a") as tar:
        tar.addfile(member)
    return archive.zipped(out.getvalue())


def test_an_archive_that_unpacks_to_far_more_than_ours_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(verify_archive, "LARGEST", 10_000)
    (tmp_path / "a.tar.gz").write_bytes(packed(whole() | {"zeros": b"\0" * 1_000_000}))
    assert "holds more than 10000 bytes" in wrong(tmp_path / "a.tar.gz", capsys)[0]


def test_another_kind_of_file_is_no_archive(tmp_path, capsys):
    for data in (b"", b"PK\3\4", b"\x1f\x8b\x08\x00aaaaaaaa", verify_archive.HEADER):
        (tmp_path / "a.tar.gz").write_bytes(data)
        assert len(wrong(tmp_path / "a.tar.gz", capsys)) == 1
    (tmp_path / "a.tar.gz").write_bytes(archive.zipped(b"no tar" * 200))
    assert "not a tar archive" in wrong(tmp_path / "a.tar.gz", capsys)[0]


# --- by itself


def test_it_needs_nothing_but_the_standard_library_of_python_3_9():
    tree = ast.parse(Path(verify_archive.__file__).read_bytes(), feature_version=(3, 9))
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in named} <= {*sys.stdlib_module_names}
    later = {"removeprefix", "file_digest", "batched", "pairwise"}  # of 3.9 only the first
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert used & later <= {"removeprefix"}


def test_as_a_script_beside_the_list_it_checks_its_own_folder(folder):
    script = Path(verify_archive.__file__).read_bytes()
    (folder / "verify.py").write_bytes(script)
    (folder / "SHA256SUMS").write_bytes(sums(FILES | {"verify.py": script}))
    command = [sys.executable, "-I", "-S", str(folder / "verify.py")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, env={"LC_ALL": "C"})
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "7 files"), done.stderr
    (folder / "data/ção e espaço.txt").unlink()
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, env={"LC_ALL": "C"}, encoding="utf-8")
    assert done.returncode == 1 and "espa" in done.stdout and not done.stderr
    assert subprocess.run([*command, "a", "b"], capture_output=True).returncode == 2
