"""What a text names: files and modules, people, products, hosts and identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mnemic.text.names import names

__all__ = ["entities_in", "files_in"]

LONGEST = 20_000
"""Characters of a text that are looked at."""
MOST = 20
"""Files, or entities, of one text."""

_EXTENSIONS = frozenset(
    """adoc astro avro bash bat bib bin c cc cfg cjs clj cmake cmd conf config cpp cs cson css csv cu cxx dart db diff dll
    doc docx dockerfile ejs elm env erb erl ex exs f90 feather fish fs gif go gql gradle graphql groovy h haml hbs hcl
    hpp hs htm html ics ini ipynb java jpeg jpg js json json5 jsonl jsx jl kt kts less lock log lua m4 mako md mdx mjs
    ml mm mp3 mp4 nim nix npz odt onnx org parquet patch pdf pem php pkl pl plist pm png pptx prisma properties proto
    ps1 psql py pyi pyx r rb rmd rs rst sass scala scss sh so sql sqlite sqlite3 srt styl svelte svg swift tar tex tf
    tfvars
    toml tpl ts tsv tsx txt vb vue wasm webp whl xhtml xls xlsx xml xsd yaml yml zig zip zsh gz tgz""".split()
)
# Products that are written like files.
_PRODUCTS = frozenset(
    """node.js next.js vue.js react.js nuxt.js express.js three.js d3.js chart.js ember.js backbone.js angular.js nest.js p5.js
    socket.io alpine.js asp.net discord.js moment.js""".split()
)
_BARE_NAMES = frozenset(
    """Dockerfile Makefile Rakefile Gemfile Procfile Jenkinsfile Vagrantfile Pipfile Justfile Caddyfile README CHANGELOG
    CODEOWNERS .env .gitignore .dockerignore .gitattributes .editorconfig .bashrc .zshrc .profile .npmrc .nvmrc
    .vimrc .prettierrc
    .eslintrc .babelrc .pylintrc .flake8 .coveragerc .htaccess""".split()
)
_ROOTS = frozenset(
    """src lib app apps test tests docs doc pkg packages internal cmd scripts config configs bin include examples benchmarks
    cookbook integrations tools services modules components .github .git .vscode etc usr var home opt tmp srv mnt
    root dev proc
    Users""".split()
)
_TOP_DOMAINS = frozenset(
    """com org net io dev ai app edu gov co uk de fr es it nl eu us info me ch at be se no dk fi pl pt br jp cn in au ca
    ru xyz cloud site online tech so sh gg tv ly page wiki blog local localhost example test""".split()
)
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"'`)\]}]+", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^\s/@]*@)?(?:www\.)?([a-z0-9.-]+)", re.IGNORECASE)
_BARE_HOST = re.compile(r"(?<![\w@./-])(?:[a-z0-9-]{2,63}\.){1,4}[a-z]{2,12}(?![\w@-])", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s`\"'()\[\]{}<>,;!?*|=]+")
_BACKTICKS = re.compile(r"`([^`\n]{2,60})`")
_MODULE = re.compile(r"[a-z_][a-z0-9_]+(?:\.[a-z_][a-z0-9_]+)+")
_PART = re.compile(r"[\w.@+~-]{1,100}")
_IDENTIFIER = re.compile(
    r"(?<![\w./-])(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[A-Z]\w*|[A-Za-z]\w*_\w+|"
    r"[A-Za-z_]\w*(?=\(\)))(?![\w/-]|\.\w)"
)
_ENDLESS = re.compile(r"\S{300,}")
_UNITS = frozenset("MB GB KB TB MHz GHz AM PM USD EUR GBP ID OK UI".split())
_PACKAGE = re.compile(r"@?[A-Za-z_][\w.+/-]*(?:\(\))?(?: [A-Za-z][\w.-]*)?")


def _distinct(found: Iterable[str]) -> tuple[str, ...]:
    """The first spelling of each, in order, at most ``MOST``."""
    kept: dict[str, str] = {}
    for each in found:
        kept.setdefault(each.casefold(), each)
    return tuple(kept.values())[:MOST]


def _named_file(token: str) -> bool:
    """A file name: a known name, or a stem with a known extension."""
    if token in _BARE_NAMES or (token.startswith(".env.") and len(token) > 5):
        return True
    stem, dot, extension = token.rpartition(".")
    if not dot or not any(c.isalpha() for c in stem) or token.lower() in _PRODUCTS:
        return False
    return extension.lower() in _EXTENSIONS and bool(_PART.fullmatch(stem)) and len(stem) > (len(extension) == 1)


def _path(token: str) -> bool:
    """A path: of known parts, from a known root, or relative to home or here; and/or, km/h and 24/7 are none."""
    parts = token.replace("\\", "/").split("/")
    named = [part for part in parts if part]
    if len(parts) < 2 or not named or not all(_PART.fullmatch(part) or part.endswith(":") for part in named):
        return False
    if not any(c.isalpha() for c in token):
        return False
    rooted = parts[0] in {"~", ".", ".."} or named[0] in _ROOTS or bool(re.fullmatch(r"[A-Za-z]:", parts[0]))
    return (rooted and len(named) > 1) or _named_file(named[-1]) or (rooted and parts[-1] == "")


def _module(token: str, *, quoted: bool) -> bool:
    """A dotted name of three parts, or of two in backticks, that is no host."""
    if not _MODULE.fullmatch(token):
        return False
    parts = token.split(".")
    return parts[-1] not in _TOP_DOMAINS and (len(parts) > 2 or quoted)


def files_in(text: str) -> tuple[str, ...]:
    """Paths, file names with a known extension and module paths, in order and distinct; at most 20.

    No URL, host, e-mail address, version number or abbreviation; no product that is written like a file (Node.js).
    """
    bare = _URL.sub(" ", text[:LONGEST])
    quoted = {word for span in _BACKTICKS.findall(bare) for word in span.split()}
    found: list[str] = []
    for each in _TOKEN.findall(bare):
        token = re.sub(r":\d+(?:[:-]\d+)*$", "", each.rstrip(".:")).removesuffix(":")
        if not token or "@" in token.split("/")[0]:
            continue
        if (
            _path(token)
            if "/" in token or "\\" in token
            else _named_file(token) or _module(token, quoted=token in quoted)
        ):
            found.append(token)
    return _distinct(found)


def _hosts(text: str) -> list[str]:
    hosts = [match[1].strip(".").lower() for url in _URL.findall(text) if (match := _HOST.match(url))]
    for host in _BARE_HOST.findall(_URL.sub(" ", text)):
        stem, _, top = host.rpartition(".")
        if top.lower() in _TOP_DOMAINS and any(c.isalpha() for c in stem) and not _named_file(host) and len(stem) > 2:
            hosts.append(host.lower())
    return [host for host in hosts if host]


def _opening_verb(name: str, text: str) -> bool:
    """Resolved, at the start of a note, is what was done and nobody's name."""
    return name.isalpha() and name.endswith("ed") and name[1:].islower() and text.lstrip().startswith(name)


def entities_in(text: str) -> tuple[str, ...]:
    """Proper names, hosts of URLs, identifiers and what stands in backticks, distinct; at most 20. Files are not among them."""
    text = _ENDLESS.sub(" ", text[:LONGEST])
    bare = _URL.sub(" ", text)
    files = {file.casefold() for file in files_in(text)}
    files |= {part for file in files for part in re.split(r"[\\/]", file)}
    found = [name for name in names(bare) if len(name) > 1 and name not in _UNITS and not _opening_verb(name, bare)]
    found += [span.removesuffix("()") for span in _BACKTICKS.findall(bare) if _PACKAGE.fullmatch(span)]
    found += _IDENTIFIER.findall(bare)
    found += _hosts(text)
    hosts = set(_hosts(text))
    return _distinct(
        each for each in found if each.casefold() not in files and (each.casefold() not in hosts or each.islower())
    )
