"""Patterns of secrets: tokens and numbers known by their format, and values known by what is said around them."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# ruff: noqa: E501, S105 - expressions are easier to check on one line; none of them is a password in use

_Match = re.Match[str]
Span = tuple[int, int, str]
"""Start, end and kind of a secret."""


class Expression:
    """A regular expression that is compiled when a text first needs it: most texts need none, and all take long."""

    def __init__(self, expression: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._expression, self._flags = expression, flags
        self._regex: re.Pattern[str] | None = None

    @property
    def regex(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._regex is None:
            self._regex = re.compile(self._expression, self._flags)
        return self._regex


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """A pattern of secrets.

    Attributes:
        kind: the name in the mark.
        needles: strings of which one must be in the text; far cheaper to find than the expression.
        expression: the secret is one of its groups of `_GROUPS`, or the whole match.
        holds: a final check of a match.
        least: least length of a word in the text.
        anywhere: the expression does not start with a needle and is tried everywhere.
    """

    kind: str
    needles: tuple[str, ...]
    expression: Expression
    holds: Callable[[_Match], bool] | None = None
    least: int = 0
    anywhere: bool = False


_GROUPS = ("secret", "escaped", "double", "single", "back", "bare")


def found(pattern: Pattern, text: str, sought: str) -> Iterator[Span]:
    """Spans of secrets of one pattern.

    A rejected match is skipped as a whole, which keeps the time linear.

    Args:
        pattern: the pattern.
        text: the text.
        sought: the text in the case of the needles, of the same length.
    """
    regex = pattern.expression.regex
    if pattern.anywhere:
        for match in regex.finditer(text):
            if pattern.holds is None or pattern.holds(match):
                yield (*_secret(match), pattern.kind)
        return
    for needle in pattern.needles:
        at = sought.find(needle)
        while at >= 0:
            match = regex.match(text, at)
            if match is not None and (pattern.holds is None or pattern.holds(match)):
                yield (*_secret(match), pattern.kind)
            at = sought.find(needle, at + len(needle) if match is None else max(match.end(), at + len(needle)))


def _secret(match: _Match) -> tuple[int, int]:
    for name in _GROUPS:
        if name in match.re.groupindex and match[name] is not None:
            return match.span(name)
    return match.span()


_PLACEHOLDER = re.compile(
    r"""(?ix) ^ (?:
    [x*.\u2022\u2026#_?-]++ $
    | .* (?: x{4} | \*{3} | \.{3} | \u2026 | \u2022{2} | [_-]here \b )
    | (?>(?: sk[_-] | pk[_-] )?) (?: your | my[_-] | the[_-] | some[_-] | insert | enter | put[_-] | add[_-] | example | sample
        | placeholder | replace | change[_-]?me | dummy | fake | todo | redacted | hidden | removed )
    | (?>(?: secret | api | access | auth )?) [_-]?+ (?: pass(?: word | wd | phrase )?\d? | pwd | pw | secret | key | token | value | string ) $
    | < [^<>]* >? $ | [\[{] | [\w.]+ [(\[] | \$ (?: [({] | [a-z_]\w* $ ) | % (?: [sdr] $ | \( | \w+ % $ ) | @\w+ $ | & (?: lt | amp ) ;
    | (?: process\.env | os\. | env\. | config\. | settings\. | self\. | this\. | vault: | ref\+ | op:// | secrets\. | var\. | local\. | data\. | args\. | arn: | file: )
    )""",
)

_COMMON_WORDS = frozenset(
    """none null nil true false yes no undefined str string text bytes int bool any optional required missing empty blank
    wrong weak strong secure insecure invalid incorrect correct expired safe hashed encrypted salted stored saved kept
    changed reset hidden unknown forgotten lost compromised leaked known needed set unset shared visible masked disabled
    enabled protected rotated generated accepted rejected default temporary permanent different same new old long short
    longer shorter simple complex unique random good bad fine ok okay important confidential private public sent given
    asked typed entered used reused written printed shown the a an not too very now in on at by still also always never
    only just my his her their our your its it that this these those what which who where when why how to from for with
    without of and or but if than then so as being going getting something anything nothing everything someone here there
    more less must should can cannot can't isn't won't doesn't does did do will would may might about again already
    supposed hard easy better worse stronger weaker available unavailable checked verified validated valid working broken
    basically actually probably really currently usually often sometimes sadly up down out off over under per via due
    case-sensitive authentication manager managers hash hashes field fields input policy prompt rotation""".split()
)

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

_IBAN_LENGTHS = {
    code: length
    for length, codes in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK", 21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB NI PL SV",
        29: "BR EG PS QA UA", 30: "JO KW MU", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for code in codes.split()
}  # fmt: skip

_CARDS = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)


def _is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder: ``YOUR_API_KEY``, ``<token>``, ``xxxx``, ``$PASSWORD``."""
    return bool(_PLACEHOLDER.match(value[:200]))


def _is_common_word(word: str) -> bool:
    """Whether a word describes a password rather than being one: "my password is *weak*"."""
    return word.strip(".,;:!?'\"").lower() in _COMMON_WORDS


def _is_mixed(value: str) -> bool:
    """Whether a value has both letters and digits."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def is_random(value: str) -> bool:
    """Whether a value of sixteen characters or more has about the entropy of base64 or hexadecimal."""
    if len(value) < 16 or not value.isascii():
        return False
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    if re.fullmatch(r"[0-9a-fA-F-]+", value):
        return entropy >= 2.7 and not value.isdigit()
    return (
        entropy >= 3.1 and _is_mixed(value) and not re.fullmatch(r"[A-Za-z]+(?:[-_./][A-Za-z]+)*[-_./]?\d{0,4}", value)
    )


def _is_card_number(digits: str) -> bool:
    """Whether digits are a payment card number: an issued prefix, its length, and the Luhn checksum."""
    if not _CARDS.fullmatch(digits) or len(set(digits)) < 2:
        return False
    doubled = (int(d) * 2 if i % 2 else int(d) for i, d in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def _is_iban(match: _Match) -> bool:
    """Whether a match is an IBAN: the length of its country, and the checksum."""
    text = match[0].replace(" ", "").upper()
    if len(text) != _IBAN_LENGTHS.get(text[:2]):
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def _is_base58_key(match: _Match) -> bool:
    """Whether a match is a private key in wallet import format, by checksum."""
    number = 0
    for c in match[0]:
        place = _BASE58.find(c)
        if place < 0:
            return False
        number = number * 58 + place
    if number >= 1 << (8 * 38):
        return False
    data = number.to_bytes(38, "big").lstrip(b"\0")
    return len(data) in (37, 38) and hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]


_BREAK = r"[ .-]{0,2}\n? {0,2}"
_SSN = r"(?P<secret>(?P<area>\d{3})[- ]?(?P<group>\d{2})[- ]?(?P<serial>\d{4}))"
_SSN_NAME = r"(?:ssn|social[ _-]security(?:[ _-](?:number|no\.?|#))?|social[ _-]insurance[ _-]number|itin|tax[ _-]id)\b"
_OTHER = re.compile(
    r"(?i)(?:order|tracking|invoice|parcel|shipment|serial|reference|ref|isbn|imei|ticket|booking|item|sku|case|build)"
    r"(?:\s?(?:number|no\.?|nr\.?|id|code|#))?\s?[:#]?\s{0,2}#?$"
)


def _is_card(match: _Match) -> bool:
    """Whether it is a card number that the preceding word does not call otherwise."""
    if not _is_card_number(re.sub(r"\D", "", match[0])) or _in_columns(match):
        return False
    return _OTHER.search(match.string, max(0, match.start() - 30), match.start()) is None


def _in_columns(match: _Match) -> bool:
    """Whether a number across lines is part of a table: more digit groups are around it."""
    if (lines := match[0].count("\n")) == 0:
        return False
    around = match.string[max(0, match.start() - 6) : match.start()], match.string[match.end() : match.end() + 6]
    return lines > 1 or any(re.search(r"\d{3}", text) for text in around)


def _is_issued(match: _Match) -> bool:
    area, group, serial = (match[name] for name in ("area", "group", "serial"))
    return area not in ("000", "666") and not area.startswith("9") and group != "00" and serial != "0000"


NUMBERS: tuple[Pattern, ...] = (
    Pattern(
        kind="card-number", needles=(), holds=_is_card, anywhere=True,
        expression=Expression(
            rf"(?<![\d.,_/=-])(?<![A-Za-z])\d{{4}}(?:{_BREAK}\d{{4}}{_BREAK}\d{{4}}{_BREAK}\d{{1,7}}|{_BREAK}\d{{6}}{_BREAK}\d{{4,5}})"
            r"(?![\d_]|[.,-]\d)"
        ),
    ),
    Pattern(
        kind="iban", needles=(), holds=_is_iban, anywhere=True,
        expression=Expression(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"),
    ),
    Pattern(
        kind="us-ssn", needles=(), holds=_is_issued, anywhere=True,
        expression=Expression(
            rf"(?i)\b{_SSN_NAME}[^\d\n]{{0,20}}{_SSN}(?![\d-])"
        ),
    ),
    Pattern(
        kind="us-ssn", needles=(), holds=_is_issued, anywhere=True,
        expression=Expression(rf"(?i)(?<![\d-]){_SSN}\)?\s(?:is|was|as|for)\s(?:my|the|our|his|her|their|your)\s(?:\w{{1,20}}\s)?{_SSN_NAME}"),
    ),
)  # fmt: skip
"""Tried where a text holds nine digits or more in a row, with at most three other signs between two."""


# One line each: kind, text that must be there (several: one of them), the token. The token begins with that text, and
# no letter or digit stands before it; "|" says that it begins elsewhere.
_TABLE = r"""
age-secret-key            AGE-SECRET-KEY-1             AGE-SECRET-KEY-1[0-9A-Z]{58}
airtable-token            pat                          pat[A-Za-z0-9]{14}\.[0-9a-f]{64}
alibaba-access-key        LTAI                         LTAI[A-Za-z0-9]{17,21}(?![A-Za-z0-9])
anthropic-key             sk-ant-                      sk-ant-[A-Za-z0-9_-]{20,}+
artifactory-token         AKC                          AKC[A-Za-z0-9]{60,}+
asana-token               /                            |(?<![\w/.])[12]/\d{15,17}(?:/\d{15,17})?:[0-9a-f]{32}(?![0-9A-Za-z])
atlassian-token           ATATT3,ATCTT3                AT[AC]TT3[A-Za-z0-9_=-]{50,}+
aws-access-key            AKIA,ASIA,ABIA,ACCA          A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])
aws-bedrock-key           ABSK                         ABSK[A-Za-z0-9+/]{60,}+={0,2}
azure-client-secret       Q~                           |(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}(?![\w~.-])
azure-connection-key      AccountKey=,SharedAccessKey= |(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,}+={0,2})
azure-devops-token        AZDO                         |(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])
azure-sas-signature       sig=                         |(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%+/=_-]{40,}+)
bitbucket-token           ATBB                         ATBB[A-Za-z0-9_=-]{24,}+
braintree-token           access_token$                access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}
brevo-key                 xkeysib-,xsmtpsib-           x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}
buildkite-token           bkua_                        bkua_[0-9a-f]{40}
cerebras-key              csk-                         csk-[a-z0-9]{40,}+
circleci-token            CCIPAT_,CCIPRJ_              CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}
clickup-token             pk_                          pk_\d{5,10}_[0-9A-Z]{32}
cloudflare-key            v1.0-                        v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}+
contentful-token          CFPAT-                       CFPAT-[A-Za-z0-9_-]{43}
crates-token              cio                          cio[A-Za-z0-9]{32}(?![A-Za-z0-9])
databricks-token          dapi                         dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])
digitalocean-token        _v1_                         |(?<![A-Za-z0-9])do[oprt]_v1_[0-9a-f]{64}
discord-webhook           /api/webhooks/               |(?<=/api/webhooks/)\d{15,21}/(?P<secret>[\w-]{50,90})
docker-token              dckr_                        dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}+
doppler-token             dp.                          dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}+
dropbox-token             sl.                          sl\.[A-Za-z0-9_=-]{60,}+
duffel-token              duffel_                      duffel_(?:live|test)_[A-Za-z0-9_=-]{40,}+
dynatrace-token           dt0c01.                      dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}
e2b-key                   e2b_                         e2b_[0-9a-f]{40}(?![A-Za-z0-9])
easypost-key              EZAK,EZTK                    EZ[AT]K[A-Za-z0-9]{54}
elevenlabs-key            sk_                          sk_[0-9a-f]{48}(?![A-Za-z0-9])
facebook-token            EAA                          EAA[A-Za-z0-9]{80,}+
figma-token               figd_                        figd_[A-Za-z0-9_-]{35,}+
firecrawl-key             fc-                          fc-[0-9a-f]{32}(?![A-Za-z0-9-])
fireworks-key             fw_                          fw_(?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{22,}+
flutterwave-key           FLWSECK                      FLWSECK(?:_TEST)?-[0-9A-Za-z]{32}-X
fly-token                 fm2_,fo1_                    f(?:m2|o1)_[A-Za-z0-9+/=_,-]{40,}+
frameio-token             fio-u-                       fio-u-[A-Za-z0-9_=-]{60,}+
github-token              ghp_,gho_,ghu_,ghs_,ghr_     gh[pousr]_[A-Za-z0-9]{30,}+
github-token              github_pat_                  github_pat_[A-Za-z0-9_]{22,}+
gitlab-token              glpat-,gldt-,gloas-,glrt-,glcbt-,glptt-,glft-,glimt-,glagent-,glsoat-,glffct-,gldeploy- gl(?:pat|dt|oas|rt|cbt|ptt|ft|imt|agent|soat|ffct|deploy)-[A-Za-z0-9_.-]{20,}+
google-api-key            AIza                         AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])
google-oauth-secret       GOCSPX-                      GOCSPX-[A-Za-z0-9_-]{20,}+
google-oauth-token        ya29.                        ya29\.[A-Za-z0-9_.-]{20,}+
google-refresh-token      1//0                         1//0[A-Za-z0-9_-]{30,}+
grafana-token             glsa_,glc_                   gl(?:sa|c)_[A-Za-z0-9_+/=]{32,}+
groq-key                  gsk_                         gsk_[A-Za-z0-9]{40,}+
heroku-key                HRKU-                        HRKU-[A-Za-z0-9_-]{36,}+
huggingface-token         hf_                          hf_[A-Za-z0-9]{30,}+
huggingface-token         api_org_                     api_org_[A-Za-z0-9]{30,}+
infracost-key             ico-                         ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])
kubernetes-token          sha256~                      sha256~[A-Za-z0-9_-]{43}
langsmith-key             lsv2_                        lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}
linear-key                lin_                         lin_(?:api|oauth)_[A-Za-z0-9]{32,}+
mailchimp-key             -us                          |(?<![0-9A-Za-z])[0-9a-f]{32}-us\d{1,2}(?![0-9A-Za-z])
mailgun-key               key-                         key-[0-9a-f]{32}(?![0-9A-Za-z-])
mapbox-token              sk.eyJ                       sk\.eyJ[A-Za-z0-9_-]{30,}+\.[A-Za-z0-9_-]{20,}+
netlify-token             nfp_                         nfp_[A-Za-z0-9]{36,}+
newrelic-key              NRAK-,NRII-,NRBR-            NR(?:AK|II|BR)-[A-Za-z0-9_-]{19,}+
notion-token              ntn_                         ntn_[A-Za-z0-9]{40,}+
notion-token              secret_                      secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])
npm-token                 npm_                         npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])
nuget-key                 oy2                          oy2[a-z0-9]{43}(?![A-Za-z0-9])
nvidia-key                nvapi-                       nvapi-[A-Za-z0-9_-]{40,}+
onepassword-key           A3-                          A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}
onepassword-token         ops_eyJ                      ops_eyJ[A-Za-z0-9+/=_-]{100,}+
openrouter-key            sk-or-                       sk-or-(?:v\d-)?[0-9A-Za-z]{32,}+
perplexity-key            pplx-                        pplx-[A-Za-z0-9]{40,}+
pinecone-key              pcsk_                        pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,}+
plaid-token               access-                      access-(?:production|development|sandbox)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
planetscale-token         pscale_                      pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}+
posthog-key               phx_                         phx_[A-Za-z0-9]{40,}+
postman-key               PMAK-                        PMAK-[0-9a-f]{24}-[0-9a-f]{34}
prefect-key               pnu_,pnb_                    pn[ub]_[A-Za-z0-9]{36}(?![A-Za-z0-9])
pulumi-token              pul-                         pul-[0-9a-f]{40}(?![A-Za-z0-9])
pypi-token                pypi-                        pypi-[A-Za-z0-9_-]{40,}+
readme-key                rdme_                        rdme_[a-z0-9]{60,}+
render-key                rnd_                         rnd_(?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{26,}+
replicate-token           r8_                          r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])
resend-key                re_                          re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9])
rubygems-key              rubygems_                    rubygems_[0-9a-f]{48}
sendgrid-key              SG.                          SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}
sentry-token              sntry                        sntry(?:s_[A-Za-z0-9+/=_-]{40,}+|u_[0-9a-f]{64})
shippo-token              shippo_                      shippo_(?:live|test)_[0-9a-f]{40}
shopify-token             shp                          shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}
slack-token               xox,xapp-,xoxe.              x(?:ox[abceoprsd](?:\.xox[bp])?|app)-[A-Za-z0-9-]{10,}+
slack-webhook             hooks.slack.com/             |(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{30,}+)
sonar-token               sq                           sq[upa]_[0-9a-f]{40}
sourcegraph-token         sgp_                         sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}
square-token              sq0                          sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}+
square-token              EAAA                         EAAA[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])
stripe-key                k_live_,k_test_,k_prod_      |(?<![A-Za-z0-9])[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}+
stripe-webhook-secret     whsec_                       whsec_[A-Za-z0-9+/=]{24,}+
supabase-key              sbp_                         sbp_(?:oauth_)?[0-9a-f]{40}
supabase-key              sb_secret_                   sb_secret_[A-Za-z0-9_-]{20,}+
tailscale-key             tskey-                       tskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9-]{12,}+
tavily-key                tvly-                        tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}+
teams-webhook             webhook.office.com/          |(?<=webhook\.office\.com/)webhookb2/(?P<secret>[A-Za-z0-9@/-]{60,}+)
telegram-token            :AA                          |(?<![\w.:-])(?:bot)?(?P<secret>\d{6,12}:AA[A-Za-z0-9_-]{32,36})(?![A-Za-z0-9_-])
tencent-key               AKID                         AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])
terraform-token           .atlasv1.                    |(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}+
twilio-key                SK                           SK[0-9a-f]{32}(?![0-9A-Za-z])
twitter-token             AAAAAAAAAAAAAAAAAAAA         A{20,}[A-Za-z0-9%+/=]{60,}+
typeform-token            tfp_                         tfp_[A-Za-z0-9_.=-]{40,}+
vault-token               hvs.,hvb.,hvr.               hv[sbr]\.[A-Za-z0-9_-]{20,}+
vercel-token              vercel_blob_rw_              vercel_blob_rw_[A-Za-z0-9]{10,}+_[A-Za-z0-9]{20,}+
vercel-token              vcp_,vci_,vca_,vcr_,vck_     vc[piark]_[A-Za-z0-9]{24,}+
xai-key                   xai-                         xai-[A-Za-z0-9]{40,}+
"""

_BEGINS = r"(?<![A-Za-z0-9])"


def _row(line: str) -> Pattern:
    kind, needles, assignment = line.split(maxsplit=2)
    anywhere = assignment.startswith("|")
    expression = Expression(assignment[1:] if anywhere else _BEGINS + assignment)
    return Pattern(kind=kind, needles=tuple(needles.split(",")), expression=expression, holds=_body, anywhere=anywhere)


def _body(match: _Match) -> bool:
    """Whether a token with the right prefix is real and no placeholder."""
    token = match["secret"] if "secret" in match.re.groupindex else match[0]
    return len(set(token[-12:].lower())) > 3 and not _is_placeholder(token[token.find("_") + 1 :])


def _openai(match: _Match) -> bool:
    """An OpenAI key, or one of the many services that write theirs the same way."""
    return _body(match) and _is_mixed(match[0][3:]) and not _is_placeholder(match[0][3:]) and is_random(match[0][3:])


def _jwt(match: _Match) -> bool:
    return len(match[0]) >= 40


def _random(match: _Match) -> bool:
    return is_random(match[0])


def _is_aws_secret(match: _Match) -> bool:
    """Whether what stands beside the id of an AWS key is its secret, and no checksum."""
    return is_random(match["secret"]) and re.fullmatch(r"[0-9a-f]+", match["secret"]) is None


def _is_encoded_key(match: _Match) -> bool:
    """Whether base64 that begins as an armoured text does is a private key."""
    return b"PRIVATE KEY" in base64.b64decode(match[0][:52])


_JSON = r"[A-Za-z0-9_-]"
_AWS_ID = r"A(?:KIA|SIA)[A-Z0-9]{16}"

TOKENS: tuple[Pattern, ...] = (
    *(_row(line) for line in _TABLE.strip().splitlines()),
    Pattern(
        kind="openai-key", needles=("sk-",), holds=_openai,
        expression=Expression(_BEGINS + r"sk-(?!ant-|or-)[A-Za-z0-9_-]{20,}+"),
    ),
    Pattern(
        kind="aws-secret-key", needles=("AKIA", "ASIA"), holds=_is_aws_secret,
        expression=Expression(
            _BEGINS + _AWS_ID + r"(?:/|[^A-Za-z0-9/+][\s\S]{0,80}?(?<![A-Za-z0-9/+]))(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
    ),
    Pattern(
        kind="aws-secret-key", needles=("AKIA", "ASIA"), holds=_is_aws_secret, anywhere=True,
        expression=Expression(rf"(?<![A-Za-z0-9/+])(?P<secret>[A-Za-z0-9/+]{{40}})[\s,:;|]{{1,4}}(?={_AWS_ID})"),
    ),
    Pattern(
        kind="azure-devops-token", needles=("2", "3", "4", "5", "6", "7"), holds=_random, least=52, anywhere=True,
        expression=Expression(r"(?<![A-Za-z0-9_.-])[a-z2-7]{52}(?![A-Za-z0-9_.-])"),
    ),
    Pattern(
        kind="private-key", needles=("LS0tLS1CRUdJTi",), holds=_is_encoded_key,
        expression=Expression(_BEGINS + r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}+(?>(?:\s{1,3}[A-Za-z0-9+/]{16,}+){0,400})={0,2}"),
    ),
    Pattern(
        kind="jwt", needles=("eyJ",), holds=_jwt,
        expression=Expression(rf"(?<!{_JSON})eyJ{_JSON}{{8,}}+\.(?:eyJ)?{_JSON}{{8,}}+(?:\.{_JSON}*+){{1,3}}"),
    ),
    Pattern(
        kind="discord-token", needles=("M", "N", "O"), holds=_random,
        expression=Expression(r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?![\w.-])"),
        least=58, anywhere=True,
    ),
    Pattern(
        kind="bitcoin-key", needles=("5", "K", "L", "c"), holds=_is_base58_key,
        expression=Expression(r"(?<![A-Za-z0-9])[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])"), least=51, anywhere=True,
    ),
    Pattern(
        kind="wallet-key", needles=("prv",), anywhere=True,
        expression=Expression(_BEGINS + r"[xyztuvYZUV]prv[1-9A-HJ-NP-Za-km-z]{80,}+"),
    ),
    Pattern(
        kind="password-hash", needles=("$2a$", "$2b$", "$2y$", "$6$", "$5$", "$1$", "$y$", "$apr1$", "$argon2", "pbkdf2_"),
        expression=Expression(
            r"(?<![\w$])\$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|[156y]\$[./A-Za-z0-9$=]{20,}+"
            r"|apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|argon2(?:id|i|d)\$[A-Za-z0-9+/$=,]{40,}+)"
            r"|(?<![\w$])pbkdf2_sha(?:1|256|512)\$\d{3,8}\$[^\s$]{1,64}\$[A-Za-z0-9+/]{20,}+={0,2}"
        ),
    ),
)  # fmt: skip
"""Tried where a text holds a run of at least sixteen characters without a space."""


_PASSWORD = (
    r"(?:pass(?:[ _-]?(?:word|phrase|code)|wd|wort)|pwd|(?<![a-z])(?:pw|mdp|psk)(?![a-z])|kennwort|wachtwoord|contrase(?:\u00f1|n\u0303?)a|"
    r"mot de passe|palavra[ -]passe|senha|has\u0142o|l\u00f6senord|adgangskode|salasana|(?<![a-z])heslo|"
    r"\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9)"
)
_PASSWORDS = (
    "pass", "pwd", "pw", "mdp", "psk", "kennwort", "wachtwoord", "contrase", "mot de passe", "palavra", "senha", "has\u0142o",
    "l\u00f6senord", "adgangskode", "salasana", "heslo",
    "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6", "\u30d1\u30b9\u30ef\u30fc\u30c9",
)  # fmt: skip
_KEY = r"(?:secret(?:[ _-]?(?:access[ _-]?)?key)?|key(?:[ _-]?data)?|token|credentials?|_auth)"
_KEYS = ("secret", "key", "token", "credential", "_auth")
_OF_KEYS = re.compile(
    r"(?:api|access|auth|private|encryption|signing|master|account|service|app|application|consumer|admin|deploy|storage|"
    r"subscription|ssh|hmac|aes|client|secret)[\"' _-]{0,2}$",
    re.IGNORECASE,
)
_SUFFIX = r"(?>(?:[_-]?(?:\d{1,2}|prod|production|dev|test|staging|stage|live|main|value|base|b64|base64|raw|plain|old|new))?)"
_MARKUP = r"(?:[*_]{1,3}|</?[a-z]{1,8}>)"
_ASSIGNMENT = (
    rf"""["'\]\\]{{0,3}}{_MARKUP}?\s{{0,4}}(?:=>|:=|={{1,2}}|:|\uff1a|\uff1d)(?:\s?{_MARKUP}(?=[\s"'`]|<))?\s{{0,4}}"""
    r"(?:[|>][+-]?[ \t]{0,3}\n\s{1,12})?"
)
_FREE = r"""(?>(?:(?![,;](?:\s|$|\w[\w ]{0,30}[=:]))(?!&\w{1,40}=)(?:[^\s"'`\\]|["'](?=[\w!$%&*+-])|\\(?![nrtu])(?=\w))){1,512})"""
_VALUE = (
    r"""(?:[\u00ab\u201e\u201c]\s{1,2})?(?:\\"(?P<escaped>(?>(?:[^"\n\\]|\\\\(?:\\["\\])?|\\[^"\n\\]){1,512}))|"(?P<double>(?>(?:[^"\n\\]|\\.){1,512}))|"""
    rf"""'(?P<single>(?>(?:[^'\n\\]|\\.){{1,512}}))|`(?P<back>[^`\n]{{1,512}}+)|(?P<bare>{_FREE}))"""
)
_ENDS = re.compile(r"""["'`.!?,;)\]]*\s*(?:$|\n)|["'`]?[.!?]\s""")
_MEASURE = re.compile(
    r"[\d.,]+-?(?:\+|%|chars?|characters?|digits?|letters?|words?|days?|hours?|minutes?|bits?|steps?|x|st|nd|rd|th)?\b",
    re.IGNORECASE,
)


_COMPOUND = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)+|[^\W\d_]+-[^\W\d_]+")
"""Words such as ``don't``, ``l'accord`` and ``time-outs``."""


def _any_case(expression: str) -> Expression:
    """An expression that ignores case."""
    return Expression(expression, re.IGNORECASE)


def _is_address(value: str) -> bool:
    return value.lower().startswith(("http://", "https://"))


def _value(match: _Match) -> tuple[str, bool]:
    """The value of an assignment, and whether it is quoted."""
    for name in ("escaped", "double", "single", "back"):
        if match[name] is not None:
            return match[name], True
    return match["bare"].rstrip(".,;:!?)"), False


def _is_password(match: _Match) -> bool:
    """Whether the value assigned to a password is one: no comment, code or placeholder."""
    value, quoted = _value(match)
    if len(value) < 4 or _is_placeholder(value) or _is_common_word(value) or _of_code(value) or _is_address(value):
        return False
    if quoted:
        return True
    if not value.isalpha():
        return (not _MEASURE.fullmatch(value) and not _COMPOUND.fullmatch(value)) or value.isdigit()
    return len(value) >= 6 and value.islower() and _ends_sentence(match)


def _ends_sentence(match: _Match) -> bool:
    """Whether the match ends a sentence: "password: sunflower" has a password, "password: choose wisely" does not."""
    return bool(_ENDS.match(match.string, match.end()))


_CODE = (
    "passw", "pwd", "passphrase", "secret", "token", "credential", "user", "input", "param", "field", "config", "string",
    "varchar", "value", "hash", "prompt",
)  # fmt: skip


def _of_code(value: str) -> bool:
    """Whether a value is an identifier in code."""
    named = re.fullmatch(r"[A-Za-z_][\w.]*", value) is not None and not any(c.isdigit() for c in value)
    return named and ("_" in value or any(part in value.lower() for part in _CODE))


def _is_of_service(match: _Match) -> bool:
    """Whether the key belongs to a service: "my API key", not any key."""
    before = max(0, match.start() - 20), match.start()
    return match[0][:3].lower() != "key" or _OF_KEYS.search(match.string, *before) is not None


def _is_key(match: _Match) -> bool:
    """Whether the value of a key or token is random."""
    if not _is_of_service(match):
        return False
    value, _ = _value(match)
    if _is_placeholder(value) or _of_code(value) or value.isdigit() or re.match(r"(?i)\w*:?//|/|\./", value):
        return False
    return is_random(value) or (len(value) >= 12 and _is_mixed(value) and not _is_words(value))


_WORDED = re.compile(r"(?:[A-Za-z]{2,}|\d{1,4}|v\d+)(?:[-_./ :]+(?:[A-Za-z]{2,}|\d{1,4}|v\d+))*")


def _is_words(value: str) -> bool:
    """Whether a value consists of words and small numbers, as names do: ``invoice-2024-final``, ``claude_3_opus``."""
    return _WORDED.fullmatch(value) is not None


_WEAK_COPULAS = ("to", "was", "has been", "had been", "wurde", "")
_ADJECTIVE_ENDINGS = re.compile(
    r"(?:ed|ing|ly|able|ible|ive|ful|less|ous|ent|ant|ig|lich|bar|los|sam|haft|isch|ert|en|\u00e9e?s?|eux|euse|aire|ect|[aeioui]d[ao]s?|[\u00f3o]ri[ao]s?"
    r"|os[ao]s?|iv[ao]s?|vel|nte|[ct]t[ao]s?|ble|ale?)$",
    re.IGNORECASE,
)
"""Endings of adjectives and participles in six languages, which describe a password."""


def _is_stated_password(match: _Match) -> bool:
    """Whether a statement contains a password: "my password is hunter2", not "my password is weak"."""
    value, quoted = _value(match)
    value = value.rstrip(".,;:!?")
    if len(value) < 4 or _is_placeholder(value) or _is_common_word(value) or _is_address(value):
        return False
    if _MEASURE.fullmatch(value) and not value.isdigit():
        return False
    if quoted or not value.isalpha():
        return (
            quoted
            or _is_mixed(value)
            or value.isdigit()
            or not re.fullmatch(r"[\w'\u2019/-]+", value)
            or _worded_secret(value, match)
        )
    copula = match["copula"].strip(" ,:").lower()
    return (
        copula not in _WEAK_COPULAS
        and len(value) >= 5
        and _ends_sentence(match)
        and not _ADJECTIVE_ENDINGS.search(value)
    )


def _worded_secret(value: str, match: _Match) -> bool:
    """Whether it is a passphrase of at least three hyphenated words at the end of a sentence."""
    return len(re.split(r"[-_]", value)) >= 3 and _ends_sentence(match)


def _is_random_value(match: _Match) -> bool:
    """Whether the match is random rather than words."""
    value = match["secret"]
    return not _is_placeholder(value) and (
        is_random(value) or (len(value) >= 12 and _is_mixed(value) and not _is_words(value))
    )


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def _in_query(match: _Match) -> bool:
    return _QUERY.search(match.string, max(0, match.start() - 30), match.start()) is not None and _is_random_value(
        match
    )


_QUERY = re.compile(r"[?&;#][a-z_-]{0,24}$", re.IGNORECASE)


def _is_session(match: _Match) -> bool:
    value = match["secret"]
    return not _UUID.fullmatch(value) and not value.startswith("session_") and is_random(value)


def _is_cookie(match: _Match) -> bool:
    parts = [part.partition("=")[2].strip() for part in match["secret"].split(";")]
    return any(len(part) >= 8 and (is_random(part) or _is_mixed(part)) and not _is_placeholder(part) for part in parts)


def _is_given(match: _Match) -> bool:
    """Whether the match is a value, neither a placeholder nor a common word."""
    return not _is_placeholder(match["secret"]) and not _is_common_word(match["secret"])


def _is_seed(match: _Match) -> bool:
    return len(set(re.findall(r"[a-z]+", match["secret"]))) >= 8


_SEED = r"(?:\d{1,2}[.)]\s?)?(?!(?:the|and|for|are|was|but|not|from|his|her|has|had|our|its|were|been|their|she|him)\b)[a-z]{3,8}\b"


def _is_pair(match: _Match) -> bool:
    """Whether a value is base64 of user:password, as registries store it."""
    try:
        return b":" in base64.b64decode(match["secret"], validate=True)[1:-1]
    except ValueError:
        return False


def _has_key(match: _Match) -> bool:
    """Whether the frame of a private key contains one."""
    return re.search(r"[A-Za-z0-9+/=]{24}", match[0]) is not None


_OF = (
    r"(?:\s(?:for|to|of|on|at|in|f\u00fcr|vom|von|zum|zu|des|der|du|de|del|della|dello|di|pour|para|da|do|per|im|am|beim|we use|i use|i have)\s"
    r"[^\n:.,;=]{1,40}?|\s(?:wi-?fi|wlan|nuev[ao]|nouveau|agora|actual|atual))?"
)
_COPULA = (
    r"(?P<copula>\s(?:is|was|are|has been|had been|ist|war|sind|wurde|lautet|hei(?:\u00df|ss)t|es|est|sera|\u00e9|\u00e8|ser\u00e1|s\u00e3o|son|to|"
    r"will be|should be|must be)(?:\s{0,2}:\s{0,3}|\s{1,2})|,?\sc['\u2019]est\s|['\u2019]s\s|\s?:\s{1,3}|\uff1a|\u662f)"
)
_ADVERBS = r"(?:(?:now|still|currently|set to|changed to|reset to|auf|simply|just|always)\s){0,2}:?\s{0,2}"

CONTEXT_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        kind="private-key", needles=("-----begin ", "---- begin "), holds=_has_key,
        expression=_any_case(
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:"
            r"(?:(?!-{4,5} ?BEGIN )[\s\S]){1,20000}?-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
            r"|(?:\s{0,4}[A-Z-]{3,20}: [^\n]{0,200}+){0,4}(?:\s|\\[nr]){0,8}(?>(?:[A-Z0-9+/=]{16,}+(?:\s|\\[nr]){0,8}){1,400})(?:[A-Z0-9+/]{1,15}\s{0,8}\Z)?)"
        ),
    ),
    Pattern(
        kind="private-key", needles=("private key",), anywhere=True,  # without its beginning
        expression=_any_case(
            r"(?m)^[ \t>]{0,8}(?P<secret>(?>(?:[A-Z0-9+/=]{16,80}+[ \t>\r]{0,8}\n[ \t>]{0,8}){1,60}))-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY"
        ),
    ),
    Pattern(
        kind="private-key", needles=("private-lines:",), holds=_has_key,
        expression=_any_case(r"Private-Lines: ?\d{1,4}\s{1,4}(?P<secret>(?>(?:[A-Za-z0-9+/=]{8,80}\s{0,2}){1,400}))"),
    ),
    Pattern(
        kind="url-password", needles=("://",), holds=_is_given,
        expression=_any_case(r"(?<=[a-z0-9+.-])://[^\s:@/?#'\"<>\[\]]{0,128}:(?P<secret>(?:[^\s/?#'\"<>]|['\"](?=[\w!$%&*+-])){1,256})@[\w.\[-]"),
    ),
    Pattern(
        kind="otp-secret", needles=("otpauth://", "totp", "2fa", "authenticator"),
        expression=_any_case(
            r"(?:otpauth://[^\s]{1,300}?[?&]secret=|(?:totp|2fa|authenticator)[ _-](?:secret|seed|key)\s{0,3}(?:is|=|:)\s{0,3})"
            r"(?P<secret>(?-i:[A-Z2-7](?: ?[A-Z2-7]){15,63}))"
        ),
    ),
    Pattern(
        kind="authorization-header", needles=("authorization",), holds=_is_given,
        expression=_any_case(
            r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"']?(?>(?:(?:bearer|basic|token|digest|apikey|negotiate|bot|key|oauth|ssws|splunk|geniekey|hawk|snowflake)\s{1,3})?)"
            r"(?P<secret>[^\s\"',;<>{}$]{8,4096}+)"
        ),
    ),
    Pattern(
        kind="basic-auth", needles=('"auth"',), holds=_is_pair,
        expression=_any_case(r"\"auth\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9+/]{8,4096}+={0,2})\""),
    ),
    Pattern(
        kind="bearer-token", needles=("bearer",), holds=_is_random_value,
        expression=_any_case(r"\bbearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{12,}+)"),
    ),
    Pattern(
        kind="cookie", needles=("cookie",), holds=_is_cookie,
        expression=_any_case(r"\bcookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<secret>[\w.-]{1,64}=[^\r\n\"']{4,4096}+)"),
    ),
    Pattern(
        kind="session-token", holds=_is_session,
        needles=("session", "sessid", "connect.sid", "xsrf-token", "csrf", "remember_token"),
        expression=_any_case(
            r"(?:session(?:[_-]?(?:id|token))?|sessid|connect\.sid|xsrf-token|csrf[_-]?token|remember_token)"
            r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[^\s\"';,&]{16,1024}+)"
        ),
    ),
    Pattern(
        kind="signed-url", needles=("x-amz-", "x-goog-"),
        expression=_any_case(r"x-(?:amz-(?:signature|security-token|credential)|goog-signature)=(?P<secret>[^&\s\"'<>]{16,2048}+)"),
    ),
    Pattern(
        kind="url-token", holds=_in_query,
        needles=("token=", "key=", "sig=", "signature=", "auth=", "secret=", "code=", "password=", "pwd="),
        expression=_any_case(r"[a-z]{3,9}=(?P<secret>[^&\s#\"'<>]{8,2048}+)"),
    ),
    Pattern(
        kind="command-password", holds=_is_given,
        needles=("-u", "--user", "--password", "--token", "--secret", "--api-key", "sshpass", "--passwd", "--passphrase"),
        expression=_any_case(
            r"(?<!\S)(?:(?:-u|--user)[ =][\"']?[^\s:\"'/]{1,64}:(?!//)|sshpass -p ?[\"']?|--(?:password|passwd|passphrase|token|secret|api-key)[ =][\"']?)"
            r"(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"
        ),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_password,
        expression=_any_case(rf"(?:{_PASSWORD}|(?<![a-z])pass){_SUFFIX}{_ASSIGNMENT}{_VALUE}"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_password,  # in a mapping of its own
        expression=_any_case(
            rf"{_PASSWORD}s?[\"']?\s?[:=]\s{{0,12}}[\"']?(?:plain(?:text)?|clear(?:text)?|raw|text|value){_ASSIGNMENT}{_VALUE}"
        ),
    ),
    Pattern(
        kind="login", needles=("auth=", "auth =", "auth(", ".login("), holds=_is_given,
        expression=_any_case(
            r"(?:auth\s?=\s?\(|auth\(|\.login\()\s{0,12}(?:username\s?=\s?)?[^,()\n]{1,128},\s{0,12}(?:password\s?=\s?)?[\"'](?P<secret>[^\"'\n]{4,128}+)[\"']"
        ),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_stated_password,
        expression=_any_case(rf"{_PASSWORD}{_OF}{_COPULA}{_ADVERBS}{_VALUE}"),
    ),
    Pattern(
        kind="pin", needles=("pin",),
        expression=_any_case(rf"\bpin(?:[ -]?(?:code|number))?{_OF}(?:\s{{0,3}}(?:(?:is|was|ist|lautet|es|est|\u00e9|\u00e8|to)\b\s{{0,2}}:?|[:=#])|['\u2019]s)\s{{0,3}}(?P<secret>\d{{4,8}})(?![\d:/.-]?\d)"),
    ),
    Pattern(
        kind="card-code", needles=("cvv", "cvc", "security code"),
        expression=_any_case(r"\b(?:cvv2?|cvc2?|security code)\s{0,3}(?:number\s)?(?:is|was)?\s{0,2}[:=#]?\s{0,3}(?P<secret>\d{3,4})(?!\d)"),
    ),
    Pattern(
        kind="key", needles=_KEYS, holds=_is_key, expression=_any_case(rf"{_KEY}{_SUFFIX}{_ASSIGNMENT}{_VALUE}"),
    ),
    Pattern(
        kind="key", needles=_KEYS, holds=_is_key, expression=_any_case(rf"{_KEY}{_OF}{_COPULA}{_ADVERBS}{_VALUE}"),
    ),
    Pattern(
        kind="seed-phrase", needles=("seed", "mnemonic", "recovery", "backup"), holds=_is_seed,
        expression=_any_case(
            r"(?:seed|recovery|mnemonic|backup)(?:[ _-]?(?:phrase|words?|key|seed))?\b[^\n:=]{0,40}?(?:\bis\b|\bare\b|:|=)\s{0,4}[\"'`]?"
            rf"(?P<secret>{_SEED}(?:(?:[ ,]{{1,3}}{_SEED}){{11,23}}|(?:,?\s{{0,2}}\n\s{{0,3}}{_SEED}){{11,23}}))"
        ),
    ),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""


_OPAQUE = "k7Q2xV9mZ4tR8wB1nY5c"


def named_secret(name: str, value: str = _OPAQUE) -> str | None:
    """The kind of secret of a field value by the field's name: ``{"password": "sunflower"}``; without a value, by the name alone."""
    assignment = f'{name[-200:]}="{value}"'
    for pattern in _NAMED:
        match = pattern.expression.regex.search(assignment)
        if match is not None and pattern.holds is not None and pattern.holds(match):
            return pattern.kind
    return None


_NAMED = [pattern for pattern in CONTEXT_PATTERNS if pattern.kind in ("password", "key")]


_NO_SECRET = re.compile(
    r"""(?ix) (?: [a-z][a-z0-9+.-]*:// | www\. ) .*  # addresses
    | [\w.+-]+@[\w-]+\.[\w.-]+
    | [^/]*/ .*  # paths, and one thing or the other
    | (?: sha | md | argon | bcrypt | scrypt | pbkdf | aes | rsa | utf | base | oauth | http | ipv | x | web | ec | s | k ) -?\d{1,4} .{0,12}
    | \d{1,4} (?: st | nd | rd | th )? -? [a-z]+ (?: -[a-z]+ )*  # 8-character, 3rd-party
    | \d{4}-\d\d .*
    | v? \d+ (?: \.\d+ )+ \w*
    | [a-z]+ (?: _[a-z0-9]+ )+  # names in programs
    | .* \. (?: py | [jt]sx? | txt | md | json | ya?ml | toml | html? | php | go | rs | java | sql | csv | pdf | png | jpe?g | env | conf | ini )
    | .* [(=\[{] .*"""
)


def _is_beside(match: _Match) -> bool:
    """Whether the text in brackets beside the word password is one: no word and no measure."""
    value = match["secret"].rstrip(".,;:!?")
    if (
        len(value) < 4
        or _is_placeholder(value)
        or _is_common_word(value)
        or _of_code(value)
        or _MEASURE.fullmatch(value)
    ):
        return False
    return _is_mixed(value) or not re.fullmatch(r"[\w'\u2019/-]+", value)


def _is_strict(match: _Match) -> bool:
    """A stricter check for weak context: letters mixed with digits, and no common notation."""
    value = match["secret"].strip(".,;:!?()*_|\u00bb\u201d\u201c\u2019\u2018")
    if (
        len(value) < 5
        or _is_placeholder(value)
        or _is_common_word(value)
        or _of_code(value)
        or _MEASURE.fullmatch(value)
    ):
        return False
    return _is_mixed(value) and not _NO_SECRET.fullmatch(value)


def _stands_out(value: str) -> bool:
    """Whether a value is neither a word nor a common notation with digits or signs."""
    value = value.strip(".,;:!?()*_|")
    if (
        len(value) < 4
        or _is_placeholder(value)
        or _is_common_word(value)
        or _of_code(value)
        or _MEASURE.fullmatch(value)
    ):
        return False
    odd = _is_mixed(value) or (not re.fullmatch(r"[\w'\u2019/-]+", value) and re.search(r"\w", value) is not None)
    return odd and not _NO_SECRET.fullmatch(value)


def _secret_stands_out(match: _Match) -> bool:
    return _stands_out(match["secret"])


def _is_field(match: _Match) -> bool:
    """Whether the word is a label alone on its line, with a value alone on the next."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    return _LABEL.search(before) is not None and _stands_out(match["secret"])


_LABEL = re.compile(r"(?:^|\n)[\s*#>_-]{0,6}(?:[\w'\u2019-]{1,12} ){0,2}[*_]{0,2}$")


def _is_bare_key(match: _Match) -> bool:
    """Whether a key directly follows its name: random, and no identifier."""
    value = match["secret"].rstrip(".,;:")
    if not _is_of_service(match) or _UUID.fullmatch(value) or _is_placeholder(value) or _NO_SECRET.fullmatch(value):
        return False
    return is_random(value) and sum(c.isdigit() for c in value) >= 4


def _is_seed_phrase(match: _Match) -> bool:
    """Whether a separate line has the distinct uninflected words of a wallet seed."""
    words = match["secret"].split()
    before = match.string[: match.start()].rstrip(" ")[-2:]
    apart = match.start() == 0 or before.endswith((":\n", "\n\n")) or before == "\n"
    return apart and len(words) in (12, 15, 18, 21, 24) and len(set(words)) == len(words)


def _is_login(match: _Match) -> bool:
    value = match["secret"].rstrip(".,;")
    return not _is_placeholder(value) and not _is_common_word(value) and not value.isalpha()


def _opened(match: _Match) -> bool:
    """Whether the word is in an opening tag."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    tag = before[before.rfind("<") :] if "<" in before else "/"
    return not re.search(r"[/>\s]", tag)


def _in_tag(match: _Match) -> bool:
    return _opened(match) and _is_given(match) and not _of_code(match["secret"])


def _key_in_tag(match: _Match) -> bool:
    return _opened(match) and _is_random_value(match)


def _is_set(match: _Match) -> bool:
    """Whether a command that sets a variable precedes."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    return _SETS.search(before) is not None and _is_given(match)


_SETS = re.compile(
    r"(?:define|setenv|putenv)\w{0,10}\(\s{0,3}[\"'][\w-]{0,40}$|(?:^|\s)(?:ENV|ARG|setx|setenv)\s{1,3}[\w-]{0,40}$"
)
_TOKEN = r"(?P<secret>(?>(?:[^\s\"'`|]|[\"'](?=[\w!$%&*+-])){4,128}))"
_QUOTE = r"[\"'`\u201c\u201e\u2018\u00ab(*]{0,2}\s?"
_POSSESSIVE = r"(?:my|the|our|your|his|her|their|mein|das|unser|mi|la|mon|le|minha|a|il)"
_SEED_WORD = (
    r"(?!(?:the|and|for|are|was|but|not|from|his|her|has|had|our|its|were|been|their|she|him|they|who|how|did|does|would)\b)"
    r"[a-z]{3,8}\b(?<!\wed)(?<!\wing)(?<!\wly)(?<![^suai]s)"
)
_WEAK = r"(?:(?<!\w)clave|geheimwort|(?:wlan|wi-?fi|netzwerk)-?schl(?:\u00fc|ue)ssel|cl\u00e9 (?:du )?wi-?fi|code (?:du )?wi-?fi|chave do wi-?fi|wi-?fi (?:key|code))"

_ABROAD = (
    "l\u00f6senord", "salasana", "heslo", "has\u0142o", "\u015fifre", "parola", "m\u1eadt kh\u1ea9u", "\u043f\u0430\u0440\u043e\u043b", "\u30d1\u30b9\u30ef\u30fc\u30c9",
    "\ube44\ubc00\ubc88\ud638", "\ube44\ubc88", "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631", "\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631", "\u5bc6\u7801", "\u5bc6\u78bc",
)  # fmt: skip
"""The word password in Swedish, Finnish, Czech, Polish, Turkish, Romanian, Vietnamese, Russian, Japanese, Korean, Arabic and Chinese."""
_TO_WHICH = r"(?:\s(?:wi-?fi|wlan)|\s(?:till|p\u00e5|k|ke|do|od|pro|c\u1ee7a|cho|\u043e\u0442|\u0434\u043b\u044f|\u043a|\u043d\u0430|\u0432)\s[^\s:=]{1,20})?"
_IS = r"(?:\s?(?:[:=\uff1a]|(?:\u00e4r|je|on|to|este|l\u00e0|\u0647\u064a|\u0647\u0648)\b|\u306f|\uff0c|\ub294|\uc740|\uac00|\uc774|\u662f)\s{0,2}|\s)"

ADJACENT_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        kind="password", needles=_ABROAD, holds=_is_strict,
        expression=_any_case(rf"(?:{'|'.join(_ABROAD)})\w{{0,5}}?{_TO_WHICH}{_IS}{_QUOTE}(?P<secret>[!-~]{{5,128}}+)"),
    ),
    Pattern(
        kind="login", needles=("login",), holds=_is_strict,
        expression=_any_case(rf"\blogin\s[^\s:/=()]{{1,64}}\s?/\s?{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="command-password", needles=("mysql", "mariadb"), holds=_is_given,
        expression=_any_case(r"\b(?:mysql(?:dump|admin)?|mariadb(?:-dump)?)\s[^\n|;]{0,120}?(?<=\s)(?-i:-p)[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"),
    ),
    Pattern(
        kind="command-password", needles=("docker", "podman", "ldapsearch", "unzip"), holds=_is_given,
        expression=_any_case(
            r"(?:(?:docker|podman)\slogin\s[^\n|;]{0,160}?(?<=\s)-p|ldapsearch\s[^\n|;]{0,160}?(?<=\s)(?-i:-w)|unzip\s[^\n|;]{0,160}?(?<=\s)(?-i:-P))"
            r"[ =]?[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"
        ),
    ),
    Pattern(
        kind="password", needles=("wifi:",), holds=_is_given,
        expression=_any_case(r"wifi:(?:[^;\n]{0,60};){0,4}?p:(?P<secret>[^;\n]{4,128}+);"),
    ),
    Pattern(
        kind="login", needles=("login", "user", "account"), holds=_is_login,
        expression=_any_case(
            r"\b(?:login|user(?:name)?|account)[ :]{1,2}[^\s:=()]{1,64}[\s,;/]{1,3}(?:and )?(?:pass(?:word)?|pw|pwd)\s{1,2}(?P<secret>[^\s\"'<>]{4,128}+)"
        ),
    ),
    Pattern(
        kind="login", needles=("login", "cred", "zugangsdaten", "identifiants"), holds=_is_strict,
        expression=_any_case(
            r"(?:logins?|cred(?:ential)?s?|zugangsdaten|identifiants)(?:\s(?:for|of|to|f\u00fcr)\s[^\n:.,;=]{1,40}?)?(?:\s(?:is|are|sind|sont)|\s?:)\s{1,3}"
            rf"[^\s/]{{1,64}}?\s?(?:/|:(?!//))\s?{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_beside,
        expression=_any_case(rf"{_PASSWORD}{_OF}\s\((?P<secret>[^\s()]{{4,128}})\)"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_beside, anywhere=True,
        expression=_any_case(
            rf"\b(?:use|using|with|set|enter|take|put|type)\s[\"'`]?(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`]?\s(?:as|for)\s"
            rf"(?:the|my|your|our|its|a)\s(?:\w{{1,20}}\s){{0,2}}{_PASSWORD}"
            r"(?=\s(?:for|on|of|to|in|there|now|please|and|but|when|if|instead)\b|[.,;:!?)]|\s*$)"
        ),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_strict,
        expression=_any_case(
            rf"{_PASSWORD}s?{_SUFFIX}[\"'`*]{{0,2}}(?:\s{{0,3}}(?:->|\u2192|\|)\s{{0,3}}|\s{{1,3}}[\u2013\u2014-]\s{{1,3}}|[ \t]{{1,2}}){_QUOTE}{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_strict,
        expression=_any_case(rf"{_PASSWORD}e?s(?:{_OF}{_COPULA}|\s{{0,3}}:\s{{0,3}}){_ADVERBS}{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_strict,  # the second of two
        expression=_any_case(
            rf"{_PASSWORD}(?:e?s)?(?:{_OF}{_COPULA}|{_ASSIGNMENT})[^\s]{{1,128}}?(?:[,;]|\s(?:or|and|und|oder|ou|et|o|y|e))?\s{_QUOTE}{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_strict,
        expression=_any_case(rf"{_PASSWORD}\s(?:from|auf|a|en|para|in)\s{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_strict,
        expression=_any_case(rf"{_PASSWORD}\sfrom\s[^\s]{{1,128}}\sto\s{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=("clave", "geheimwort", "wlan", "netzwerk", "cl\u00e9", "code", "chave", "wifi", "wi-fi"), holds=_is_strict,
        expression=_any_case(rf"{_WEAK}(?:{_OF}{_COPULA}|\s{{0,3}}[:=]\s{{0,3}}){_ADVERBS}{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_in_tag,
        expression=_any_case(rf"{_PASSWORD}{_SUFFIX}>\s{{0,4}}(?P<secret>[^<>\s]{{4,512}}+)\s{{0,4}}</"),
    ),
    Pattern(
        kind="key", needles=_KEYS, holds=_key_in_tag,
        expression=_any_case(rf"{_KEY}{_SUFFIX}>\s{{0,4}}(?P<secret>[^<>\s]{{12,512}}+)\s{{0,4}}</"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_given,
        expression=_any_case(rf"{_PASSWORD}{_SUFFIX}[\"']\s{{1,3}}value=[\"'](?P<secret>[^\"'\n]{{4,512}}+)[\"']"),
    ),
    Pattern(
        kind="password", needles=(*_PASSWORDS, *_KEYS), holds=_is_set,
        expression=_any_case(rf"(?:{_PASSWORD}|{_KEY}){_SUFFIX}(?:[\"']\s{{0,3}},\s{{0,3}}[\"']|\s{{1,3}}[\"']?)(?P<secret>[^\s\"'<>]{{4,512}}+)"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_secret_stands_out,  # "What is the password? It's ..."
        expression=_any_case(
            rf"{_PASSWORD}{_OF}\?[\"')*]{{0,3}}\s{{1,4}}(?:[\w ]{{1,20}}:\s{{0,3}})?(?:(?:it|that|es|c|\u00e9|\u00e8)(?:['\u2019]s|['\u2019]est| is| was| ist|)\s{{1,2}}:?)?{_QUOTE}{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_is_field,
        expression=_any_case(rf"{_PASSWORD}{_SUFFIX}[ \t*:]{{0,4}}(?:\n[ \t]{{0,8}}){{1,2}}(?P<secret>[^\s]{{4,128}}+)(?=[ \t]*(?:\n|\Z))"),
    ),
    Pattern(
        kind="key", needles=_KEYS, holds=_is_bare_key,
        expression=_any_case(rf"{_KEY}{_SUFFIX}[\"'`*]{{0,2}}[ \t]{{0,3}}(?:[ \t]|\n\s{{0,4}}|->\s|\u2192\s|\|\s){_QUOTE}(?P<secret>[A-Za-z0-9_+/=.~-]{{16,512}}+)(?![\w(])"),
    ),
    Pattern(
        kind="password", needles=_PASSWORDS, holds=_secret_stands_out, anywhere=True,  # "... is my password"
        expression=_any_case(
            rf"(?<!\S)[\"'`(*]{{0,2}}(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`*]{{0,2}}\s(?:is|was|ist|war|es|est|\u00e9|\u00e8)\s{_POSSESSIVE}\s(?:[\w-]{{1,20}}\s){{0,2}}{_PASSWORD}"
            r"(?![\w-]|\s(?:hint|manager|reset|policy|field|prompt|page|generator|vault|hash|change|rule|length|screen|box|dialog|list|file))"
        ),
    ),
    Pattern(
        kind="pin", needles=("pin ",), expression=_any_case(r"(?-i:\bPIN) (?P<secret>\d{4})(?![\d:/.-]?\d)"),
    ),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""

ANYWHERE: tuple[Pattern, ...] = (
    Pattern(
        kind="seed-phrase", needles=(), holds=_is_seed_phrase, anywhere=True,
        expression=Expression(rf"(?m)^[ \"'`*>]{{0,4}}(?P<secret>{_SEED_WORD}(?: {_SEED_WORD}){{11,23}})[ \"'`*.]{{0,3}}$(?!\n(?:{_SEED_WORD} ){{8}})"),
    ),
)  # fmt: skip
"""Tried on every text; they need no context."""


_CELLS = {sign: re.compile(rf'(?>(?:[^"{re.escape(sign)}]|"[^"]*+"|")*)') for sign in "|\t;,"}
_HEADING = re.compile(r"[\s\"'*_`]*(?:[^\W_][\w-]*(?: [\w/-]+){0,2})?[\s\"'*_`]*")
_LOGIN = ("user", "login", "email", "e-mail", "account", "benutzer", "konto", "usuario", "utilisateur")
_LONGEST = 2_000
"""Longest header line in characters."""


@dataclass(frozen=True, slots=True)
class _Table:
    sign: str
    width: int
    secret: dict[int, str]
    logins: bool


def columns(text: str) -> Iterator[Span]:
    """Spans of cells in secret columns of tables; marks of earlier passes count as cells."""
    table, at, low = None, 0, text.lower()
    names = [name for name in (*_PASSWORDS, *_KEYS) if name in low]
    for line in text.split("\n"):
        if table is not None:
            cells = _cells(line, table.sign)
            table = table if len(cells) == table.width else None
            if table is not None:
                yield from _secrets(text, table, [(at + start, at + end) for start, end in cells])
        if table is None:
            table = _headed(line, names)
        at += len(line) + 1


def _cells(line: str, sign: str) -> list[tuple[int, int]]:
    found, at = list[tuple[int, int]](), 0
    while (match := _CELLS[sign].match(line, at)) is not None:
        found.append(match.span())
        if match.end() == len(line):
            break
        at = match.end() + 1
    return found


def _headed(line: str, names: Sequence[str]) -> _Table | None:
    """The table that a header line starts, if one of its columns is secret."""
    sign = next((sign for sign in _CELLS if sign in line), None)
    if sign is None or len(line) > _LONGEST or not any(name in line.lower() for name in names):
        return None
    headings = [line[start:end] for start, end in _cells(line, sign)]
    if sum(bool(one.strip()) for one in headings) < 2 or not all(map(_HEADING.fullmatch, headings)):
        return None
    named = {place: one.strip(" \t\"'*_`") for place, one in enumerate(headings)}
    secret = {place: name for place, name in named.items() if named_secret(name)}
    logins = any(word in heading.lower() for heading in headings for word in _LOGIN)
    return _Table(sign, len(headings), secret, logins) if secret else None


def _is_plain(value: str) -> bool:
    """Whether a value is a lower-case word of six letters or more, and no adjective or participle by its ending."""
    letters = len(value) >= 6 and value.isascii() and value.isalpha() and value.islower()
    return letters and not value.endswith(("ed", "ing", "ly", "able"))


def _secrets(text: str, table: _Table, cells: list[tuple[int, int]]) -> Iterator[Span]:
    for place, name in table.secret.items():
        start, end = cells[place]
        cell = text[start:end]
        value = cell.strip(" \t\r\"'*_`")
        kind = named_secret(name, value) if value and not re.search(r"\s", value) else None
        if kind and (kind == "key" or _stands_out(value) or (table.logins and _is_plain(value))):
            first = start + cell.index(value)
            yield first, first + len(value), kind
