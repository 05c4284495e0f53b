"""Personal data by shape and by known value: check digits, every disguise, near misses, and what is let through."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import date
from time import process_time
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lib.evals import dates, disguise, pii, planted, taxpayer

DIGITS = st.text("0123456789", min_size=9, max_size=9)
LETTERED = st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=12)
INVISIBLE = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\x00"]
NAME = "José Antônio da Conceição"


def cpf(base: str) -> str:
    return base + taxpayer.check_digits(base)


def dotted_cpf(bare: str) -> str:
    return f"{bare[:3]}.{bare[3:6]}.{bare[6:9]}-{bare[9:]}"


def dotted_cnpj(bare: str) -> str:
    return f"{bare[:2]}.{bare[2:5]}.{bare[5:8]}/{bare[8:12]}-{bare[12:]}"


# --- check digits


@pytest.mark.parametrize(
    ("base", "digits"),
    [
        ("529982247", "25"),
        ("111444777", "35"),
        ("112223330001", "81"),
        ("12ABC34501DE", "35"),  # the example of Serpro's manual
        ("000000000", "00"),
    ],
)
def test_check_digits_are_those_of_published_examples(base, digits):
    assert taxpayer.check_digits(base) == digits


def test_check_digits_by_hand():
    """529982247: 5x10 + 2x9 + 9x8 + 9x7 + 8x6 + 2x5 + 2x4 + 4x3 + 7x2 = 295, rest 9, so 2; then 347, rest 6, so 5."""
    assert 295 % 11 == 9 and 347 % 11 == 6
    assert taxpayer.check_digits("529982247") == "25"


@given(st.text("0123456789", min_size=12, max_size=12))
def test_a_cnpj_of_digits_has_the_digits_it_always_had(base):
    """The rule before 2026, written out: fixed weights over digits."""
    digits = base
    for weights in ([5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]):
        rest = sum(int(d) * w for d, w in zip(digits, weights, strict=True)) % 11
        digits += str(0 if rest < 2 else 11 - rest)
    assert taxpayer.check_digits(base) == digits[12:]


@given(DIGITS)
def test_of_a_hundred_pairs_of_check_digits_one_holds(base):
    assume(len(set(base)) > 1)
    right = [f"{pair:02d}" for pair in range(100) if taxpayer.cpf_holds(f"{base}{pair:02d}")]
    assert right == [taxpayer.check_digits(base)]


@pytest.mark.parametrize("text", ["11111111111", "5299822472", "529.982.247-25", "", "٥٢٩٩٨٢٢٤٧٢٥"])
def test_what_is_no_cpf_does_not_hold(text):
    assert not taxpayer.cpf_holds(text)


@pytest.mark.parametrize("text", ["00000000000000", "12abc34501de35", "12ABC34501DE3A", ""])
def test_what_is_no_cnpj_does_not_hold(text):
    assert not taxpayer.cnpj_holds(text)


@pytest.mark.parametrize("base", ["12345678", "12ABC34501D?", "12abc34501de", "1234567890123"])
def test_a_base_of_another_form_is_refused_without_repeating_it(base):
    with pytest.raises(ValueError, match="no base of a CPF") as fault:
        taxpayer.check_digits(base)
    assert base not in str(fault.value)


# --- shapes


@given(DIGITS, st.sampled_from(["{}", "x {} y", '{{"a": "{}"}}', "tel. {},", "\n{}\n", "CPF{}"]))
def test_every_cpf_is_found_bare_and_dotted_in_any_surroundings(base, around):
    bare = cpf(base)
    assume(len(set(bare)) > 1)
    for form in (bare, dotted_cpf(bare), dotted_cpf(bare).replace(".", " "), f"{bare[:9]}-{bare[9:]}"):
        assert "cpf" in pii.shapes(around.format(form)), form


@given(LETTERED)
def test_every_cnpj_is_found_bare_and_dotted(base):
    bare = base + taxpayer.check_digits(base)
    assume(len(set(bare)) > 1 and not base.isdigit())
    for form in (bare, dotted_cnpj(bare), dotted_cnpj(bare).lower(), f"CNPJ: {bare}."):
        assert "cnpj" in pii.shapes(form), form


@given(DIGITS, st.data())
def test_invisible_characters_full_width_digits_and_line_breaks_hide_no_cpf(base, data):
    bare = cpf(base)
    assume(len(set(bare)) > 1)
    place = data.draw(st.integers(1, 10))
    between = data.draw(st.sampled_from([*INVISIBLE, "\n", "\r\n", "\n  "]))
    broken = bare[:place] + between + bare[place:]
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in broken)
    arabic = "".join(chr(0x660 + int(c)) if c.isdigit() else c for c in broken)
    for form in (broken, wide, arabic, json.dumps(wide), quote(broken)):
        assert "cpf" in pii.shapes(form), ascii(form)


def test_near_misses_count_when_they_are_punctuated_and_not_when_bare():
    assert pii.shapes("529.982.247-26") == ["cpf"]
    assert pii.shapes("12.ABC.345/01DE-36") == ["cnpj"]
    assert pii.shapes("52998224726 and 12ABC34501DE36 and 11222333000182") == []


@pytest.mark.parametrize(
    "text",
    [
        "0.52998224725", "52998224725.5", "1.52998224725e-05", "152998224725", "2026-10-11T12:00:00.123456Z",
        "1765432100123456789", "INV-2026-000123", "1,234.56", "12.345.678,90", "tenant-crux|invoice|simple",
        "e" * 5 + "5299822472512345" + "f" * 11, "sha256:" + "52998224725" + "a" * 53, "deterministic12",
        "due 2026-01-01", "05/06/2026", '"dateOfBirth":null,"dueDate":"2026-01-01"', "v1.2.3", "a@b", "@dataclass",
        "chunk docs/a.md#91234-9183", '"output_tokens": 12345678', "tokens: 12345678", "2099-01-01", "+00:00", "1e+16",
        "+1.0000  0.5  1       3554", "+1.00000000", "2026-12-01T00:00:00.000000Z", "2 + 12345678",
    ],
)  # fmt: skip
def test_ordinary_numbers_words_dates_and_hashes_are_let_through(text):
    assert pii.shapes(text) == []


@pytest.mark.parametrize(
    "text",
    ["ana.lima@example.com", "ANA@EXAMPLE.COM.BR", "ana+x@mail.example.org", "ana [at] example.com", "<a@b.io>",
     "ana＠example.com", "ana\u200b@example.com", "ana&#64;example.com", "ana%40example.com", "joão@exemplo.com.br"],
)  # fmt: skip
def test_e_mails_are_found(text):
    assert "e-mail" in pii.shapes(text)


@pytest.mark.parametrize(
    "text",
    ["(11) 98765-4321", "11 98765-4321", "11987654321", "+55 11 98765-4321", "+5511987654321", "(21) 3456-7890",
     "021 3456-7890", "98765-4321", "+44 20 7946 0958", "+1 (202) 555-0143", "202-555-0143", "(202) 555-0143",
     "+49 30 901820", "（１１）９８７６５‐４３２１", "0055 11 98765-4321"],
)  # fmt: skip
def test_phones_of_brazil_and_elsewhere_are_found(text):
    assert "phone" in pii.shapes(text)


@pytest.mark.parametrize(
    "text",
    ["born 1990-05-17", "Born: 17/05/1990", "date of birth: May 17, 1990", "DOB 05/17/90", "d.o.b. 17.05.1990",
     "nascimento: 17 de maio de 1990", "nascida em 17/5/1990", "data de nasc.: 17-05-1990",
     '"dateOfBirth":"1990-05-17"', "Birth date:\n  17 May 1990", "birthday 17th May 1990"],
)  # fmt: skip
def test_dates_of_birth_are_found_in_every_form(text):
    assert "date of birth" in pii.shapes(text)


@pytest.mark.parametrize(
    "text",
    ["sk-ant-api03-0123456789abcdef", "AIza" + "b1" * 20, "hf_" + "a1" * 17, "ghp_" + "a1" * 18, "AKIA" + "A1" * 8,
     "ASIA" + "A1" * 8, "xoxb-1234567890-abcdef", "github_pat_" + "a1" * 15, "glpat-" + "a1" * 10,
     "sk_live_" + "a1" * 12, "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.abcdefgh12", "-----BEGIN RSA PRIVATE KEY-----",
     "https://user:secret1@example.org/x", "Authorization: Bearer abcdefgh12345", "password=hunter2hunter2",
     'api_token: "abc123def456"', "senha: minhaSenha123"],
)  # fmt: skip
def test_keys_tokens_and_passwords_are_found(text):
    assert "key" in pii.shapes(text)


def test_a_key_of_the_environment_is_found_whatever_its_shape(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "just-words-no-digits")
    assert pii.shapes("it was just-words-no-digits then") == ["key"]


def test_findings_never_hold_what_was_found():
    text = "529.982.247-25 ana@example.com (11) 98765-4321 born 1990-05-17 sk-ant-api03-0123456789abcdef"
    found = pii.shapes(text)
    assert found == ["cpf", "date of birth", "e-mail", "key", "phone"]


@settings(max_examples=200)
@given(st.text())
def test_no_text_makes_the_scan_fail(text):
    pii.shapes(text)
    planted.found(text, [NAME, "1990-05-17", text])


@pytest.mark.parametrize("unit", ["a", "1", "1 ", "a@", "1.", "+1", "token=", "born ", "\\u", "%41", "&amp;", "maio "])
def test_the_time_of_a_scan_grows_with_the_text_and_no_faster(unit):
    def took(size: int) -> float:
        text = unit * (size // len(unit))
        began = process_time()
        pii.shapes(text)
        return process_time() - began

    took(1000)
    assert took(40_000) < 40 * max(took(4_000), 0.02)


# --- dates


@pytest.mark.parametrize(
    "text",
    ["1990-05-17", "1990/5/17", "17/05/1990", "05/17/1990", "17.05.90", "17-5-1990", "17 de maio de 1990",
     "17 maio 1990", "May 17, 1990", "May 17th 1990", "17 May 1990", "17-MAY-1990", "1990 May 17", "19900517",
     "17051990", "17º de maio de 1990", "１７/０５/１９９０"],
)  # fmt: skip
def test_a_day_is_read_in_every_form(text):
    assert date(1990, 5, 17) in dates.readings(f"x {text}, y")
    assert date(1990, 5, 17) in dates.whole(text)


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_day_is_found_in_the_forms_that_have_its_whole_year(day):
    for form in ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y%m%d", "%B %d, %Y", "%d %b %Y"):
        assert planted.found(f"({day.strftime(form)})", {"dateOfBirth": day.isoformat()}) == ["dateOfBirth"]


@pytest.mark.parametrize("text", ["31/02/1990", "1990-13-17", "99999999", "no date", "", "17/05"])
def test_what_is_no_day_is_none(text):
    assert dates.whole(text) == set()


def test_another_day_is_another_day():
    assert planted.found("1990-05-18, 17/06/1990, 1991-05-17", {"dateOfBirth": "1990-05-17"}) == []


# --- planted values

VARIANTS = [
    lambda v: v, str.upper, str.lower, lambda v: unicodedata.normalize("NFD", v),
    lambda v: unicodedata.normalize("NFKD", v),
    lambda v: "".join(c for c in unicodedata.normalize("NFD", v) if not unicodedata.combining(c)),
    lambda v: v.replace(" ", "\u00a0"), lambda v: v.replace(" ", "\n  "), lambda v: v.replace(" ", ""),
    lambda v: v.replace(" ", "_"), lambda v: "\u200b".join(v), lambda v: json.dumps(v), lambda v: quote(v),
    lambda v: "".join(f"&#{ord(c)};" for c in v), lambda v: json.dumps(json.dumps(v)), lambda v: ascii(v),
    lambda v: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in v),
]  # fmt: skip


@pytest.mark.parametrize("value", [NAME, "Łukasz Gonçalves", "李小龙", "Ana Lima", "ana.lima@example.com", "X9-77-KQ"])
@pytest.mark.parametrize("change", VARIANTS)
def test_a_planted_value_is_found_in_every_form(value, change):
    assert planted.found(f"before {change(value)} after", {"secret": value}) == ["secret"]


@settings(max_examples=150)
@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(VARIANTS), st.sampled_from([NAME, "529.982.247-25"]))
def test_a_planted_value_is_found_inside_any_text_and_json(before, after, change, value):
    assume(not re.search(r"[\\%&]\S{0,8}$", before))  # an escape that would swallow the first letter
    assert planted.found(json.dumps({"k": f"{before} {change(value)} {after}"}), [value]) == ["value 1"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("Conceição, José", NAME), ("JOSE ... DA CONCEICAO", NAME), ('{"last":"Conceicao","first":"José"}', NAME),
     ("ana.lima at example dot com", "ana.lima@example.com"),
     ("98765-4321 11", "98765-4321"),
     ("(11) 98765 4321", "+55 11 98765-4321"), ("00052998224725", "529.982.247-25"),
     ("5 2 9 9 8 2 2 4 7 2 5", "52998224725"),
     ("17 de maio de 1990", "1990-05-17"), ("code Q7Z.", "Q7Z")],
)  # fmt: skip
def test_other_forms_of_a_value_are_found(text, value):
    assert planted.found(text, [value]) == ["value 1"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("José alone", NAME), ("Q7Zebra", "Q7Z"), ("nothing", ""), ("nothing", None), ("a b", "b"),
     ("0.199005171234", "1990-05-17"), ("19900517" + "ab" * 28, "1990-05-17"), ("12345678901234", "345678"),
     ("2026-12-01T00:00:00.000000Z", "000.000.000-00")],
)  # fmt: skip
def test_what_is_not_the_value_is_not_found(text, value):
    assert planted.found(text, [value]) == []


def test_labels_are_names_or_numbers_and_never_values():
    assert planted.found(NAME, {"fullName": NAME, "other": "Bruno Reis"}) == ["fullName"]
    assert planted.found(NAME, ["Bruno Reis", NAME]) == ["value 2"]


@given(st.text())
def test_folding_twice_changes_nothing(text):
    once = disguise.fold(text)
    assert disguise.fold(once) == once
    assert disguise.squash(disguise.squash(text)) == disguise.squash(text)
