"""What people and coding agents note down in the ordinary way is left as it is, also where it speaks of secrets."""

import random
import string

from mnemic.secrets.policy import SecretPolicy

NOTES = 1_000
SHARE = 0.005
"""Of ordinary notes that may be touched."""

FIRST = "Ana Ben Chen Dara Eva Femi Gita Hugo Ines Jonas Kofi Lena Mateo Nadia Omar Priya".split()
LAST = "Silva Okafor Nowak Haddad Tanaka Brandt Rossi Larsen Mbeki Duarte Novak Kaya".split()
TOWN = "Lisbon Oslo Nairobi Kyoto Porto Lima Ghent Tallinn Accra Quito Leeds Turin".split()
THING = "bicycle violin oven ladder lantern kettle mirror basket anchor telescope printer router".split()
WORD = "cache ledger gateway worker mailer importer scheduler billing search profile".split()
TEMPLATES = [
    # chats
    "{first} {last} moved to {town} in {year}.",
    "My phone number is +351 91{n7}, call after {hour}:30.",
    "Flight TP{n3} to {town} leaves at {hour}:45 from gate B{n2}.",
    "Booking reference {caps6}, two seats, row {n2}.",
    "My birthday is {day}.{month}.{year}.",
    "The {thing} cost {n3}.{n2} EUR at the shop in {town}.",
    "Order {n4}-{n4}-{n4} with the {thing} was shipped on {year}-0{month1}-1{n1}.",
    "I forgot my password again, that is the {n1}th time this month.",
    "{first}'s password is written on a note under the {thing}, and I do not know it.",
    "The key is under the mat at house {n3}.",
    "{first} changed the PIN of the alarm {n2} days ago.",
    "My password manager holds {n3} entries.",
    "The PIN pad in room {n3} is broken.",
    "The secret to {first}'s bread is {n2} hours of rest.",
    "{first} lives at {n3} {last} Street, {n5} {town}.",
    "The train {n4} to {town} was {n2} minutes late.",
    "{first} weighs {n2}.{n1} kg and runs {n2} km a week.",
    "Our wifi is called {last}-{n4} and it is slow.",
    "Locker {n3}, second floor, next to the {thing}.",
    "The insurance number of the {thing} is on the blue card.",
    "Dr. {last} prescribed {n2} mg twice a day.",
    "The passport expires in {year}, the visa too.",
    "I paid {n4} EUR of rent by bank transfer on the {n1}th.",
    "{first} wants a token of thanks for the {thing}.",
    "The code of the dress is casual, says {first}.",
    "The library card of {first} is number {n7}.",
    "The licence plate was {caps2}-{n3}-{caps2}, a grey van.",
    "My student number is a{n5} at the university of {town}.",
    "Meet at {n2}.{n4}, -{n1}.{n4}, by the fountain.",
    "The serial number of the {thing} is {caps3}{n7}.",
    # work on code
    "The {word} fails with HTTP 40{n1} when the token has expired.",
    "The password reset page uses a token that expires after {n2} minutes.",
    "Password policy: at least {n2} characters, one symbol.",
    "The API key of the {word} is kept in the vault, path kv/{word}/{n3}.",
    "Set API_KEY in the environment before running step {n1}.",
    "token = get_token(user) on line {n3} of {word}.py returns None.",
    "password: str = Field(min_length={n2})",
    "const secretName = '{word}-credentials-{n2}'",
    "commit {hex40} fixed the {word}",
    "sha256 of the file: {hex64}",
    "image {word}@sha256:{hex64}",
    "uuid {hex8}-{hex4}-4{hex3}-a{hex3}-{hex12} is the tenant of {first}",
    "etag W/\"{hex32}\" for /{word}/{n4}",
    "trace_id={hex32} span_id={hex16} took {n3} ms",
    "Pin the {word} to version {n1}.{n2}.{n1}, not {n1}.{n2}.x.",
    "The {word} listens on port {n4}; the login is at /auth/login?next=/{word}.",
    "Authorization: Bearer is sent with every request to port {n4}.",
    "auth token lifetime is {n4} s, refresh after {n3} s",
    "the secret_key_base of the {word} is rotated every {n2} days",
    "We use the AWS account of {town}, id ending in {n4}, region eu-west-{n1}.",
    "Run `pytest -k {word} --maxfail={n1}` before you push to {word}-{n3}.",
    "The {word} reads passwd and finds {n2} users.",
    "git clone git@example.com:{last}/{word}.git, branch fix-{n4}",
    "s3://{word}-backups/{year}/0{month1}/dump-{n7}.tar.gz",
    "The column password_hash is varchar({n2}), user_id is bigint.",
    "docker run -p {n4}:{n4} -e LOG_LEVEL=debug {word}:{n1}.{n2}",
    "SELECT id, token_count FROM {word} WHERE id = {n7};",
    "The cookie of the {word} is called {word}_session and lives {n2} days.",
    "MAX_TOKENS={n4} and TOKEN_BUDGET={n4} in config/{word}.toml",
    "Ticket {caps3}-{n4}: {first} cannot log in to the {word}.",
    "E{n4}: unexpected token at {word}.js:{n3}:{n2}",
    "The {word} takes {n3} requests a second on {n2} cores, p95 {n3} ms.",
    "ssh {word}@10.{n2}.{n2}.{n2} and look into /var/log/{word}/{year}.log",
    "The private key of the {word} is mounted at /run/secrets/{word}, mode 0400.",
]  # fmt: skip


def note(draw: random.Random, template: str) -> str:
    def some(alphabet: str, count: int) -> str:
        return "".join(draw.choices(alphabet, k=count))

    values = {name: draw.choice(chosen) for name, chosen in
              (("first", FIRST), ("last", LAST), ("town", TOWN), ("thing", THING), ("word", WORD))}  # fmt: skip
    values |= {f"n{count}": draw.choice("123456789") + some(string.digits, count - 1) for count in (1, 2, 3, 4, 5, 7)}
    values |= {f"hex{count}": some("0123456789abcdef", count) for count in (3, 4, 8, 12, 16, 32, 40, 64)}
    values |= {f"caps{count}": some(string.ascii_uppercase, count) for count in (2, 3, 6)}
    values |= {"year": str(draw.randrange(1980, 2030)), "hour": str(draw.randrange(6, 23)), "day": str(draw.randrange(1, 28)),
               "month": str(draw.randrange(1, 13)), "month1": str(draw.randrange(1, 10))}  # fmt: skip
    return template.format_map(values)


def test_ordinary_notes_are_left_as_they_are():
    assert len(TEMPLATES) >= 60
    draw = random.Random(20)
    notes = [note(draw, TEMPLATES[number % len(TEMPLATES)]) for number in range(NOTES)]
    policy = SecretPolicy()
    touched = [(text, policy.redacted(text)[0]) for text in notes if policy.redacted(text)[1]]
    assert len(touched) <= SHARE * NOTES, touched
