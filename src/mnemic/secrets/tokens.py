"""Secrets known by their format: tokens of services, keys, and numbers of cards, accounts and people."""

from __future__ import annotations

import base64
import hashlib
import re

from mnemic.secrets.patterns import UUID, Match, Pattern, is_mixed, is_placeholder, is_random

# ruff: noqa: E501 - expressions are easier to check on one line; none of them is a password in use

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


def _is_card_number(digits: str) -> bool:
    """Whether digits are a payment card number: an issued prefix, its length, and the Luhn checksum."""
    if not _CARDS.fullmatch(digits):
        return False
    doubled = (int(d) * 2 if i % 2 else int(d) for i, d in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def _is_iban(match: Match) -> bool:
    """Whether a match is an IBAN: the length of its country, and the checksum."""
    text = match[0].replace(" ", "").upper()
    if len(text) != _IBAN_LENGTHS.get(text[:2]):
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def _is_base58_key(match: Match) -> bool:
    """Whether a match is a private key in wallet import format, by checksum."""
    number = 0
    for c in match[0]:
        number = number * 58 + _BASE58.index(c)
    data = number.to_bytes(39, "big").lstrip(b"\0")
    return len(data) in (37, 38) and hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]


_BREAK = r"[ .-]{0,2}\n? {0,2}"


_SSN = r"(?P<secret>(?P<area>\d{3})[- ]?(?P<group>\d{2})[- ]?(?P<serial>\d{4}))"


_SSN_NAME = r"(?:ssn|social[ _-]security(?:[ _-](?:number|no\.?|#))?|social[ _-]insurance[ _-]number|itin|tax[ _-]id)\b"


_OTHER = re.compile(
    r"(?i)(?:order|tracking|invoice|parcel|shipment|serial|reference|ref|isbn|imei|ticket|booking|item|sku|case|build)"
    r"(?:\s?(?:number|no\.?|nr\.?|id|code|#))?\s?[:#]?\s{0,2}#?$"
)


def _is_card(match: Match) -> bool:
    """Whether it is a card number, and neither part of a UUID nor called otherwise by the preceding word."""
    if not _is_card_number(re.sub(r"\D", "", match[0])) or _in_columns(match):
        return False
    if UUID.match(match.string, match.start()):  # one in some forty thousand would be one
        return False
    return _OTHER.search(match.string, max(0, match.start() - 30), match.start()) is None


def _in_columns(match: Match) -> bool:
    """Whether a number across lines is part of a table: more digit groups are around it."""
    if (lines := match[0].count("\n")) == 0:
        return False
    around = match.string[max(0, match.start() - 6) : match.start()], match.string[match.end() : match.end() + 6]
    return lines > 1 or any(re.search(r"\d{3}", text) for text in around)


def _is_issued(match: Match) -> bool:
    area, group, serial = (match[name] for name in ("area", "group", "serial"))
    return area not in ("000", "666") and not area.startswith("9") and group != "00" and serial != "0000"


NUMBERS = (
    Pattern("card-number", (), _is_card, anywhere=True, expression=
            rf"(?<![\d.,_/=-])(?<![A-Za-z])\d{{4}}(?:{_BREAK}\d{{4}}{_BREAK}\d{{4}}{_BREAK}\d{{1,7}}|{_BREAK}\d{{6}}{_BREAK}\d{{4,5}})(?![\d_]|[.,-]\d)"),
    Pattern("iban", (), _is_iban, anywhere=True, expression=
            r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"),
    Pattern("us-ssn", (), _is_issued, anywhere=True, expression=
            rf"(?i)\b{_SSN_NAME}[^\d\n]{{0,20}}{_SSN}(?![\d-])"),
    Pattern("us-ssn", (), _is_issued, anywhere=True, expression=
            rf"(?i)(?<![\d-]){_SSN}\)?\s(?:is|was|as|for)\s(?:my|the|our|his|her|their|your)\s(?:\w{{1,20}}\s)?{_SSN_NAME}"),
)  # fmt: skip
"""Tried where a text holds nine digits or more in a row, with at most three other signs between two."""


# One line each: kind, text that must be there (several: one of them), the token. The token begins with that text, and
# no letter or digit stands before it; "|" says that it begins elsewhere.
_TABLE = r"""
age-secret-key            AGE-SECRET-KEY-1             AGE-SECRET-KEY-1[0-9A-Z]{58}
airtable-token            pat                          pat[A-Za-z0-9]{14}\.[0-9a-f]{64}
alibaba-access-key        LTAI                         LTAI[A-Za-z0-9]{17,21}(?![A-Za-z0-9])
amazon-login-secret       amzn1.oa2-cs.                amzn1\.oa2-cs\.v\d\.[0-9a-f]{64}
amazon-login-token        Atza|,Atzr|                  Atz[ar]\|[A-Za-z0-9_-]{20,}+
anthropic-key             sk-ant-                      sk-ant-[A-Za-z0-9_-]{20,}+
artifactory-token         AKC                          AKC[A-Za-z0-9]{60,}+
asana-token               /                            |(?<![\w/.])[12]/\d{15,17}(?:/\d{15,17})?:[0-9a-f]{32}(?![0-9A-Za-z])
atlassian-token           ATATT3,ATCTT3                AT[AC]TT3[A-Za-z0-9_=-]{50,}+
aws-access-key            AKIA,ASIA,ABIA,ACCA          A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])
axiom-token               xaat-                        xaat-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
aws-bedrock-key           ABSK,bedrock-api-key-        (?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{60,}+={0,2}
azure-client-secret       Q~                           |(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}(?![\w~-]|\.\w)
azure-connection-key      AccountKey=,SharedAccessKey= |(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,}+={0,2})
azure-devops-token        AZDO                         |(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])
azure-key                 JQQJ99                       |(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}(?![A-Za-z0-9])
azure-sas-signature       sig=                         |(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%+/=_-]{40,}+)
baidu-key                 bce-v3/                      bce-v3/ALTAK-[A-Za-z0-9]{20,}+/[0-9a-f]{40}
bitbucket-token           ATBB                         ATBB[A-Za-z0-9_=-]{24,}+
braintree-token           access_token$                access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}
brevo-key                 xkeysib-,xsmtpsib-           x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}
buildkite-token           bkua_                        bkua_[0-9a-f]{40}
cerebras-key              csk-                         csk-[a-z0-9]{40,}+
circleci-token            CCIPAT_,CCIPRJ_              CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}
clickup-token             pk_                          pk_\d{5,10}_[0-9A-Z]{32}
clojars-token             CLOJARS_                     CLOJARS_[0-9a-z]{60}(?![0-9a-z])
cloudflare-key            v1.0-                        v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}+
contentful-token          CFPAT-                       CFPAT-[A-Za-z0-9_-]{43}
crates-token              cio                          cio[A-Za-z0-9]{32}(?![A-Za-z0-9])
cursor-key                crsr_                        crsr_[0-9a-f]{64}(?![0-9a-f])
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
gitlab-token              GR1348941                    GR1348941[A-Za-z0-9_-]{20,}+
google-api-key            AIza                         AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])
google-api-key            AQ.                          AQ\.[A-Za-z0-9_-]{45,}+
google-oauth-secret       GOCSPX-                      GOCSPX-[A-Za-z0-9_-]{20,}+
google-oauth-token        ya29.                        ya29\.[A-Za-z0-9_.-]{20,}+
google-refresh-token      1//0                         1//0[A-Za-z0-9_-]{30,}+
grafana-token             glsa_,glc_                   gl(?:sa|c)_[A-Za-z0-9_+/=]{32,}+
groq-key                  gsk_                         gsk_[A-Za-z0-9]{40,}+
heroku-key                HRKU-                        HRKU-[A-Za-z0-9_-]{36,}+
hubspot-token             pat-                         pat-(?:na|eu|ap)\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
huggingface-token         hf_                          hf_[A-Za-z0-9]{30,}+
huggingface-token         api_org_                     api_org_[A-Za-z0-9]{30,}+
infracost-key             ico-                         ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])
inngest-key               signkey-                     signkey-(?:prod|test|branch)-[0-9a-f]{32,}+
kubernetes-token          sha256~                      sha256~[A-Za-z0-9_-]{43}
langsmith-key             lsv2_                        lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}
linear-key                lin_                         lin_(?:api|oauth)_[A-Za-z0-9]{32,}+
mailchimp-key             -us                          |(?<![0-9A-Za-z])[0-9a-f]{32}-us\d{1,2}(?![0-9A-Za-z])
mailgun-key               key-                         key-[0-9a-f]{32}(?![0-9A-Za-z-])
mapbox-token              sk.eyJ                       sk\.eyJ[A-Za-z0-9_-]{30,}+\.[A-Za-z0-9_-]{20,}+
modal-key                 ak-,as-                      a[ks]-(?=[a-z]*\d|[A-Za-z]+\d)(?=[a-z\d]*[A-Z])[A-Za-z0-9]{22}(?![A-Za-z0-9-])
netlify-token             nfp_                         nfp_[A-Za-z0-9]{36,}+
newrelic-key              NRAK-,NRII-,NRBR-            NR(?:AK|II|BR)-[A-Za-z0-9_-]{19,}+
nostr-key                 nsec1                        nsec1[02-9ac-hj-np-z]{58}(?![0-9a-z])
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
slack-token               xox,xapp-,xwfp-              x(?:ox[abceoprsd](?:\.xox[bp])?|app|wfp)-[A-Za-z0-9-]{10,}+
slack-webhook             hooks.slack.com/             |(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{30,}+)
sonar-token               sq                           sq[upa]_[0-9a-f]{40}
sourcegraph-token         sgp_                         sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}
square-token              sq0                          sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}+
square-token              EAAA                         EAAA[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])
stripe-key                k_live_,k_test_,k_prod_      |(?<![A-Za-z0-9])[sr]k_(?:live|test|prod)_(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,}+
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
url-key                   .infura.io/,.alchemy.com/,.make.com/ |\.(?:infura\.io/(?:ws/)?v3|g\.alchemy\.com/(?:v2|nft/v3)|make\.com)/(?P<secret>[A-Za-z0-9_-]{32,}+)
vault-token               hvs.,hvb.,hvr.               hv[sbr]\.[A-Za-z0-9_-]{20,}+
vercel-token              vercel_blob_rw_              vercel_blob_rw_[A-Za-z0-9]{10,}+_[A-Za-z0-9]{20,}+
vercel-token              vcp_,vci_,vca_,vcr_,vck_     vc[piark]_[A-Za-z0-9]{24,}+
woocommerce-key           ck_,cs_                      c[ks]_[0-9a-f]{40}(?![0-9a-f])
xai-key                   xai-                         xai-[A-Za-z0-9]{40,}+
"""


_BEGINS = r"(?<![A-Za-z0-9])"


def _row(line: str) -> Pattern:
    kind, needles, assignment = line.split(maxsplit=2)
    anywhere = assignment.startswith("|")
    expression = assignment[1:] if anywhere else _BEGINS + assignment
    return Pattern(kind, tuple(needles.split(",")), _body, expression, anywhere=anywhere)


def _body(match: Match) -> bool:
    """Whether a token with the right prefix is real and no placeholder."""
    token = match["secret"] if "secret" in match.re.groupindex else match[0]
    return len(set(token[-12:].lower())) > 3 and not is_placeholder(token[token.find("_") + 1 :])


def _openai(match: Match) -> bool:
    """An OpenAI key, or one of the many services that write theirs the same way."""
    return _body(match) and is_mixed(match[0][3:]) and not is_placeholder(match[0][3:]) and is_random(match[0][3:])


def _random(match: Match) -> bool:
    return is_random(match[0])


def _is_token(match: Match) -> bool:
    """Whether a short prefix has random letters and digits behind it.

    What else is written so is shorter (ids of objects), hexadecimal (digests), or has words or numbers (names in programs,
    ids with a date or a UUID behind).
    """
    runs = re.split("[_-]", match["body"])
    return any(map(_is_opaque, runs)) and not any(map(_PART.fullmatch, runs))


def _is_opaque(run: str) -> bool:
    """Whether letters and digits alternate as in no name: of both cases often enough, or very many with many digits."""
    if len(run) < 12 or re.fullmatch("[0-9a-f]+|[0-9A-F]+", run):
        return False
    changes, digits = len(_CHANGE.findall(run)) / len(run), sum(map(str.isdigit, run))
    if len(run) >= 40 and changes >= 0.18 and digits >= len(run) / 10:
        return True
    return changes >= 0.34 and digits >= (1 if len(run) >= 20 else 2) and run.lower() != run != run.upper()


_PART = re.compile(r"\d{2,}|[0-9a-f]{4,}|[a-z]{4,}")
_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])")


def _is_aws_secret(match: Match) -> bool:
    """Whether what stands beside the id of an AWS key is its secret, and no checksum."""
    return is_random(match["secret"]) and re.fullmatch(r"[0-9a-f]+", match["secret"]) is None


def _is_encoded_key(match: Match) -> bool:
    """Whether base64 that begins as an armoured text does is a private key."""
    return b"PRIVATE KEY" in base64.b64decode(match[0][:52])


_JSON = r"[A-Za-z0-9_-]"


_AWS_ID = r"A(?:KIA|SIA)[A-Z0-9]{16}"


TOKENS = (
    *(_row(line) for line in _TABLE.strip().splitlines()),
    Pattern("openai-key", ("sk-",), _openai, _BEGINS + r"sk-(?!ant-|or-)[A-Za-z0-9_-]{20,}+"),
    Pattern("aws-secret-key", ("AKIA", "ASIA"), _is_aws_secret,
            _BEGINS + _AWS_ID + r"(?:/|[^A-Za-z0-9/+][\s\S]{0,80}?(?<![A-Za-z0-9/+]))(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    Pattern("aws-secret-key", ("AKIA", "ASIA"), _is_aws_secret, anywhere=True, expression=
            rf"(?<![A-Za-z0-9/+])(?P<secret>[A-Za-z0-9/+]{{40}})[\s,:;|]{{1,4}}(?={_AWS_ID})"),
    Pattern("azure-devops-token", ("2", "3", "4", "5", "6", "7"), _random, least=52, anywhere=True, expression=
            r"(?<![A-Za-z0-9_.-])[a-z2-7]{52}(?![A-Za-z0-9_-]|\.\w)"),
    Pattern("private-key", ("LS0tLS1CRUdJTi",), _is_encoded_key,
            _BEGINS + r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}+(?>(?:\s{1,3}[A-Za-z0-9+/]{16,}+){0,400})={0,2}"),
    Pattern("jwt", ("eyJ",), lambda match: len(match[0]) >= 40, rf"(?<!{_JSON})eyJ{_JSON}{{8,}}+\.(?:eyJ)?{_JSON}{{8,}}+(?:\.{_JSON}*+){{1,3}}"),
    Pattern("discord-token", ("M", "N", "O"), _random, least=58, anywhere=True, expression=
            r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?![\w-]|\.\w)"),
    Pattern("zai-key", (".",), _random, least=49, anywhere=True, expression=
            r"(?<![A-Za-z0-9_.-])[0-9a-f]{32}\.(?=[a-z\d]*[A-Z])[A-Za-z0-9]{16}(?![A-Za-z0-9_-])"),
    Pattern("bitcoin-key", ("5", "K", "L", "c"), _is_base58_key, least=51, anywhere=True, expression=
            r"(?<![A-Za-z0-9])[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])"),
    Pattern("wallet-key", ("prv",), None, _BEGINS + r"[xyztuvYZUV]prv[1-9A-HJ-NP-Za-km-z]{80,}+", anywhere=True),
    Pattern("password-hash", ("$2a$", "$2b$", "$2y$", "$6$", "$5$", "$1$", "$y$", "$apr1$", "$argon2", "pbkdf2_"), None,
            r"(?<![\w$])\$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|[156y]\$[./A-Za-z0-9$=]{20,}+"
            r"|apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|argon2(?:id|i|d)\$[A-Za-z0-9+/$=,]{40,}+)"
            r"|(?<![\w$])pbkdf2_sha(?:1|256|512)\$\d{3,8}\$[^\s$]{1,64}\$[A-Za-z0-9+/]{20,}+={0,2}"),
    Pattern("token", ("-", "_"), _is_token, least=28, anywhere=True, expression=
            r"(?<![A-Za-z0-9_\\%-])(?<!sha256=)(?!pk[_-]|phc_|cs_)[a-z][a-z0-9]?[a-z]{0,8}[_-](?:(?:v?\d|[a-z]{2,7})[_-]){0,3}"
            r"(?:(?<=[_-]live_)|(?<=[_-]prod_)|(?=[A-Za-z0-9_-]{36}))(?P<body>[A-Za-z0-9_-]{20,}+)(?!@|%40)"),  # no name of an account
)  # fmt: skip
"""Tried where a text holds a run of at least sixteen characters without a space."""
