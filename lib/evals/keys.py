r"""Keys, tokens and passwords by their shape: what lets somebody in.

Known are the prefixes that vendors document, addresses that are keys, PEM blocks, web tokens, AWS's secret
keys, and whatever is assigned to a name such as `password` or `senha`. What `lib/models/redaction.py` cuts
out counts as well, the keys of this environment among it. The texts are plain already.

>>> shows("npm_" + "a1B2" * 9), shows("senha: abacate"), shows("the password: any word that opens")
(True, True, False)
"""

from __future__ import annotations

import re

from lib.models import redaction

# Beside redaction's (Anthropic, OpenAI, Google, Hugging Face, GitHub, AWS): what a key begins with, its body behind.
PREFIXES = (
    r"github_pat_", r"gl(?:pat|dt|rt|cbt|ptt|soat|ft|agent|imt)-", r"xox[a-z]-", r"xapp-", r"xwfp-", r"whsec_",
    r"[rs]k_(?:live|test)_", r"pypi-(?=[\w-]{0,60}[A-Z])", r"dckr_pat_", r"SG\.", r"nvapi-", r"tvly-", r"ya29\.",
    r"1//0", r"GOCSPX-", r"do[opr]_v1_", r"shp(?:at|ss|ca|pa)_", r"sq0[a-z]{3}-", r"figd_", r"PMAK-", r"hv[sbr]\.",
    r"AT[AC]TT", r"glsa_", r"glc_", r"tskey-", r"AGE-SECRET-KEY-1", r"sk-(?:ant|proj|svcacct|or)-",
    r"pat[A-Za-z0-9]{14}\.",
    r"fm2_", r"NRAK-", r"pscale_(?:tkn|oauth|pw)_",
)  # fmt: skip
# Letters and digits follow these; else it is a name such as npm_config_2.
WORDS = "npm_|gsk_|r8_|rubygems_|lin_api_|ntn_|sbp_|xai-|pplx-"
TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?:{'|'.join(PREFIXES)})(?=[\w.=/-]{{0,60}}\d|[A-Za-z]{{16}})[\w.=/-]{{16,}}"
    rf"|(?:{WORDS})(?=[A-Za-z]{{0,60}}\d)[A-Za-z0-9]{{16,}})"
)
OTHER = re.compile(
    r"""(?x) (?<![A-Za-z0-9])(?:A3T[A-Z0-9]|A(?:KIA|SIA|BIA|CCA|GPA|IDA|IPA|NPA|NVA|ROA))[A-Z0-9]{16}(?![A-Za-z0-9])
    | (?<![A-Za-z0-9])(?:AC|SK|dapi|key-)[0-9a-f]{32}(?![A-Za-z0-9]) | (?<![A-Za-z0-9+/])EAA[A-Z][A-Za-z0-9]{80,}
    | (?<![A-Za-z0-9])eyJ[\w-]{8,}\.eyJ[\w-]{4,}\.
    | (?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w-]) | (?<!\d)\d{8,10}:AA[\w-]{33}
    | hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{8,} | discord(?:app)?\.com/api/webhooks/\d+/[\w-]{8,}
    | \.webhook\.office\.com/webhookb2/[\w@/-]{8,} | [?&](?:sig|access_token|X-Amz-Signature)=[\w%+/=-]{16,}
    | -----\s?BEGIN\ (?:[A-Z0-9]+\ ){0,4}PRIVATE\ KEY(?:\ BLOCK)?\s?----- | PuTTY-User-Key-File-\d"""
)
AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=_.-])(?=[^a-z]{0,39}[a-z])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+_.-])")
# A name that may be a part of another one (db_password, "clientSecret"), then its value.
_GAP = r"""["']?\s{0,3}(?::=|=>|[:=])\s{0,3}"""
_NAMES = r"token|secret|cookie|credentials?|api[-_ ]?key|(?:access|account|private|auth|signing|encryption)[-_ ]?key"
SECRET = re.compile(
    rf"""(?ix) (?:{_NAMES}){_GAP} (?:(?:bearer|basic|token)\s+)?["']?(?=[^\s"',;}}]{{0,80}}\d)[^\s"',;}}&\\]{{8,}}"""
)
_WORDS = r"senha|clave|contrase[nñ]a|mot[ ]de[ ]passe|kennwort|palavra-passe|pass(?:word|wd|phrase|wort)"
PASSWORD = re.compile(
    rf"""(?ix) (?:{_WORDS}|(?<![a-z])(?:pwd|psw|(?P<weak>pass))) (?:{_GAP}|(?P<said>[ ](?:is|[eé]|eh|es|est|ist)[ ]))
    (?: (?P<mark>["'])(?P<quoted>[^"'\n]{{4,80}})(?P=mark) | (?P<bare>[^\s"',;}}&<>\\]{{4,80}})(?P<rest>[ ]\w)? )"""
)
HEADER = re.compile(
    r"""(?ix) authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token|digest|negotiate|aws4\S*|apikey)\s+["']?
    [^\s"',;}&\\]{6,}"""
)
# Words that redaction takes for keys: bearer securities, an authorization that is required.
PROSE = re.compile(
    r"(?<![:=] )(?<![:=])(?<!: [\"'])(?<![:=][\"'])\b[Bb]earer\s+[a-z]{1,30}(?![\w.=-])"
    r"|(?i:authorization)\W{1,4}(?:required|optional|missing|denied|granted|expired|redacted)\b"
)
NO_PASSWORD = re.compile(
    r"""(?ix) none|null|true|false|empty|unset|required|optional|missing|redacted|hidden|changeme|string|text|str|yes|no
    |n/?a|undefined|unknown|invalid|wrong|expired|sha256:.*|[*.x•#\[(<${%_-].*"""
)


def shows(text: str) -> bool:
    """Whether a plain text shows a key, a token or a password."""
    if TOKEN.search(text) or OTHER.search(text) or SECRET.search(text) or HEADER.search(text):
        return True
    if any(map(_password, PASSWORD.finditer(text))) or any(_mixed(match[0]) for match in AWS_SECRET.finditer(text)):
        return True
    prose = PROSE.sub("", text)
    return redaction.redact(prose) != prose


def _password(match: re.Match[str]) -> bool:
    """A quoted value, or one word; a sentence about passwords is none, but a value with digits in it always is one."""
    value = match["quoted"] or match["bare"]
    if NO_PASSWORD.fullmatch(value):
        return False
    if match["said"] or match["weak"] or (match["rest"] and "=" not in match[0]):
        return re.search(r"\d", value) is not None
    return True


def _mixed(run: str) -> bool:
    """As random as a secret key: digits, and capitals change with small letters as in no word and no path."""
    kinds = ["A" if c.isupper() else "a" if c.islower() else "0" if c.isdigit() else "/" for c in run]
    return "0" in kinds and len(set(run)) >= 20 and sum(map(str.__ne__, kinds, kinds[1:])) >= 12
