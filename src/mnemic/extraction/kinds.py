"""What kind of thing a statement is: its type and its category, by rules that can be read.

The rules know English. Of a text in another language they say ``semantic`` and no category, unless a word or an
identifier gives it away.
"""

from __future__ import annotations

import re

from mnemic.text.dates import MONTHS
from mnemic.text.irregular import BASE_FORMS
from mnemic.types import MemoryType

__all__ = ["CATEGORIES", "category_of", "is_technical", "type_of"]

LONGEST = 4_000
"""Characters that decide: a statement says what it is at its beginning."""

_MONTHS = "|".join(month for month in MONTHS if month != "may")
_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"

_FEELINGS = (
    r"(?:afraid|alone|amazed|amused|angry|annoyed|anxious|ashamed|awful|bitter|blessed|bored|brokenhearted|calm|"
    r"cheerful|content|crushed|delighted|depressed|desperate|devastated|disappointed|disgusted|distressed|down|"
    r"ecstatic|embarrassed|empty|energi[sz]ed|envious|excited|exhausted|fed up|frightened|frustrated|furious|glad|"
    r"grateful|grieving|guilty|happy|heartbroken|helpless|homesick|hopeful|hopeless|horrified|humiliated|hurt|"
    r"inspired|insecure|irritated|jealous|joyful|lonely|lost|mad|miserable|moved|nervous|nostalgic|optimistic|"
    r"overjoyed|overwhelmed|panicked|peaceful|pleased|proud|relaxed|relieved|resentful|sad|scared|shaken|shocked|"
    r"stressed(?: out)?|terrified|thankful|thrilled|touched|uneasy|unhappy|upset|worried|touched|torn|numb)"
)
_DEGREE = (
    r"(?:(?:so|very|really|quite|a (?:bit|little)|pretty|extremely|deeply|just|still|all|both|too|more|truly|and) )*"
)
_EMOTIONAL = re.compile(
    rf"(?:\b(?:am|is|are|was|were|be|been|gets?|got|became|become|becoming|makes? (?:me|him|her|us|them)|made (?:me|"
    rf"him|her|us|them)|left (?:me|him|her|us|them)|seems?|seemed|feel|feels|felt|feeling)|[\u2019'](?:m|re|"
    rf"s)) {_DEGREE}(?:\w+ (?:and|but|yet) )?{_FEELINGS}\b(?! (?:tests?|with (?:a|the) (?:\d|result)))"
    r"|\b(?:i|he|she|we|they|[A-Z]\w+) (?:\w+ )?(?:feels?|felt) (?!like (?:a|an|the|it)\b|free\b)|"
    r"\b(?:burst into tears|in tears|cried|crying|weeping|sobb(?:ed|ing)|panic attack|broke (?:my|his|her|"
    r"their) heart|(?:misses?|missed) (?:him|her|them|you|home|my|his|their)\b|(?:dreads?|dreading|grief|grieving|"
    r"regrets?)\b)",
    re.IGNORECASE,
)

_IMPERATIVES = (
    r"(?:add|allow|always|apply|ask|avoid|back up|bake|boil|bring|build|bump|call|cancel|catch|check|choose|clean|"
    r"clear|click|close|commit|configure|cook|copy|create|declare|define|delete|deploy|disable|document|do not|"
    r"don[\u2019']t|drain|enable|ensure|escape|export|feed|fetch|follow|give|go|handle|ignore|import|include|inherit|"
    r"inject|insert|install|keep|leave|let|lint|load|lock|log|make|mark|measure|merge|mix|mock|move|name|never|open|"
    r"order|pack|pass|pin|place|point|prefer|press|pull|push|put|raise|read|rebase|rebuild|record|refer|release|"
    r"reload|remember|remind|remove|rename|replace|reserve|reset|restart|return|review|rotate|run|save|schedule|see|"
    r"select|send|serve|set|soak|sort|split|start|stir|stop|store|switch|tag|take|tell|test|throw|treat|try|turn|"
    r"update|upgrade|use|validate|verify|wait|wash|water|wrap|write)"
)
_PROCEDURAL = re.compile(
    r"^(?:please |first,? |then,? |step \d+[:.] *|note: |rule: )?(?:"
    r"(?:always|never|do not|don[\u2019']t|make sure|be sure|remember to|remind me|how to|steps? (?:to|for))\b"
    rf"|(?!see\b){_IMPERATIVES} (?!(?:\w+ )?(?:is|are|was|were|has|have|must|should|will|live)\b|times?\b|to be\b|"
    rf"by\b|of\b)"
    r"|(?:to|when|whenever|if|before|after|in order to|for)\b[^.!?]{3,90}?(?:, | then )(?:please |first,? |always |"
    r"never |then )?"
    rf"(?:you (?:must|should|need to|have to|can) |{_IMPERATIVES} )"
    r"|you (?:must|should|need to|have to)\b"
    r")|\b(?:should|must|needs? to) (?:always|never|first)\b|\bthe (?:steps|way|procedure|recipe|trick) (?:to|for|"
    r"is to)\b"
    r"|\b(?:works|done|deployed|built|released) by (?:running|calling|using)\b",
    re.IGNORECASE,
)
_HABIT = re.compile(
    rf"\b(?:every|each|usually|often|always|never|weekly|daily|monthly|yearly|annually|on weekdays|weekdays|"
    rf"on {_DAYS}s|{_DAYS}s|once a|twice a|times a|most (?:days|weekends|mornings|evenings)|in the (?:mornings|"
    rf"evenings)|"
    r"since (?:\d{4}|last|\w+ \d{4})|for (?:\w+ )?years now|used to)\b",
    re.IGNORECASE,
)
_DATED = re.compile(
    rf"\b(?:yesterday|tonight|last (?:night|week|weekend|month|year|spring|summer|autumn|fall|winter|{_DAYS})|"
    rf"next (?:week|weekend|month|year|spring|summer|autumn|fall|winter|{_DAYS})|tomorrow|today|this (?:morning|"
    rf"afternoon|evening|weekend|week|month|summer|winter)|(?:on|by|until|before|this|coming) {_DAYS}|\d+ \w+ ago|"
    rf"(?:a|an|one|two|three|a few|several) (?:\w+ )?(?:days?|weeks?|months?|years?) ago|(?:in|on|by|during|early|"
    rf"late|mid|of|until|before|after) (?:{_MONTHS}|may \d+|\d{{1,2}} (?:{_MONTHS}|may))|\d{{1,2}}(?:st|nd|rd|"
    rf"th)? (?:of )?(?:{_MONTHS}|may)\b|(?:{_MONTHS}) \d{{1,4}}|(?:in|around|during|back in) (?:19|20)\d\d|(?:19|"
    rf"20)\d\d-\d\d-\d\d|the other day|recently|just now)\b",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:decided|chose|chosen|agreed|settled on|opted|turns? out|turned out|lesson learned|learned that|realised|"
    r"realized|found out that|discovered that|was born|were born|named after|was (?:built|made|designed|"
    r"written) (?:with|in|for|by)|comes? from|won over|known as|grew up|studied)\b",
    re.IGNORECASE,
)
_BE = frozenset("is are am be been being 's 're 'm gets get can may must should".split())
_DETERMINERS = frozenset("a an the my your his her its our their this that these those no any some of more".split())
_NO_PASTS = frozenset(
    """children kids kid feet geese knives men mice people shelves teeth wives wolves women left ground wound lay thought
    found felt saw bore light stuck meant known born worn""".split()
)
_PASTS = (frozenset(BASE_FORMS) - _NO_PASTS) | frozenset(
    "was were had did quit cut put hit hurt left found felt saw thought".split()
)
_NO_PAST_ENDINGS = frozenset(
    "need feed seed speed breed bed red shed embed indeed exceed proceed succeed hundred united".split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[.,;:!?()]")


def _tells_of_the_past(text: str) -> bool:
    """A verb in the past tense that is no participle after a form of to be and stands before no noun of its own."""
    before = ""
    for word in _WORD.findall(text):
        lowered = word.lower()
        past = lowered in _PASTS or (
            len(lowered) > 3 and lowered.endswith("ed") and lowered not in _NO_PAST_ENDINGS and word != word.upper()
        )
        free = before not in _BE and before not in _DETERMINERS and not before.endswith(("'s", "\u2019s", "'re", "'m"))
        if past and free:
            return True
        before = before if lowered in {"not", "never", "also", "only", "already"} else lowered
    return False


def type_of(text: str) -> MemoryType:
    """The type of a statement, by the first rule that fits.

    ``emotional``: a feeling is predicated of somebody. ``procedural``: it tells how, or gives a rule to follow (an
    imperative, always, never, "to do this, run that"). ``episodic``: it tells of one event, in the past tense or on a
    date, and of no habit. ``semantic``: everything else, decisions and findings without a date among them.
    """
    text = text[:LONGEST].strip()
    if _EMOTIONAL.search(text):
        return "emotional"
    if _PROCEDURAL.search(text):
        return "procedural"
    if _HABIT.search(text):
        return "semantic"
    if _DATED.search(text):
        return "episodic"
    return "episodic" if not _SETTLED.search(text) and _tells_of_the_past(text) else "semantic"


_TECHNICAL = re.compile(
    r"""(?<!\S)--[a-z][\w-]*|(?<![\w.])[\w/-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|cpp|cs|php|sql|sh|ya?ml|toml|json|md|cfg|html)\b
    |\b(?:api|apis|backend|branch|build|bug|bugs|cache|caching|ci|cli|client|cluster|code|codebase|commit|commits|
    compiler|config|configuration|container|cookie|cpu|crash|css|daemon|database|databases|dataclass|debug|
    decorator|decorators|dependency|dependencies|deploy|deploys|deployment|docker|dtos?|endpoint|endpoints|env|
    exception|exceptions|firewall|framework|frontend|function|functions|git|github|graphql|grpc|handler|
    handlers|hook|html|https?|index|inherit|inherits|integration|interface|json|jwt|kubernetes|latency|library|
    lint|linter|linux|log|logs|logging|login|microservices?|middleware|migration|migrations|mock|module|modules|
    monolith|mutex|mysql|node|null|oauth|orm|package|packages|parser|parsing|password|passwords|pipeline|plugin|
    pool|port|postgres|postgresql|proxy|pull\ request|python|query|queries|queue|race\ condition|redis|refactor|
    refactored|regex|release|repo|repository|repositories|rest|retry|retries|rust|scheduler|schema|script|sdk|
    server|servers|service|services|singleton|snake_case|sql|sqlite|ssh|ssl|stack\ trace|staging|stderr|stdout|
    table|tables|test\ suite|tests|thread|threads|timeout|tls|token|tokens|typescript|javascript|ui|
    unit\ tests?|auth|authentication|registry|percentile|tracing|polyfill|round\ trips?|pdf|csv|byte|bytes|
    upload|uploads|url|urls|utf-8|variable|webhook|websocket|worker|workers|yaml|kafka|mongodb|nginx|terraform|
    django|flask|fastapi|react|vue|angular|golang|java|kotlin|swift|adr|batching|inserts|imports|
    event\ sourcing|profiling)\b
    |\bv?\d+\.\d+\.\d+\b|\b\d+\ ?(?:ms|mb|gb|kb|mib|gib|rps|qps|vcpus?)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_HUMPS = re.compile(r"\b(?!(?:Mc|Mac|Le|La|De|Di|Du|Van|Fitz)[A-Z])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b")
_CASED = re.compile(r"\b[A-Za-z]\w*_\w+\b|`[^`\n]+`|\w+\(\)|\b[A-Z]{2,}[A-Z_]*=")
# Words of everyday speech as well: one of them tells of software where no person is spoken of.
_SHARED = frozenset(
    """build cache client code function functions index interface log mock package packages release script server service
    services test tests ui worker workers integration crash pipeline query queue imports""".split()
)
# More everyday than technical: they tell of software only in the company of other words.
_EVERYDAY = frozenset(
    "branch cookie hook java library node pool port react rest swift table tables thread token".split()
)
_PERSON = re.compile(
    r"\b(?:i|me|my|mine|he|she|his|her|him|mother|father|mom|mum|dad|wife|husband|partner|son|daughter|sister|brother|"
    r"friends?|kids?|children|family)\b",
    re.IGNORECASE,
)

# A statement that begins with a name, and one in which the name does what only people do.
_SOMEBODY = re.compile(
    r"(?!(?:The|A|An|This|That|These|Those|It|There|Here|In|On|At|From|By|For|With|When|While|After|Before|If|As|"
    r"Most|Many|"
    r"Some|All|No|Every|Each|Both)\b)[A-Z][a-z]+\b"
)
_SOMEBODY_DOES = re.compile(
    rf"{_SOMEBODY.pattern}(?: and [A-Z][a-z]+)?(?:'s \w+)? (?:\w+ly |also |still |both |never |always )?(?:admires?|"
    rf"appreciates?|aspires?|"
    r"believes?|cares?|celebrates?|collects?|considers?|dreams?|feels?|finds|grew|hopes?|intends?|knows?|learns?|"
    r"loves?|misses|"
    r"owns?|plans?|plays?|practi[cs]es|remembers?|sees|shares?|sings?|speaks?|spends|studies|supports?|thinks?|"
    r"tries|values?|"
    r"volunteers?|wants?|wishes|wonders?)\b"
)


def is_technical(text: str) -> bool:
    """Whether a text speaks of software: identifiers, file names, or the words of the trade.

    A word that everyday speech has as well counts only with another one, or (server, test) where no person is spoken
    of.
    """
    text = text[:LONGEST]
    if _CASED.search(text):
        return True
    words = {match[0].lower() for match in _TECHNICAL.finditer(text)}
    if words - _EVERYDAY - _SHARED or len(words) > 2:
        return True
    perhaps = bool(words & _SHARED) or bool(_HUMPS.search(text))
    return perhaps and (len(words) > 1 or not _PERSON.search(text))


_Rule = tuple[str, re.Pattern[str]]


def _rule(category: str, *patterns: str) -> _Rule:
    return category, re.compile("|".join(patterns), re.IGNORECASE)


_TROUBLE = (
    r"(?:bugs?|crash\w*|errors?|exceptions?|issues?|fail\w*|leak\w*|race|regressions?|deadlock\w*|"
    r"broken|wrong|typo|500|404|null)"
)
_PREFERENCE = _rule(
    "preference",
    r"\b(?:prefer|prefers|preferred|preference|favou?rite|dislikes?|disliked)\b",
    r"\b(?:i|he|she|they|we|you|user|[A-Z][a-z]+) (?:\w+ly |also |always |still |do(?:es)?n[\u2019']t |do(?:es)? not )?"
    r"(?:likes?|loves?|enjoys?|hates?|adores?|detests?)\b",
    r"\bcan(?:[\u2019']t|not) stand\b|(?:\b(?:i|he|she|they|we)|\w)[\u2019']d rather\b|\bwould rather\b",
    r"\b(?:fan|fond|tired|sick) of\b|\bkeen on\b|\bhas a (?:soft spot|sweet tooth|weakness)\b",
    r"\bwould (?:take|choose|pick) .{3,40} over\b|\bany day\b|\b(?:my|his|her|their) (?:go-to|usual order)\b",
)
_CODING: tuple[_Rule, ...] = (
    _rule(
        "bug_fix",
        rf"\b(?:fix|fixed|fixes|fixing|patch|patched|resolved|resolves|solved|hotfix|workaround|debugged|"
        rf"repaired)\b(?=.*\b{_TROUBLE}\b)",
        rf"\b{_TROUBLE}\b.*\b(?:fixed|patched|resolved|solved|came from|was caused by|caused by|root cause)\b",
        r"\b(?:bug ?fix|root cause|off by one)\b|^(?:fixed|patched|hotfix)\b",
        rf"\b{_TROUBLE} (?:\w+ ){{0,3}}(?:is|are) gone\b|\bno longer (?:crashes|fails|hangs|leaks|happens)\b|"
        rf"\bworks again\b",
    ),
    _rule(
        "insight",
        r"\b(?:turns? out|turned out|lessons? learned|learned (?:that|the hard way)|reali[sz]ed|discovered|"
        r"surprisingly|in practice)\b",
        r"\b(?:profiling|benchmark\w*|measur\w+|test\w*|analysis|experiments?) (?:showed|shows|revealed|suggests?|"
        r"found)\b",
        r"\b(?:faster|slower|cheaper|smaller|larger|better|worse) than\b|\bthan expected\b|\bsurpris\w+\b",
        r"\b(?:we|i) (?:found|noticed|observed|measured) (?:that|out)\b|\binsight\b|\bthe bottleneck (?:is|was)\b",
    ),
    _PREFERENCE,
    _rule(
        "reference",
        r"https?://|\bwww\.",
        r"\b(?:is|are) (?:kept|documented|described|listed|explained|tracked) (?:in|at|under|on)\b",
        r"^see\b|\bsee (?:also|the docs|section|page|issue|ticket|\S+[./]\w{2,})|\b(?:refer to|documented (?:in|at)|"
        r"described in|specified in|tracked in|details (?:are )?in|consult)\b",
        r"\b(?:guide|docs|documentation|spec|specification|wiki|runbook|rfc|manual|ticket|changelog) (?:is|are|"
        r"lives?) (?:at|in|on|under)\b",
    ),
    _rule(
        "constraint",
        r"\b(?:must|mustn[\u2019']t|may not|cannot|can[\u2019']t|not allowed|forbidden|prohibited|disallowed|"
        r"required to|never|do not|don[\u2019']t|limited to|at most|no more than|at least|no longer than|up to \d|"
        r"maximum of|has to (?:run|work|be|stay|support|pass|fit|remain)|have to (?:run|work|be|stay|support|pass|"
        r"fit|remain)|(?:nobody|no one|no \w+|nothing) (?:may|can)|not permitted|should never|needs? to (?:support|"
        r"stay|remain)|only \w+ (?:may|can)|without exception)\b",
    ),
    _rule(
        "architecture_decision",
        r"\b(?:decided|decision|chose|chosen|choose|opted|settled on|going with|went with|we(?: will|"
        r"[\u2019']ll) use|agreed (?:to|on)|adopted|adopting|selected|picked|won over|standardi[sz]ed? on|"
        r"replaced (?:\w+ ){1,4}(?:by|with)|replaced by|moved (?:off|away from)|migrat(?:ed|ing) (?:from|to|off)|"
        r"goes through|go through|in favou?r of|instead of|rather than (?:a|an)\b|trade-?off)\b",
        r"\b(?:architecture|monolith\w*|microservices?|event[- ]sourc\w+|event[- ]driven|hexagonal|layered|cqrs|"
        r"separate services|split into|decoupled|communicates? (?:over|through|via)|talks? (?:over|to|through)|"
        r"built on|is based on)\b",
    ),
    _rule(
        "configuration",
        r"\b(?:port|timeout|time-?out|pool size|env(?:ironment)? (?:variable|var|file)|config\w*|setting|settings|"
        r"flag|default(?:s)? to|set to|is set|enabled|disabled|log[- _]?level|replicas|ttl|max\w*memory|quota|policy|"
        r"listens? on|concurrency|batch size|\d+ ?(?:ms|seconds|minutes|hours|days|[mgk]i?b|replicas|workers|threads|"
        r"connections|retries)|bucket|region|buffer size|retention|feature flag|version (?:is|\d)|pinned to|"
        r"interval)\b",
        r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(?-i:)|\b\w+ ?= ?[\w\"'/.]+|(?:^|\s)\.env\b",
    ),
    _rule(
        "code_pattern",
        r"\b(?:pattern|convention|inherits? from|extends|subclass\w*|decorator|decorated|wrap(?:s|ped)?|naming|style|"
        r"idiom|(?:plain|pure) functions?|next to|ends? in|suffix\w*|prefix\w*|are (?:named|written|placed|grouped|"
        r"ordered|sorted)|dependency injection|factory|singleton|mixin|dataclass(?:es)?|context manager|snake_case|"
        r"camelcase|pascalcase|rather than raised?|raises?|returns? (?:a|an|the)|are returned as|every (?:class|"
        r"function|handler|module|model|test|repository|service|endpoint|component)|each (?:class|function|handler|"
        r"module|model|test|endpoint|component)|(?:all|our) (?:classes|functions|handlers|modules|models|tests|"
        r"endpoints|components|repositories|services))\b",
    ),
    _rule(
        "entity",
        r"\b(?:is|are) (?:a|an|the|our) (?:\w+[- ]){0,3}(?:class|module|function|service|component|library|package|"
        r"table|tool|endpoint|script|server|worker|job|helper|wrapper|interface|model|app|application|repository|"
        r"database|team|client|plugin|method|queue|cluster|layer|engine)\b",
        r"\b(?:class|module|function|service|component|package|worker|script|`\w+`|[A-Z][a-z]+[A-Z]\w+) (?:owns|"
        r"handles|manages|stores|holds|wraps|provides|contains|exposes|implements|validates|parses|sends|renders|"
        r"computes|is responsible for)\b",
        r"^(?:the |our )?(?-i:`?[A-Z][a-z]+[A-Z]\w+`?) (?!is\b|was\b|has\b|uses\b)\w+s (?:an?|the|all|every|each|"
        r"our|its)\b",
    ),
)
_PERSONAL: tuple[_Rule, ...] = (
    _PREFERENCE,
    _rule(
        "work",
        r"\b(?:job|jobs|works? (?:as|at|for|in|with|from)|worked (?:as|at|for)|working (?:as|at|for)|colleagues?|"
        r"co-?workers?|boss|manager|office|meetings?|stand-?up|clients?|customers?|promot(?:ed|ion)|salary|raise|"
        r"interview\w*|company|employer|employees?|(?:is|am|as|became) an? (?:\w+ )?(?:nurse|teacher|engineer|"
        r"developer|lawyer|accountant|designer|architect|chef|plumber|electrician|journalist|consultant|pilot|"
        r"pharmacist|mechanic|carpenter|librarian|barista|waiter|waitress|programmer)|career|deadlines?|resign\w*|"
        r"hired|fired|laid off|business|startup|quarterly|report|presentation|conference|internship|freelanc\w+|"
        r"contract|sales|marketing|profession|overtime|night shift|retired|workshop|sprint|roadmap|stakeholders?|"
        r"head of|board|budget|teach(?:es)? (?:\w+ )?at|factory|shifts?|payroll|let \w+ (?:\w+ )?go|team(?:mates?)?|"
        r"project|intern|recruiter|cv|resume)\b",
    ),
    _rule(
        "personal",
        r"\b(?:famil\w+|mother|father|mom|mum|dad|parents?|wife|husband|spouse|partner|boyfriend|girlfriend|fianc\w+|"
        r"son|daughter|sisters?|brothers?|siblings?|grand\w+|aunt|uncle|cousins?|nephew|niece|friends?|kids?|"
        r"children|bab(?:y|ies)|pregnan\w+|marri\w+|wedding|engaged|divorc\w+|birthday|anniversary|born|dogs?|cats?|"
        r"pets?|puppy|kitten|home|house|flat|apartment|garden|plants?|orchids?|allerg\w+|doctor|dentist|hospital|"
        r"surgery|therap\w+|health|pills?|medicine|medication|diet|vegan|vegetarian|kindergarten|twins?|sleep|gym|"
        r"yoga|hobb\w+|vacation|holidays?|trip|travel\w*|moved (?:to|from)|lives? (?:in|with|near)|grew up|weight|"
        r"cook\w*|recipe|dinner|breakfast|lunch|church|school|university|degree|neighbou?rs?)\b",
        r"^(?:i|my|we|our|he|she|his|her)\b|\b(?:i am|i[\u2019']m|my|myself)\b",
    ),
)
CATEGORIES: tuple[tuple[str, ...], tuple[str, ...]] = (
    tuple(category for category, _ in _CODING),
    tuple(category for category, _ in _PERSONAL),
)
"""The categories the rules can give: of technical statements, and of others; each in the order they are tried."""


def category_of(text: str, type: MemoryType = "semantic") -> str | None:
    """The category of a statement, or None when no rule fits.

    What speaks of software is tried against the coding kinds, everything else against the personal ones; in each
    table the first rule that fits decides. Beyond the tables, a feeling, a rule of the household and an event with a
    person in it are ``personal``.
    """
    text = text[:LONGEST].strip()
    technical = is_technical(text)
    for category, pattern in _CODING if technical else _PERSONAL:
        if pattern.search(text):
            return category
    event = type == "episodic" and (_PERSON.search(text) or _SOMEBODY.match(text))
    about_a_person = type in {"emotional", "procedural"} or event or _SOMEBODY_DOES.match(text)
    return "personal" if not technical and about_a_person else None
