"""Disguises: what a text is under escapes, packings, look-alikes, and known values in all of them."""

from __future__ import annotations

import base64
import json
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.evals import dates, disguise, escapes, lookalikes, planted, redact

NAME, CPF, BORN, MAIL = "Ana Paula Souza", "529.982.247-25", "1990-05-17", "ana.lima@example.com"
VALUES = {"name": NAME, "cpf": CPF, "born": BORN, "mail": MAIL, "phone": "+55 11 98765-4321"}
CYRILLIC = str.maketrans("aeopcxyAEOPCXS", "аеорсхуАЕОРСХЅ")


def each(form: str, text: str = NAME) -> str:
    return "".join(form.format(ord(character)) for character in text)


def packed(text: str) -> list[str]:
    data = text.encode()
    once = base64.b64encode(data).decode()
    return [
        once, base64.urlsafe_b64encode(data).decode().rstrip("="), base64.b64encode(once.encode()).decode(),
        base64.b64encode(text.encode("utf-16-le")).decode(), data.hex(), data.hex(" "),
        data.hex(":"), data.hex().upper(),
        "0x" + data.hex(), " ".join(f"0x{byte:02x}" for byte in data),
        base64.b64encode(json.dumps(text).encode()).decode(),
    ]  # fmt: skip


SHOWN = {
    "name": [
        NAME.translate(CYRILLIC), NAME.translate(CYRILLIC).upper(), "Αnα Ραυlα Sουzα",
        "ΑΝΑ ΡΑULΑ SΟUΖΑ", "Ana Paula Տօսzа",
        "ᴀɴᴀ ᴘᴀᴜʟᴀ ꜱᴏᴜᴢᴀ", "Ａｎａ Ｐａｕｌａ Ｓｏｕｚａ", "𝐀𝐧𝐚 𝐏𝐚𝐮𝐥𝐚 𝐒𝐨𝐮𝐳𝐚", "𝒜𝓃𝒶 𝒫𝒶𝓊𝓁𝒶 𝒮ℴ𝓊𝓏𝒶", "🅰🅽🅰 🅿🅰🆄🅻🅰 🆂🅾🆄🆉🅰",
        "Ⓐⓝⓐ Ⓟⓐⓤⓛⓐ Ⓢⓞⓤⓩⓐ", "ᗩᑎᗩ ᑭᗩᑌᒪᗩ ᔕOᑌZᗩ", "ᎪΝᎪ ᏢᎪUᏞᎪ ᏚOUᏃᎪ", "Ấńă Paula Sóuzą",
        "aNA pAULA sOUZA", "4n4 P4ul4 $0uz4", "Ana Pau1a 5ouza",
        "A\u200bn\u200da P\u00adaula Sou\u2060za",
        "\u2066Ana\u2069 \u2067Paula\u2069 \u202dSouza\u202c", "\u202eazuoS aluaP anA",
        "azuoS aluaP anA", "".join(chr(0xE0000 + ord(character)) for character in NAME),
        "A. P. Souza", "A.P. Souza", "A.P.Souza", "A P Souza", "AP Souza", "A. Souza",
        "Souza, A. P.", "SOUZA, A.", "Souza AP",
        "Ana P. Souza", "Ana P. S.", "Souza Ana Paula", "anapaulasouza",
        "Ana<b>Paula</b>Souza", "A-n-a P-a-u-l-a S-o-u-z-a",
        each("\\u{{{:x}}}"), each("\\u{:04x}"), each("\\{:03o}"), each("={:02X}"), each("%{:02X}"),
        each("&#{};"), each("&#x{:x};"),
        each("\\x{:02x}"), each("\\U{:08x}"), each("U+{:04X} "), each("%u{:04x}"),
        "\\N{LATIN CAPITAL LETTER A}na Paula Souza",
        "Ana Pau=\nla Souza", json.dumps({"first": "Ana", "middle": "Paula", "last": "Souza"}), *packed(NAME),
    ],
    "born": [
        "17th May, '90", "17th of May ’90", "1990年5月17日", "１９９０年５月１７日", "1990년 5월 17일",
        "17 de maio de 1990", "05/17/1990",
        "17-V-1990", "17.V.90", "the 17th day of May, 1990", "17|05|1990", "17_05_1990", "1990:05:17", "17 mai 1990",
        "17. Mai 1990", "17 de mayo de 1990", "17 maggio 1990", "'90-05-17", "17。05。1990", "17&#47;05&#47;1990",
        '{"day":"17","month":"05","year":"1990"}', *packed(BORN),
    ],
    "cpf": [
        '{"a":"529.982","b":"247-25"}', '{"a":"529.98","b":"2.247-25"}', "a: 529.982\nb: 247-25", "a=529982&b=24725",
        '["529.982", "247-25"]', '{"0":"529","1":"982","2":"247","3":"25"}',
        "529.982.247-2S", "S29.98Z.247-25".replace("Z", "2"),
        "52-742.289.925", "➎➋➒.➒➑➋.➋➍➐-➋➎", "5️⃣2️⃣9️⃣9️⃣8️⃣2️⃣2️⃣4️⃣7️⃣2️⃣5️⃣", "𝟓𝟐𝟗.𝟗𝟖𝟐.𝟐𝟒𝟕-𝟐𝟓", *packed(CPF),
    ],
    "mail": [
        "ana [dot] lima [at] example [dot] com", "ana.lima(at)example.com", "ana ponto lima arroba example ponto com",
        "ana_dot_lima_at_example_dot_com", MAIL.translate(CYRILLIC), "moc.elpmaxe@amil.ana", *packed(MAIL),
    ],
    "phone": ["5511987654321", "(11) 9 8765.4321", "11*98765*4321", *packed("11987654321")],
}  # fmt: skip
HIDDEN = {
    "name": ["Ana", "Souza", "a souza cruz", "banana paulasou", "A. Santos", "Anna Pauline Sousa",
             "Paula S. Ana", "A. P. Silva",
             "casa Souza", "Ana Lima; Bruno Reis; Carla Dias; Davi Nunes and, at last, Souza"],
    "born": ["1990-05-18", "17/06/1990", "May 17", "1990", "17 May 2090", "19900518", "1990年5月18日"],
    "cpf": ["529.982.247", "2026-12-01T02:50:15.389000Z", "529.982.247-2", '{"a":"529.982","b":"247-26"}'],
    "mail": ["ana.lima", "example.com", "ana.lima@example.org", "look at example dot com"],
    "phone": ["98765-4322", "2026-11-98"],
}  # fmt: skip


@pytest.mark.parametrize(("label", "text"), [(label, text) for label, texts in SHOWN.items() for text in texts])
def test_a_known_value_is_found_in_every_disguise(label, text):
    assert planted.found(f"before {text} after", VALUES) == [label]


@pytest.mark.parametrize(("label", "text"), [(label, text) for label, texts in HIDDEN.items() for text in texts])
def test_another_value_is_not_taken_for_it(label, text):
    assert label not in planted.found(f"before {text} after", VALUES)


@pytest.mark.parametrize("value", ["Ηρα Παπαδοπούλου", "Анна Петрова", "Արամ Խաչատրյան", "Łukasz Gonçalves", "李小龙"])
@pytest.mark.parametrize(
    "change", [str.upper, str.lower, lambda value: json.dumps(value), lambda value: packed(value)[0]]
)
def test_a_name_in_its_own_script_is_found_as_it_is_written(value, change):
    assert planted.found(f"x {change(value)} y", [value]) == ["value 1"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Аnа", "Ana"), ("ᴘᴀᴜʟᴀ", "PAULA"), ("ŠØUΖA", "SOUZA"), ("➎①５٥", "5155"), ("ⱯNⱯ", "ANA"),
     ("🇦🅰🄰", "AAA"), ("plain", "plain"),
     ("中文", "中文")],
)  # fmt: skip
def test_a_look_alike_is_read_as_what_it_looks_like(text, shown):
    assert lookalikes.latin(disguise.plain(text)) == shown


def test_the_table_of_look_alikes_has_a_letter_of_ascii_for_each_and_none_twice():
    pairs = [pair for table in lookalikes.TABLES.values() for pair in zip(*table, strict=True)]
    assert len({one for one, _ in pairs}) == len(pairs) == len(lookalikes.LETTERS)
    assert all(not one.isascii() and other.isascii() and other.isalnum() for one, other in pairs)


@pytest.mark.parametrize("text", ["no escape", "50 % of = 7", "C:\\dir", "\\u12", "\\x4", "&zzz;", "a\\", "+1 U+"])
def test_what_is_no_escape_stays(text):
    assert escapes.opened(text) == text


@pytest.mark.parametrize("text", ["deterministic words only", "a" * 64, "0" * 64, "2026-10-11 12:00", "AAAAAAAAAAAA"])
def test_what_holds_no_text_is_not_unpacked(text):
    assert escapes.unpacked(text) == ""


@pytest.mark.parametrize("text", ["&#" + "1" * 5000, "&#x" + "f" * 5000 + ";", "\\u{ffffff}",
        "\\U99999999", "\ud800", "\\ud800",
                                  "\\N{NO SUCH NAME}", "\\N{LATIN}", "=", "%", "\\",
                                  "\u202e", "U+FFFFFF", "====", "0x0x"])  # fmt: skip
def test_a_broken_escape_makes_no_scan_fail(text):
    assert redact.scan(text, VALUES) == []


@settings(max_examples=100)
@given(st.text(), st.sampled_from([(label, text) for label, texts in SHOWN.items() for text in texts]))
def test_words_around_it_hide_no_value(around, shown):
    label, text = shown
    assert label in planted.found(f"{around.replace(chr(0x202E), '')}\n; {text} ;", VALUES)


LONG = 400_000
UNITS = ["a", "1", "@", "\\u", "-", "&#1", "=41", "\u0430"]


@pytest.mark.parametrize("unit", UNITS)
def test_a_scan_of_a_long_text_is_a_matter_of_seconds(unit):
    """Four times the text takes four times as long, and not sixteen; a scan that grows faster takes minutes here."""

    def took(size: int) -> float:
        text = unit * (size // len(unit))
        began = process_time()
        redact.scan(text + "g!", VALUES)
        return process_time() - began

    short = took(LONG // 4)
    assert took(LONG) < 8 * max(short, 0.1)


def test_every_day_has_the_months_of_six_languages():
    assert len(dates.NAMES) == 12
    for text in ("17 maggio 1990", "17 mayo 1990", "17 mai 1990", "17 Mai 1990", "17 maio 1990", "17 May 1990"):
        assert dates.date(1990, 5, 17) in dates.whole(text)
