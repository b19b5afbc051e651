"""Made-up secrets of every kind, ordinary texts that resemble them, and inputs made to be slow. None was ever in use."""

import base64
import hashlib
import random

MIXED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_random = random.Random(7)


def made(length, alphabet=MIXED):
    return "".join(_random.choice(alphabet) for _ in range(length))


def hexed(length):
    return made(length, "0123456789abcdef")


def base58_checked(data):
    data += hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + text
    return text


def luhn(start):
    for last in "0123456789":
        doubled = [int(d) * 2 if i % 2 else int(d) for i, d in enumerate(reversed(start + last))]
        if sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0:
            return start + last
    raise AssertionError


def iban(country, account):
    digits = "".join(str(int(c, 36)) for c in account + country + "00")
    return f"{country}{98 - int(digits) % 97:02d}{account}"


def jwt():
    parts = ('{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890","name":"Ana","iat":1516239022}', made(24))
    return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)


def armoured(kind, lines=6):
    body = "\n".join(base64.b64encode(_random.randbytes(48)).decode() for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
WORDS = "ripple ladder oxygen velvet tuna canyon drift summer pistol garlic expand blossom"

TOKENS = [
    ("age-secret-key", "AGE-SECRET-KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    ("airtable-token", "pat" + made(14) + "." + hexed(64)),
    ("alibaba-access-key", "LTAI" + made(20)),
    ("anthropic-key", "sk-ant-api03-" + made(93) + "AA"),
    ("artifactory-token", "AKCp" + made(69)),
    ("asana-token", "1/" + made(16, "0123456789") + ":" + hexed(32)),
    ("atlassian-token", "ATATT3xFfGF0" + made(170)),
    ("aws-access-key", "AKIA" + made(16, UPPER)),
    ("aws-access-key", "ASIA" + made(16, UPPER)),
    ("aws-bedrock-key", "ABSK" + made(109)),
    ("azure-client-secret", made(3) + "8Q~" + made(34)),
    ("bitbucket-token", "ATBB" + made(32)),
    ("braintree-token", "access_token$production$" + hexed(16) + "$" + hexed(32)),
    ("brevo-key", "xkeysib-" + hexed(64) + "-" + made(16)),
    ("buildkite-token", "bkua_" + hexed(40)),
    ("circleci-token", "CCIPAT_" + made(22) + "_" + hexed(40)),
    ("cloudflare-key", "v1.0-" + hexed(24) + "-" + hexed(146)),
    ("clickup-token", "pk_" + "4821733_" + made(32, UPPER)),
    ("contentful-token", "CFPAT-" + made(43)),
    ("crates-token", "cio" + made(32)),
    ("databricks-token", "dapi" + hexed(32)),
    ("digitalocean-token", "dop_v1_" + hexed(64)),
    ("discord-token", "MTA" + made(21) + "." + made(6) + "." + made(38)),
    ("docker-token", "dckr_pat_" + made(27)),
    ("doppler-token", "dp.pt." + made(43)),
    ("dropbox-token", "sl." + made(135)),
    ("duffel-token", "duffel_live_" + made(43)),
    ("dynatrace-token", "dt0c01." + made(24, UPPER) + "." + made(64, UPPER)),
    ("easypost-key", "EZAK" + made(54)),
    ("facebook-token", "EAA" + made(180)),
    ("figma-token", "figd_" + made(40)),
    ("fly-token", "fm2_" + made(200)),
    ("flutterwave-key", "FLWSECK-" + hexed(32) + "-X"),
    ("frameio-token", "fio-u-" + made(64)),
    ("github-token", "ghp_" + made(36)),
    ("github-token", "gho_" + made(36)),
    ("github-token", "github_pat_" + made(22) + "_" + made(59)),
    ("gitlab-token", "glpat-" + made(20)),
    ("google-api-key", "AIza" + made(35)),
    ("google-oauth-secret", "GOCSPX-" + made(28)),
    ("google-oauth-token", "ya29." + made(60)),
    ("google-refresh-token", "1//0" + made(60)),
    ("grafana-token", "glsa_" + made(32) + "_" + hexed(8)),
    ("groq-key", "gsk_" + made(52)),
    ("heroku-key", "HRKU-AA" + made(58)),
    ("huggingface-token", "hf_" + made(34)),
    ("infracost-key", "ico-" + made(32)),
    ("jwt", jwt()),
    ("kubernetes-token", "sha256~" + made(43)),
    ("langsmith-key", "lsv2_pt_" + hexed(32) + "_" + hexed(10)),
    ("linear-key", "lin_api_" + made(40)),
    ("mailchimp-key", hexed(32) + "-us12"),
    ("mailgun-key", "key-" + hexed(32)),
    ("mapbox-token", "sk.eyJ" + made(70) + "." + made(22)),
    ("netlify-token", "nfp_" + made(36)),
    ("newrelic-key", "NRAK-" + made(27, UPPER)),
    ("notion-token", "ntn_" + made(46)),
    ("npm-token", "npm_" + made(36)),
    ("nuget-key", "oy2" + made(43, "abcdefghijklmnopqrstuvwxyz0123456789")),
    ("nvidia-key", "nvapi-" + made(64)),
    ("onepassword-token", "ops_eyJ" + made(250)),
    ("onepassword-key", "A3-" + "-".join(made(n, UPPER) for n in (6, 6, 5, 5, 5, 5))),
    ("openai-key", "sk-proj-" + made(48)),
    ("openai-key", "sk-" + made(20) + "T3BlbkFJ" + made(20)),
    ("openrouter-key", "sk-or-v1-" + hexed(64)),
    ("perplexity-key", "pplx-" + made(48)),
    ("pinecone-key", "pcsk_" + made(6) + "_" + made(63)),
    ("planetscale-token", "pscale_tkn_" + made(43)),
    ("posthog-key", "phx_" + made(43)),
    ("postman-key", "PMAK-" + hexed(24) + "-" + hexed(34)),
    ("prefect-key", "pnu_" + made(36)),
    ("pulumi-token", "pul-" + hexed(40)),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc" + made(150)),
    ("readme-key", "rdme_" + made(70, "abcdefghijklmnopqrstuvwxyz0123456789")),
    ("replicate-token", "r8_" + made(37)),
    ("resend-key", "re_" + made(8) + "_" + made(24)),
    ("rubygems-key", "rubygems_" + hexed(48)),
    ("sendgrid-key", "SG." + made(22) + "." + made(43)),
    ("sentry-token", "sntryu_" + hexed(64)),
    ("shippo-token", "shippo_live_" + hexed(40)),
    ("shopify-token", "shpat_" + hexed(32)),
    ("slack-token", "xoxb-" + made(12, "0123456789") + "-" + made(12, "0123456789") + "-" + made(24)),
    ("slack-token", "xapp-1-" + made(11, UPPER) + "-" + made(13, "0123456789") + "-" + hexed(64)),
    ("sonar-token", "sqp_" + hexed(40)),
    ("sourcegraph-token", "sgp_" + hexed(40)),
    ("square-token", "sq0atp-" + made(22)),
    ("stripe-key", "sk_live_" + made(24)),
    ("stripe-key", "rk_test_" + made(40)),
    ("stripe-webhook-secret", "whsec_" + made(32)),
    ("supabase-key", "sbp_" + hexed(40)),
    ("tailscale-key", "tskey-auth-" + made(12) + "-" + made(32)),
    ("tavily-key", "tvly-" + made(32)),
    ("telegram-token", "7216849012:AA" + made(33)),
    ("tencent-key", "AKID" + made(32)),
    ("terraform-token", made(14) + ".atlasv1." + made(67)),
    ("twilio-key", "SK" + hexed(32)),
    ("twitter-token", "A" * 21 + made(83)),
    ("typeform-token", "tfp_" + made(59)),
    ("vault-token", "hvs." + made(90)),
    ("xai-key", "xai-" + made(80)),
    ("bitcoin-key", base58_checked(b"\x80" + _random.randbytes(32) + b"\x01")),
    ("wallet-key", "xprv9s21ZrQH143K" + made(95, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")),
    ("password-hash", "$2b$12$" + made(53)),
    ("password-hash", "$apr1$" + made(8) + "$" + made(22)),
    ("password-hash", "pbkdf2_sha256$600000$" + made(22) + "$" + made(43) + "="),
    ("private-key", armoured("RSA PRIVATE KEY")),
    ("private-key", armoured("OPENSSH PRIVATE KEY", 8)),
    ("private-key", armoured("PGP PRIVATE KEY BLOCK", 12)),
    ("card-number", luhn("411111111111111")),
    ("card-number", " ".join(luhn("555555555555444")[i : i + 4] for i in range(0, 16, 4))),
    ("card-number", luhn("37828224631000")),
    ("iban", iban("DE", "370400440532013000")),
    ("iban", iban("GB", "NWBK60161331926819")),
]
"""Kinds and secrets that are known wherever they stand."""

_KEY = made(40)
WITH_WORDS = [
    (
        "azure-connection-key",
        "DefaultEndpointsProtocol=https;AccountName=ana;AccountKey={};EndpointSuffix=core.windows.net",
        made(86) + "==",
    ),
    ("azure-sas-signature", "https://ana.blob.core.windows.net/c/f?sv=2022&sig={}", made(43) + "%3D"),
    ("discord-webhook", "post it to https://discord.com/api/webhooks/112233445566778899/{}", made(68)),
    (
        "slack-webhook",
        "https://hooks.slack.com/{}",
        "services/T" + made(8, UPPER) + "/B" + made(10, UPPER) + "/" + made(24),
    ),
    (
        "teams-webhook",
        "https://acme.webhook.office.com/webhookb2/{}",
        hexed(36) + "@" + hexed(36) + "/IncomingWebhook/" + hexed(32),
    ),
    ("key", "aws_secret_access_key = {}", made(40)),
    ("key", "TWILIO_AUTH_TOKEN={}", hexed(32)),
    ("key", 'const apiKey = "{}";', hexed(32)),
    ("key", "my API key is {}", made(30)),
    ("key", "the private key of the wallet is {}", "0x" + hexed(64)),
    ("key", '{{"client_secret": "{}"}}', made(32)),
    ("key", "export SECRET_KEY='{}'", made(50)),
    ("key", "client-key-data: {}", made(120)),
    ("key", "//npm.example.org/:_authToken={}", made(36)),
    ("password", "my password is {}", "hunter2"),
    ("password", "My password's {}", "hunter2"),
    ("password", "The wifi password\u2019s {}!", "Sunflower77"),
    ("password", "Password for the router: {}", "Tr0ub4dor&3"),
    ("password", "pw: {}", "Tr0ub4dor&3"),
    ("password", "Use {} as the password for the router", "Tr0ub4dor&3"),
    ("password", "The password ({}) works", "Tr0ub4dor&3"),
    ("password", "My password is {}.", "sunflower"),
    ("password", "The password for the guest wifi is {} by the way", "Blue-Whale-77"),
    ("password", "password: {}", "s3cr3t!"),
    ("password", "DB_PASSWORD={}", "tr0ub4dor&3"),
    ("password", "passwd = '{}'", "correct horse battery staple"),
    ("password", '"password": "{}"', "letmein"),
    ("password", "Server=db;Database=app;User Id=ana;Password={};", "P@ssw0rd!9"),
    ("password", "pwd={}", "qwerty123"),
    ("password", "Das Passwort ist {}", "Sommer2024!"),
    ("password", "mi contrase\u00f1a es {}", "gato1987"),
    ("password", "mot de passe : {}", "Ch4tNoir"),
    ("password", "I changed my password to {} yesterday", "Zebra!42"),
    ("password", "password={}", "abc,def;ghi"),
    ("url-password", "postgresql://ana:{}@db.example.com:5432/app", "pr0duct10n"),
    ("url-password", "clone https://ana:{}@git.example.com/x.git", "tok3n-of-mine"),
    ("authorization-header", "Authorization: Basic {}", "YW5hOnNlY3JldA=="),
    ("authorization-header", "curl -H 'Authorization: Bearer {}' https://api.example.com", made(32)),
    ("authorization-header", "Authorization: SSWS {}", "00" + made(40)),
    (
        "basic-auth",
        '{{"auths": {{"registry.example.com": {{"auth": "{}"}}}}}}',
        base64.b64encode(b"ana:h4rd2guess").decode(),
    ),
    ("bearer-token", "send bearer {} with it", made(40)),
    ("key", "x-api-key: {}", made(32)),
    ("cookie", "Cookie: {}", "theme=dark; sid=" + made(32)),
    ("session-token", "PHPSESSID={}", made(26, "abcdefghijklmnopqrstuvwxyz0123456789")),
    ("signed-url", "https://b.s3.amazonaws.com/o?X-Amz-Expires=3600&X-Amz-Signature={}", hexed(64)),
    ("url-token", "open https://example.com/login?next=/&token={}", made(24)),
    ("otp-secret", "otpauth://totp/Acme:ana?secret={}&issuer=Acme", made(32, UPPER)),
    ("command-password", "curl -u ana:{} https://example.com", "h4rd2guess"),
    ("command-password", "mysqldump --password {} app", "dump-Me-1"),
    ("command-password", "mysql -h db -u root -p{} app", "S3cretPw!"),
    ("key", "SECRET_KEY_BASE={}", hexed(64)),
    ("login", "username ana password {}", "hunter2"),
    ("pin", "my PIN is {}", "4821"),
    ("pin", "the pin code of the card: {}", "90210"),
    ("card-code", "and the CVV is {}", "123"),
    ("us-ssn", "My SSN is {}", "123-45-6789"),
    ("us-ssn", "social security number: {}", "219 09 9999"),
    ("seed-phrase", "my seed phrase is: {}", WORDS),
    ("seed-phrase", "Recovery phrase = {}", WORDS + " " + WORDS[:-8] + " zebra"),
]
"""Kinds and secrets that only the words around them give away."""

CONTEXTS = ("{}", "Please keep this: {} until Monday, thanks.", "line one\nkey {}\nline three", '{{"value": "{}"}}')

LOOK_ALIKES = [
    "The password's wrong.",
    "My password's strength is weak.",
    "Password for the wifi: ask Tom",
    "The passcode (6-digit) is on the card",
    "We walk upwards: every day",
    "Use argon2id for the password hashing",
    "Password for the account: it changed on 2024-05-03.",
    # hashes, names, numbers
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "md5sum d41d8cd98f00b204e9800998ecf8427e empty.txt",
    "tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 was mined",
    "the wallet address is 0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
    "bitcoin address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    "request id 550e8400-e29b-41d4-a716-446655440000 failed",
    "session_id=550e8400-e29b-41d4-a716-446655440000",
    "trace 01HZX3K9V7Q2W8M4N6P0R5T1YB",
    "IMG_20240512_183045_HDR_edited_final_v2.jpg",
    "aGVsbG8gd29ybGQgdGhpcyBpcyBhIHBpY3R1cmU.png",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "ISBN 978-3-16-148410-0 and ISBN-10 0-306-40615-2",
    "order number 4111 1111 1111 1111 was delivered",
    "Order #4532015112830366 has shipped",
    "tracking no. 1Z999AA10123456784",
    "call me at +49 170 1234567 or (555) 123-4567",
    "phone 555-12-3456 ext. 12",
    "fax 0049 30 1234 5678 9012 3456",
    "IMEI 490154203237518",
    "at 2024-05-12T18:30:45.123456Z it stopped",
    "timestamps 1715538645123 and 1715538645123456",
    "version 10.15.7-beta.20240512+build.8842",
    "the point 52.520008, 13.404954 on the map",
    "DE is Germany, GB82 is a road, FR76 too",
    "DE00 1234 5678 9012 3456 78",
    "4111 1111 1111 1112 is no card",
    # blanks
    "OPENAI_API_KEY=sk-...",
    "export API_KEY=YOUR_API_KEY",
    "api_key: <token>",
    "token = xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
    "sk-your-api-key-goes-here-please-1",
    "password: ********",
    "PASSWORD=${DB_PASSWORD}",
    "password = os.environ['DB_PASSWORD']",
    "password=$PASSWORD",
    "secret: {{ vault.secret }}",
    "secret_key = get_secret('prod/key')",
    "password=<your password>",
    "Authorization: Bearer <token>",
    "Authorization: Bearer ${TOKEN}",
    "postgres://user:password@localhost:5432/db",
    "postgres://user:<password>@localhost/db",
    "AKIAXXXXXXXXXXXXXXXX is where the key goes",
    # prose about them
    "I forgot my password again.",
    "My password is too weak, I should change it.",
    "my password is wrong",
    "the password is required",
    "The password is stored in the vault.",
    "Is the password the same as before?",
    "the password was changed on Monday",
    "the password must be at least 12 characters long",
    "password is 8-12 characters",
    "Password: minimum 10 characters",
    "password: required",
    "The secret is patience.",
    "the secret to a good soup is time",
    "the key is to practice every day",
    "my key ring is on the table",
    "the key: never give up",
    "token: a small sign of thanks",
    "She gave me a token of appreciation",
    "mysqldump -h db.example.com -P 3306 --protocol=tcp app",
    "the mysql client and the -path option of the other tool",
    '{"auth": "required", "author": "Ana"}',
    "order 2/1234567890123456 of the archive",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "max_tokens=4096, next_token is empty",
    "key=name, sort_key=created_at",
    "primary_key: user_id",
    "cache_key = f'{user}:{page}'",
    "public_key: ssh-ed25519 is the type",
    "def login(user: str, password: str) -> Token:",
    "login(password=password, token=token)",
    "password = getpass.getpass()",
    "passwordHash: varchar(60)",
    "set password_min_length to 12",
    "PASS: test_login, FAIL: test_logout",
    "pass: true",
    "boarding pass: 14B",
    "the pin board is in 2024 style",
    "put a pin on 1200 Main Street",
    "a bearer of good news came",
    "cookies: chocolate chip and oatmeal",
    "cookie policy: we use cookies",
    "seed the database with twelve users and three posts each before you run the tests for it",
    "the recovery was long and hard but she is fine now and we are all very happy about that",
    "a private key is a file that starts with -----BEGIN PRIVATE KEY----- and you must never share it",
    "The security code is on the back of the card.",
    "user: ana, role: admin",
    "https://example.com/articles/how-to-store-a-password-safely-in-2024?ref=newsletter",
    "https://youtu.be/dQw4w9WgXcQ?si=abcDEF",
    "see https://example.com/search?key=flights&code=LIS",
    "https://user@example.com:8080/path",
    "time 12:30:45 and ratio 16:9 and C:\\Users\\ana\\key.txt",
    "npm_config_registry and pip_default_timeout",
    "the SK8 park and the MTA card",
    "passed 1234 tests in 56 seconds",
    "social security is a topic in 2024",
]
"""Ordinary texts: nothing in them is to be redacted."""

HOSTILE = [
    "sk-", "sk-a", "ghp_", "eyJ", "eyJ.", "eyJaaaaaaaaa.", "AKIA", "xoxb-", "glpat-", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "---- BEGIN ",
    "password", "password=", "password: ", "password is ", "password for ", "pass", "password=\"", "password='", "password=,", "password=a,b ", "key=", "token=", "api_key:",
    "secret ", "://", "://a:", "a://b:c", "://a:b@", "?token=", "&key=a", "cookie: a=", "cookie: ", "Set-Cookie: a=b;", "authorization: ", "bearer ",
    "session=", "sessionid", "otpauth://", "otpauth://a?", "totp ", "totp secret ", "-u a:", "-u ", "login a ", "user ", "user a pass ", "pin ", "pin is ", "cvv", "ssn ",
    "seed phrase is ", "seed ", "seed: abcd ", "abcd ", "recovery", "mnemonic are ", "4", "4 ", "4-", "41", "4111 1111 ", "1.", "DE89", "DE89 ", "DE893704", "AA11AAAA",
    "a", "a.", "a-", "a_", "A", "A1", "aA1", "aA1+/", "=", "$2b$", "$6$", "$argon2id$", "1//0", "v1.0-", "hooks.slack.com/", "hooks.slack.com/services/",
    "/api/webhooks/", "8Q~", "a8Q~", ".atlasv1.", "-us", "1234567:AA", ":AA", "xprv", "5K", "MTA.", "AccountKey=", "sig=", "?sig=", "{\"", "\\", "\\\"", "'", "`", "[", "<", "$", "%", "*", "x",
    "\u0130", "\u00df", "\u212a", "\u5bc6\u7801", "\u200b", "\n", " ", "\t", "\0", "Private-Lines: 1\n", "Private-Lines: 1\naaaaaaaa", "ops_eyJ", "pat", "patA.", "SG.", "SG.a.", "sl.", "dp.pt.",
]  # fmt: skip
"""Pieces that, repeated a million times over, would make a careless expression slow."""
