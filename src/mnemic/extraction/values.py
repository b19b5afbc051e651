"""Values of facts: one spelling for what is the same, and what kind of thing a value is."""

from __future__ import annotations

import re
from functools import lru_cache

from mnemic.text.dates import MONTHS
from mnemic.text.terms import content_terms

__all__ = ["canonical", "date_in", "has_number", "kind", "same_value", "word_kind"]

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen "
    "nineteen twenty"
).split()
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS)} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100", "noon": "12:00",
    "midday": "12:00", "midnight": "00:00", "dozen": "12",
}  # fmt: skip
_UNITS = {
    "s": "second", "sec": "second", "secs": "second", "seconds": "second", "m": "minute", "min": "minute",
    "mins": "minute", "minutes": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "hours": "hour", "ms": "millisecond",
    "milliseconds": "millisecond", "kg": "kilo", "kgs": "kilo", "kilos": "kilo", "kilograms": "kilo", "euros": "euro",
    "eur": "euro", "\u20ac": "euro", "dollars": "dollar", "usd": "dollar", "$": "dollar", "pounds": "pound", "gbp": "pound",
    "\u00a3": "pound", "%": "percent", "years": "year", "days": "day", "weeks": "week", "months": "month",
}  # fmt: skip
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SHORT_MONTHS = {month[:3]: month for month in MONTHS} | {"sept": "september"}
_ANY_MONTH = "|".join([*MONTHS, *_SHORT_MONTHS])
_ANY_DAY = "|".join(_WEEKDAYS)

_CLOCK = re.compile(r"\b(\d{1,2})(?:[:.h](\d\d))?\s?(a\.?m|p\.?m)\b\.?|\b(\d{1,2})[:h](\d\d)\b|\b(\d{1,2}) o'clock\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_ANY_MONTH})\b\.?")
_MONTH_DAY = re.compile(rf"\b({_ANY_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)")
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_UNIT = re.compile(
    r"(\d)\s?(s|secs?|m|mins?|h|hrs?|ms|kgs?|k)\b|([$\u20ac\u00a3])\s?(\d[\d.,]*k?)|(\d)\s?([%$\u20ac\u00a3])"
)
_ARTICLES = re.compile(r"^(?:(?:a|an|the|my|our|his|her|their|some)\s+)+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_DATE = re.compile(
    rf"\b\d{{1,2}} (?:{_ANY_MONTH})\b|\b(?:{'|'.join(m for m in MONTHS if m not in ('may', 'march'))})\b"
    rf"|\b(?:in|late|early|mid|of|until) (?:may|march)\b|\b(?:{_ANY_DAY})s?\b|\b(?:weekday|weekend|weekly|daily|"
    rf"monthly)s?\b"
    r"|\b\d{4}-\d\d-\d\d\b|\bq[1-4]\b"
    r"|\b(?:to(?:day|morrow)|(?:next|this|end of(?: the)?) (?:week|month|year|quarter|spring|summer|autumn|fall|"
    r"winter))\b"
    r"|\b(?:in|by|until|late|early|the) (?:spring|summer|autumn|winter)\b|\bthe \d{1,2}(?:st|nd|rd|th)\b"
)
_TIME = re.compile(r"\b\d{1,2}:\d\d\b|\b(?:half past|quarter (?:past|to)) \w+")
_PLURAL_DAY = re.compile(rf"\b({_ANY_DAY})s\b")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.\w+")
_PHONE = re.compile(r"(?:\+|\b)\d[\d\s().-]{5,}\d\b")
_NUMBER = re.compile(r"\d")

# What a value is by its words: a switch of database is told without the word database.
_KINDS = {
    "database": "postgres postgresql mysql mariadb sqlite mongodb mongo dynamodb cassandra cockroachdb oracle redshift "
                "snowflake bigquery clickhouse duckdb firestore couchdb neo4j supabase planetscale",
    "cache": "redis memcached valkey dragonfly",
    "queue": "kafka rabbitmq sqs nats pulsar celery activemq",
    "cloud": "aws azure gcp heroku hetzner digitalocean vercel netlify cloudflare linode fly.io render railway cloud",
    "framework": "django flask fastapi rails laravel spring express react vue angular svelte nextjs next.js nuxt remix solid "
                 "phoenix nestjs astro",
    "language": "python rust golang typescript javascript java kotlin swift ruby php scala elixir haskell c++ c# zig",
    "editor": "vim neovim emacs vscode pycharm intellij sublime cursor helix zed webstorm nano vs",
    "browser": "firefox chrome safari brave edge vivaldi opera arc",
    "operating system": "ubuntu debian fedora windows macos linux arch mint nixos",
    "package manager": "npm yarn pnpm pip poetry uv conda pipenv bun",
    "test framework": "pytest unittest jest vitest mocha junit rspec cypress playwright",
    "ci": "jenkins circleci travis gitlab-ci buildkite teamcity",
    "issue tracker": "jira linear asana trello clickup shortcut",
    "chat": "slack teams discord zulip mattermost",
    "indentation": "tabs spaces",
    "car": "toyota honda tesla ford bmw audi volvo fiat renault peugeot mazda nissan subaru skoda seat volkswagen vw kia "
           "hyundai jeep mini porsche lexus prius civic corolla golf polo yaris",
    "phone": "iphone pixel galaxy samsung oneplus fairphone nokia motorola xiaomi",
    "laptop": "macbook thinkpad xps chromebook zenbook framework13 surface",
    "colour": "red blue green yellow purple orange pink black white grey gray brown cyan teal turquoise magenta violet "
              "crimson indigo navy beige maroon lavender gold silver olive burgundy",
    "drink": "tea coffee espresso matcha latte cappuccino lemonade kombucha cocoa",
    "instrument": "piano cello guitar flute drums violin viola trumpet saxophone clarinet harp bass ukulele banjo trombone "
    "oboe "
                  "accordion organ harmonica",
    "diet": "vegan vegetarian pescatarian omnivore keto paleo flexitarian gluten-free carnivore",
    "status": "open closed blocked done complete completed finished paused cancelled canceled live shipped ready delayed "
    "stalled archived "
              "pending approved rejected broken fixed unblocked resumed released deprecated",
    "relationship": "single married engaged divorced widowed separated dating",
}  # fmt: skip


@lru_cache(maxsize=1)
def _kind_of() -> dict[str, str]:
    return {word: name for name, words in _KINDS.items() for word in words.split()}


def word_kind(word: str) -> str:
    """What kind of thing a single word names: Postgres a database; or nothing."""
    return _kind_of().get(word, "")


def _clock(match: re.Match[str]) -> str:
    hour, minute, half, hour24, minute24, sharp = match.groups()
    number = int(hour or hour24 or sharp)
    if half:
        number = number % 12 + (12 if half.startswith("p") else 0)
    return f"{number:02d}:{minute or minute24 or '00'}"


def _month(name: str) -> str:
    return _SHORT_MONTHS.get(name[:4], _SHORT_MONTHS.get(name[:3], name))


def _unit(match: re.Match[str]) -> str:
    number, unit, sign, amount, counted, after = match.groups()
    if sign:
        return f"{amount} {_UNITS[sign]}"
    if unit == "k":
        return f"{number}000"
    return f"{number or counted} {_UNITS[unit or after]}"


@lru_cache(maxsize=8192)
def canonical(value: str) -> str:
    """The value in one spelling: numbers, times, dates and units alike, in lower case, without articles at its ends."""
    text = " ".join(value.lower().replace("\u2019", "'").split())
    words = [_DIGITS.get(word, word) for word in text.split(" ")]
    text = " ".join(words)
    if _NUMBER.search(text):
        text = _THOUSANDS.sub("", text)
        text = _ISO.sub(lambda m: f"{int(m[3])} {MONTHS[int(m[2]) - 1]} {m[1]}" if 1 <= int(m[2]) <= 12 else m[0], text)
        text = _CLOCK.sub(_clock, text)
        text = _DAY_MONTH.sub(lambda m: f"{int(m[1])} {_month(m[2])}", text)
        text = _MONTH_DAY.sub(lambda m: f"{int(m[2])} {_month(m[1])}", text)
        text = _UNIT.sub(_unit, text)
    text = _PLURAL_DAY.sub(r"\1", text)
    text = " ".join(_UNITS.get(word, word) if i else word for i, word in enumerate(text.split(" ")))
    return _ARTICLES.sub("", text.strip(" .,;:!\"'()\u201c\u201d")).strip()


@lru_cache(maxsize=8192)
def kind(value: str) -> str:
    """What a value is: ``email``, ``phone number``, ``date``, ``time``, ``number``, ``colour``, ``database`` ... or
    nothing.

    Args:
        value: as ``canonical`` gives it, or as it was said.
    """
    text = canonical(value)
    if _EMAIL.search(text):
        return "email"
    if _DATE.search(text):
        return "date"
    if _TIME.search(text):
        return "time"
    if _PHONE.fullmatch(text):
        return "phone number"
    named = _kind_of()
    for word in re.findall(r"[\w.+#-]+", text)[:4]:
        if found := named.get(word):
            return found
    return "number" if text[:1].isdigit() else ""


def date_in(value: str) -> str:
    """The date, weekday or period in a canonical value; all of it when it begins with one, or nothing."""
    found = _DATE.search(value)
    if not found:
        return ""
    return value if found.start() == 0 or value.startswith(("end of", "mid", "early", "late", "the ")) else found[0]


def has_number(value: str) -> bool:
    """Whether there is a digit in it."""
    return _NUMBER.search(value) is not None


def same_value(first: str, second: str) -> bool:
    """Whether two canonical values name the same: equal in their words, or one only adds where that is (Porto,
    Portugal).
    """
    if first == second:
        return True
    short, long = sorted((first, second), key=len)
    if short and not has_number(long[len(short) :]) and long.startswith((f"{short},", f"{short} (", f"{short} in ")):
        return True
    return _terms(first) == _terms(second) != frozenset()


@lru_cache(maxsize=8192)
def _terms(value: str) -> frozenset[str]:
    return frozenset(content_terms(value))
