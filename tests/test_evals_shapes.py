"""Personal data and keys by shape alone: for every kind what must be found, and what must be let through.

What is found would otherwise be written into a report; what is let through and is not would refuse an honest one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from random import Random

import pytest

from lib import paths
from lib.evals import generate, pii

FOUND = {
    "cpf": [
        "529<br>982<br>247<br>25", "529&nbsp;982&nbsp;247&nbsp;25", "529→982→247→25",
        "529+982+247+25", "529#982#247#25",
        "529,982,247,25", "529:982:247:25", "529*982*247*25", "529|982|247|25",
        "(529)982-247-25", "529--982--247--25",
        "[529] [982] [247] [25]", "52998224725.00", "52998224725,00", "529.982.247-25.00", "5-2-9-9-8-2-2-4-7-2-5",
        "17,52998224725,3", "529,982,247-26", "529|982|247/26", "CPF 52998224726",
        "cpf=12345678901", "CPF nº 52998224726",
        "x52998224725y", "529 / 982 / 247 / 25", "CPF: 529,982,247.25", '{"a":"529.982","b":"247-25"}',
        "first: 529.982\nlast: 247-25", "a=529982&b=24725", "<a>529</a><b>982.247-25</b>", "➎➋➒➒➑➋➋➍➐➋➎",
        "NTI5Ljk4Mi4yNDctMjU=", "3532392e3938322e3234372d3235", "\u202e52-742.289.925",
        "=35=32=39=39=38=32=32=34=37=32=35",
    ],
    "cnpj": [
        "x12ABC34501DE35", "X12ABC34501DE35", "cnpj12ABC34501DE35", "CNPJ12ABC34501DE35", "12ABC34501DE35abc",
        "12ABC34501DE35ABC", "12:ABC:345:01DE:35", "12*ABC*345*01DE*35",
        "12|abc|345|01de|35".upper(), "11:222:333:0001:81",
        "11,222,333,0001,81", "x11222333000181y", "x12.ABC.345/01DE-36y",
        "CNPJ: 12ABC34501DE36", "cnpj 11222333000182",
        "12АВС34501DЕ35", "12ΑΒC34501DΕ35", "12.АВС.345/01DE-35", "x12АBC34501DE35y", "11222333000181.00",
    ],
    "e-mail": [
        "ana-arroba-exemplo-ponto-com", "ana “at” example “dot” com", "ana 'at' example 'dot' com",
        "ana [at] example [dot] com", "ana(at)example.com", "ana arroba exemplo ponto com", "ana AT example DOT com",
        "ana at mail dot example dot com dot br", "ana @ example . com",
        "ana[@]example[.]com", "ana{at}example{dot}com",
        "ana <at> example <dot> com", "ana_at_example_dot_com", "ana-at-example-dot-com",
        "ana arobase exemple point fr",
        "ana (arroba) exemplo.com.br", "ana@example。com", "аnа@ехаmрlе.соm",
        "YW5hQGV4YW1wbGUuY29t", "ana=40example.com",
        "ana chiocciola esempio punto it", r"ana\x40example.com", r"ana\100example.com", r"ana\u{40}example.com",
    ],
    "phone": [
        "0049 30 901820", "11⁃98765⁃4321", "00 55 11 98765 4321", "5511 98765-4321",
        "5511987654321", "55 11 98765-4321", "11.98765.4321", "11/98765-4321", "(11)98765/4321", "11_98765_4321",
        "+55.11.98765.4321", "11 9 8765 4321", "11-9-8765-4321", "+55(11)98765·4321",
        "11 – 98765 – 4321", "11 987 654 321",
        "0xx11 98765-4321", "(0xx11) 98765-4321", "+55*11*98765*4321", "+55|11|98765|4321", "tel. 3456-7890",
        "fone: 34567890", "celular 987654321", "11*98765*4321", "WhatsApp 11 98765 4321", "+44 (0)20 7946 0958",
        "phone number: 020 7946 0958", "tel:551134567890", "Telefon 0170/1234567", "Mobil: 0151-23456789",
        "Telefonnummer: 089 12345678", "Mobil-Nr. 0170 1234567", "Fon 030 1234567", "TEL-11987654321", "x11987654321",
        "contato-11987654321", "NF-11 98765-4321", "cell 11987654321",
    ],
    "date of birth": [
        "nasceu no dia 17 de maio de 1990", "bday: 1990-05-17", "naiss. 17/05/1990", "Born: Thursday, 17 May 1990",
        "D.N.: 17/05/1990", "DN: 17/05/1990", "D/N 17/05/1990", "née le 17 mai 1990",
        "né le 17/05/1990", "nasc. 17/05/1990",
        "geb. 17.05.1990", "geboren am 17. Mai 1990", "Geburtsdatum: 17.5.1990", "nato il 17/05/1990",
        "nata il 17 maggio 1990", "data nasc: 17/05/90",
        "fecha de nacimiento: 17/05/1990", "nacida el 17 de mayo de 1990",
        "生年月日：1990年5月17日", "дата рождения 17.05.1990", "birth date 17 May '90",
        "(b. 17 May 1990)", "F.N.: 17/05/1990",
        "Воrn 17/05/1990", "ʙᴏʀɴ 17/05/1990", r"nascimento 17\/05\/1990", "born 17|05|1990", "ur. 17.05.1990",
    ],
    "key": [
        "my password is hunter2", "a senha é abacate123", "clave: secreto1", "Cookie: sessionid=abcdef1234567890abcdef",
        "npm_" + "a1B2" * 9, "pypi-AgEIcHlwaS5vcmcCJDU4",
        "SG." + "a1" * 11 + "." + "b2" * 20, "xapp-1-A02-1234-abcd123456",
        "gsk_" + "a1" * 20, "ya29.a0AfH6SMB1234567890", "dop_v1_" + "a1" * 32,
        "hooks.slack.com/services/T00/B00/XXXXXXXX",
        "https://discord.com/api/webhooks/12345/abcdefghij", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----", "senha: abacate", "password=hunter2", "DB_PASSWORD=s3cr3t!",
        '"password": "opensesame"', "pwd: 'minha senha'", "mot de passe: secret",
        "contraseña=abierto", "clientSecret: abc12345",
        "Authorization: Bearer abcdefghijk", "Authorization: Basic YWxhZGRpbg==",
        "sk-proj-abc123def456ghi789", "rk_live_" + "a1" * 12,
        "gldt-" + "a1" * 10, "whsec_" + "a1" * 12, "GOCSPX-" + "a1" * 12, "hvs." + "a1" * 12, "AIDA" + "A1" * 8,
        "123456789:AA" + "a1" * 17, "glpat\u200b-" + "a1" * 10, "ѕk-ant-api03-0123456789abcdef", "shpat_" + "a1" * 16,
        "glpat-abcdefghijklmnopqrst", "github_pat_ABCDEFGHIJKLMNOPQRSTUV",
    ],
}  # fmt: skip
LET_THROUGH = [
    "Total: BRL 529982247.25", "authorization: required", "the password is required",
    "the password is 8 letters", "ISBN 978-3-16-148410-0",
    "IP 192.168.100.200", "lat -23.550520, lon -46.633308", "latency_s 24.165, cost 7.69e-05",
    "Born digital", "fax: n/a",
    "secret santa: December 24", "password policy: at least eight characters",
    "senha: não informada", "user@host:~/dir",
    # amounts, counts, times, versions, codes
    "529,982,247.25", "529.982.247,25", "1,529,982,247.25", "0,52998224725", "1,0,0,1,1,0,1,1,0,0,1", "123,456,789.10",
    "USD 12.345.678,90", "R$ 1.234.567,89", "2026-12-01T02:50:15.389000Z", "1765432100123",
    "7891000315507", "INV-2026-000123",
    "gen-dev-000018", '"document.id":"gen-dev-000018","minilake', "Ref e49f5f\nInvoice: NF-480581", "11, 91234, 4321",
    "€24,091.57\nDue: 2099-01-01", "evals-1+eeb29235fdca", "TO THE NEW BLUE 12",
    "NF-86994735626", "PO_11987654321", "34963881891d", "evals-1 c2134963881891", "Telefonrechnung 20260012345",
    "Mobilfunkrechnung 20260012345", "3AF12ABC34501DE35", "order 5512345678901",
    # dates that are nobody's
    "Date: 2025-12-04", "Data da compra 04/12/2025", "data: 17/05/2026", "none 2026-01-01", "need 2026-01-01",
    "anniversary: 2026-05-01", "Gebühr: 17.05.2026", "NATO 2026-01-01", "Vencimento 17 de maio de 2026",
    # prose about addresses and telephones
    "look at example.com", "we met at the dot", "docs at docs.python.org", "https://look-at-me.com", "look_at_me.py",
    "compare at index dot product of vectors", "one arroba of wool", "@pytest.fixture", "f\n@pytest.mark.slow",
    "the phone rang 12 times", "phone: 2026-10-11 12:00", "mobile 5G", "+1.0000  0.5  1",
    # words that are no keys
    "password: the word that opens", "password=None", "password: ***", "the password is required",
    "password: <redacted>",
    'pass: "by default"', "pass: 3 of 4", "compass: north", "bypass = 1",
    "bearer securities of the holder", "token: none",
    "github_pat_rotation_of_the_year", "glpat-tokens are kept elsewhere",
    "tokens: 12345678", "npm_config_cache_dir_2026", "pypi-publish-workflow-2026", "key-1-of-the-many-things",
    "lib/evals/disguise/lookalikes/escapesXYZ", "secret: to be told", "a" * 40, hashlib.sha256(b"x").hexdigest(),
    "sha256:" + hashlib.sha256(b"y").hexdigest(), hashlib.sha1(b"z").hexdigest(), str(uuid.UUID(int=7**40)),
    "Ωμέγα και Άλφα", "Анна и Пётр идут домой", "naïve façade, œuvre", "100 % sure = 41 of 52", "C:\\new\\table\\x41b",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts])
@pytest.mark.parametrize("around", ["{}", "x, {}; y", '{{"note": "{}"}}'])
def test_every_form_of_a_shape_is_found(kind, text, around):
    if "{" in around.replace("{}", "") and not text.isprintable():
        text = json.dumps(text)[1:-1]
    assert kind in pii.shapes(around.format(text))


@pytest.mark.parametrize("text", LET_THROUGH)
def test_what_only_looks_alike_is_let_through(text):
    assert pii.shapes(text) == []
    assert pii.shapes(json.dumps({"a": [text, 1.5, None]})) == []


DOCUMENTS = {"data/evals/dataset-dev.jsonl", "data/evals/dataset-holdout.jsonl"}  # of made-up people


def committed(*patterns: str) -> list[str]:
    found = [path for pattern in patterns for path in sorted(paths.ROOT.glob(pattern)) if path.is_file()]
    names = [path.relative_to(paths.ROOT).as_posix() for path in found if path.suffix not in (".part", ".lock")]
    return [name for name in names if name not in DOCUMENTS]


TEXTS = "data/evals/**/*", "data/published/*", "data/studies/*/tables/*", "docs/*.md", "README*.md"


@pytest.mark.parametrize("path", committed(*TEXTS))
def test_what_this_repository_holds_is_let_through(path):
    assert pii.shapes((paths.ROOT / path).read_text(encoding="utf-8")) == []


def test_generated_documents_without_personal_fields_are_let_through():
    texts = [each.source_text for each in generate.documents("dev", range(1440)) if not each.pii_fields]
    assert len(texts) >= 1000 and [text for text in texts if pii.shapes(text)] == []


def test_random_digests_ids_and_numbers_are_let_through():
    rng = Random(5)
    rows = []
    for _ in range(3000):
        data = rng.randbytes(32)
        row = {
            "sha256": data.hex(),
            "span_id": data[:8].hex(),
            "id": str(uuid.UUID(bytes=data[:16])),
            "n": rng.random(),
        }
        rows.append(
            row | {"version": "evals-1+" + data[:6].hex(), "tokens": rng.randrange(9999), "usd": round(rng.random(), 9)}
        )
    assert [row for row in rows if pii.shapes(json.dumps(row))] == []


def test_random_bytes_in_base64_are_hardly_ever_taken_for_anything():
    rng = Random(7)
    texts = [base64.b64encode(rng.randbytes(33)).decode() for _ in range(2000)]
    assert sum(bool(pii.shapes(text)) for text in texts) <= 4
