"""What of a conversation is worth keeping: the tests of persistence and specificity, and the clearing of what is only talk."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from mnemic.extraction.rewriting import is_past
from mnemic.text.common import rarity
from mnemic.text.cues import NAME, NUMBER, REASON, TIME, traits
from mnemic.text.names import names
from mnemic.text.terms import content_terms
from mnemic.types import MemoryType

__all__ = ["Kept", "cleared", "done_by_agent", "jests", "judged", "leans", "specificity", "takes_back"]

_EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d\U000e0020-\U000e007f]+")
_FILLER = re.compile(
    r"""(?:(?:oh|gotcha|oo+[fh]?|look|yet|however|still|ouch|phew|ah|aw+|wow|whoa|woah|haha+|lol|ha|well|yeah+|yea|
    yep|yup|
    yes|no|nope|nah|hey|hi|hello|hmm+|mm+|ugh|man|gosh|omg|ok|okay|so|
    and|but|also|plus|fine|perfect|wait|alright|
    anyway|anyways|actually|honestly|basically|btw|by[ ]the[ ]way|you[ ]know([ ]what)?|i[ ]mean|
    i[ ]meant(?:[ ]to[ ]say)?(?:[ ]that)?(?=[ ]*[,:])|
    to[ ]be[ ]honest|tbh|of[ ]course|sure|absolutely|definitely|
    totally|exactly|right|true|agreed|thanks|thank[ ]you|thx|cool|nice|great|awesome|sorry|guess[ ]what|
    let[ ]me[ ]tell[ ]you|as[ ]for[ ]me|long[ ]time[ ]no[ ](?:talk|see)|good[ ](?:morning|evening|question)|
    speaking[ ]of[ ]which|not[ ]much|not[ ]really|oh[ ]my[ ]gosh|same[ ]here|me[ ]too|thankfully|luckily|fortunately|
    unfortunately|sadly|hopefully|
    (?:yeah|oh|no|so)[ ](?:definitely|absolutely|totally|for[ ]sure|wow|yeah|well))
    (?:[ ]+(?:man|dude|bro|girl|buddy|friend|mate|guys|there|again|so[ ]much|a[ ]lot|for[ ]sure|please))*
    (?:[ ]*[,!.:;\u2013\u2014-]+[ ]*|[ ]+-+[ ]+)|i[ ]mean(?:t(?:[ ]to[ ]say)?)?(?:[ ]that)?[ ]+
    (?=(?:i|i'm|i've|we|we're|it's|he|she|they|he's|she's|they're|(?:my|our|his|her|their|the)[ ]\w+[ ]is)\b)|
    (?:and|but|so|also|plus|well|yeah|btw|oh|nah|nope|yep|yup|
    haha+|lol|hmm+|ugh|omg)[ ]+(?=[A-Z]|I\b)|
    (?:fine|perfect|ok|okay|yes|no|great|sure|thanks|nice|cool|alright|right|wait)[ ]+
    (?=(?:and|but|so|no|wait|please|i|i'm|i've|i'll|i'd|we|my|it's|that's|the|she|she's|he|he's|they|there's)\b))""",
    re.VERBOSE | re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:i )?(?:just )?(?:wanted|want|have|had|got|need) to (?:let you know|tell you|say|share|"
    r"mention)(?: that)?,? (?=\w+ )(?=i\b|i'|my\b|we\b|our\b)|"
    r"(?:it's |it has |has )?been (?:a |so )?(?:few|while|long|couple)[^,.!]*?(?:since|ago)[^,.!-]*[,.!-] "
    r"*|(?:since|last time) we (?:last )?(?:spoke|talked|chatted)[^,.!]*?,? (?=i\b|my\b|we\b)|"
    r"i'm (?:so |very )?(?:excited|happy|glad|thrilled|pleased) to (?:tell you|share|say|announce|let you "
    r"know)(?: that)?,? (?=i\b|i'|my\b|we\b)|"
    r"(?:you know|did you know|you won't believe)(?: that)? (?=i\b|my\b)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:(?:ok(?:ay)?|so|well|the|some|a|an|few|bit|about|me|my|quick|short|basics?|intro|introduction|background|update|"
    r"news|fyi|ps|context|info|facts|bio|profile)[ ,]*){1,6}:\s+(?=(?:i|i'm|i've|my|we|our)\b)",
    re.IGNORECASE,
)
"""What only announces: "ok so basics: I'm ..."."""
_GREETED = (
    r"(?:(?:oh|well|so|wow|yeah|no),? )?(?:hey|hi|hello|yo|dear|thanks|thank you|thx|oh|yeah|yep|yes|no|"
    r"wow|ok|okay|sure|well|good (?:morning|evening|question)|"
    r"congrats|awesome|cool|nice|great|sorry|absolutely|definitely|totally|exactly|of course|no worries|"
    r"no problem|you're (?:so )?right|you bet)"
)
_BACKTICK = re.compile(r"(?<=[a-zA-Z])[`\u00b4](?=(?:s|m|d|t|re|ve|ll)\b)")
_SMALL_I = re.compile(r"(?<![\w'\u2019./-])i(?=['\u2019](?:m|ve|ll|d)\b| )")
_SLANG = tuple(
    (re.compile(pattern, re.IGNORECASE), to)
    for pattern, to in (
        (
            r"(?<![\w'])im\b(?= (?!(?:januar|februar|april|juni|juli|august|september|oktober|november|dezember)))",
            "I'm",
        ),
        (r"(?<![\w'])ive\b(?= )", "I've"),
        (r"\bdont\b", "don't"),
        (r"\bcant\b", "can't"),
        (r"\bgonna\b", "going to"),
        (r"\bwanna\b", "want to"),
        (r"\bgotta\b", "have to"),
        (r"\bkinda\b", "kind of"),
        (r"\b(?:u|ya)\b(?= |[.!?]*$)", "you"),
        (r"\b(\w{3,}in)['\u2019](?=\s|$)", r"\1g"),
        (r"\s*\b(?:lol|haha+|lmao|btw|tbh)\b[,.!]?", ""),
        (r"\b(I|we|they|you|he|she) been\b", r"\1 have been"),
    )
)
_JOKE = re.compile(
    r"\b(?:jk|just kidding|j/k)\b|"
    r"\bI(?:'?m| am) (?:basically|practically|virtually|literally) (?:an?|the|\d+|dead|dying|broke|living|made of)\b|"
    r"\b(?:basically|practically|virtually|literally)\b(?=.*(?:\b(?:lol|lmao|haha+|rofl)\b|[\U0001f602\U0001f923]))",
    re.IGNORECASE | re.DOTALL,
)
"""Exaggerated on purpose: "I'm basically a doctor at this point", "I literally live here lol"."""
_TAKEN_BACK = re.compile(
    r"(?:(?:ha)+h?,? |no,? |nah,? |well,? |ok(?:ay)?,? |lol,? )*(?:(?:i'm |i am |i was )?(?:just |only )*(?:kidding|joking|"
    r"teasing|messing with you|pulling your leg|testing you)|just testing|jk|j/k|(?:happy )?april fool'?s?(?: day)?|got you|"
    r"not really|no,? not really|psych|that was a joke|it was a joke|that's a joke|sorry,? wrong (?:chat|window|person))"
    r"(?:,? (?:of course|obviously|just (?:kidding|joking|testing)(?: you)?|lol|haha+|though|i'm just (?:kidding|joking)))*"
    r"[\s.!?:;,)\U0001f600-\U0001f64f\U0001f923]*",
    re.IGNORECASE,
)
"""Just kidding; April fools; not really, just testing you."""
_EMPHASIS = re.compile(
    r"(?<!not )(?<!n't )\b(?:really|super|totally|literally|actually|definitely|honestly|basically|absolutely|"
    r"personally|obviously) (?=\w)|"
    r"\bI (?:think|guess|mean|must say|have to say|gotta say|know),? (?=I\b|my\b|it|we\b|the\b|that\b)|"
    r"^(?:I'm|I am|I've been) (?:doing )?(?:okay|ok|good|well|great|fine|alright)(?:,| -|, and| and) (?=\w+ )",
    re.IGNORECASE,
)
_ASKED_BACK = re.compile(
    r",? (?:you know|right|huh|eh|ya know)\?$|"
    r"(?:,? and|,|\.| -) (?:(?:and )?(?:you|yourself)|(?:how|what) about (?:you|yourself|yours)|"
    r"(?:what|how)(?:'s|'ve| is| are| have| do| did)\b[^?]*\byou\b[^?]*)\?$|"
    r"(?:,|\.| -| so| and| but) (?:so |and |but )?(?:maybe|perhaps|hopefully|let's|let me know|feel free)\b.*$",
    re.IGNORECASE,
)
"""What a statement ends in when it turns to the other: a question, a proposal."""

_TALK = re.compile(
    r"""\s*(?:thank|thx|hey\b|hi\b|hello\b|congrat|good[ ](?:luck|to[ ](?:see|hear)|morning|night|evening|job|call|
    idea|point|for)|great[ ](?:to|job|idea|work|seeing|hearing|chatting|talking)|
    nice[ ](?:to|job|work|one|seeing|talking|chatting)|sounds?\b|looks?[ ](?:like|great|good|amazing|so|delicious|
    cool|awesome)|wow|happy[ ](?:for|to[ ](?:help|hear))|
    (?:so[ ]|really[ ]|very[ ])*(?:glad|happy|proud|excited|sorry)[ ](?:for|to[ ](?:hear|see)|of[ ]you|you|
    that[ ]you|about[ ]your)|i(?:'m|[ ]am)[ ](?:so[ ]|really[ ]|very[ ]|super[ ]|just[ ])*(?:glad|happy|proud|excited|
    sorry|impressed|honored|stoked|thrilled)[ ](?:for[ ]you|to[ ](?:hear|see[ ]you|know)|of[ ]you|you\b|that[ ]you|it\b|
    about[ ]your|we\b|by[ ]your|with[ ]your)|
    no[ ](?:worries|problem|way)|take[ ]care|see[ ](?:you|ya)|talk[ ](?:to|soon|later)|catch[ ](?:you|up|ya)|bye|
    goodbye|have[ ](?:a|fun|you)|enjoy|keep[ ](?:it|up|going|me|on|pushing|spreading|doing)|
    you(?:'re|'ve|'ll|[ ])|your\b|what[ ]an?\b|how\b|can't[ ]wait[ ]to[ ](?:hear|see[ ](?:you|what|how|it|your))|
    let[ ]me\b|let's|lets\b|let[ ]us|please|glad\b|best[ ]of|good[ ]for|way[ ]to|cheers|
    i[ ](?:appreciate|agree|understand|see\b|bet\b|know[ ](?:what|how|you|that|right)|hear\b|admire|totally[ ]|
    completely[ ]|hope[ ](?:you|it|to[ ]hear|that[ ]you|your)|wish[ ]you|wonder|get[ ]it|(?:will|
    can't[ ]wait[ ]to)[ ](?:(?:just|for[ ]sure)[ ])?(?:let|keep[ ]you|make[ ]sure|try[ ]that|give[ ]it|look[ ]|remember|
    catch[ ]up|hear|see[ ]what|see[ ]how|send[ ]you|show[ ]you|talk|see|be[ ]sure|check|definitely|keep[ ]that|
    take[ ]care)|should[ ](?:get|go|probably)|gotta[ ]|have[ ]to[ ](?:go|run)|love[ ](?:your|how[ ]you|that[ ]you|it\b|
    that\b|the[ ]way[ ]you)|wish[ ]i[ ]could|(?:just[ ])?wanted[ ]to[ ](?:say|give[ ]you|let|check|ask|see|share))|
    i(?:'ll|[ ]can't[ ]wait[ ]to|'d)[ ](?:(?:just|for[ ]sure)[ ])?(?:say|let|keep[ ](?:you|that)|make[ ]sure|
    try[ ]that|give[ ]it|look[ ]|check|talk|remember|catch[ ]up|hear|see[ ]what|see[ ]how|send[ ]you|show[ ]you|
    be[ ]sure|be[ ]there|take[ ]care)|
    bet\b|sorry\b|(?:i[ ])?couldn't[ ]agree|never[ ]heard|no[ ]prob|going[ ]to[ ]be\b|it'll[ ]be\b|
    i(?:'d|[ ]would)[ ]love[ ]to[ ](?:see|hear|know|check|join|come|visit[ ]you|chat)|i[ ]can[ ](?:see|tell|imagine|
    relate|understand|totally)|i[ ]can't[ ](?:believe|imagine)|i'm[ ](?:here|sure|always[ ]here)|i'm[ ](?:rooting|
    cheering)|
    hope\b|same[ ]here|me[ ]too|same\b|of[ ]course|anytime|any[ ]time|sure\b|absolutely|definitely|totally|exactly|
    love[ ](?:that|it|this|the|your|how|to)|just[ ]let|don't[ ](?:worry|forget|hesitate|give|mention)|
    hang[ ]on|here(?:'s|[ ]is|[ ]are)[ ](?:a|an|the|one|some|my|what|to)\b|(?:it[ ])?(?:seems|
    feels)[ ]like[ ](?:forever|ages)|(?:(?:so[ ])?much|a[ ]lot|lots)(?:[ ]has|'s)?[ ](?:been[ ])?happen(?:ed|ing)|
    i[ ]hope[ ]so|long[ ]time|check[ ]|look[ ]|lesson[ ]learned|
    as[ ]they[ ]say|must[ ](?:have|be)\b|wherever|seems[ ]like[ ]you|
    why\b|where\b|who\b|when[ ]did|did\b|do\b|does\b|is\b|are\b|can\b|could\b|would\b|will\b|have[ ]you|any\b|
    maybe\b|perhaps\b|remember\b(?![ ]that)|imagine|if[ ](?:you|only)|speaking|talking|btw
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_PRAISE = re.compile(
    r"""(?:that|this|it)(?:'s|[ ]is|[ ]was|[ ]sounds?|[ ]looks?|[ ]must|[ ]seems?)[ ](?:so[ ]|really[ ]|very[ ]|
    such[ ]|pretty[ ]|just[ ]|all[ ]|be[ ]|have[ ]been[ ]|quite[ ]|super[ ]|an?[ ])*(?:great|good|nice|cool|
    awesome|amazing|wonderful|fantastic|lovely|sweet|true|right|tough|rough|hard|fun|beautiful|gorgeous|
    interesting|impressive|inspiring|incredible|perfect|adorable|cute|awful|terrible|exciting|sad|crazy|wild|
    brilliant|excellent|neat|tasty|delicious|you|great[ ]\w+|okay|ok|fine|like|worth|understandable|kind|huge|
    big[ ]deal)\b(?!.*\b(?:i|my|me|we|our|because)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"""\b(?:brb|be[ ](?:right|there)\b|running[ ]late|gtg|(?:i'm|i[ ]am)[ ](?:just[ ])?(?:at|in|on)[ ]the[ ](?:bus|
    train|shop|store|office|phone|airport|car|queue|line|way|stop)\b|
    ^(?:(?:i'm|i[ ]am)[ ])?on[ ]my[ ]way|^(?:\S+[ ]){0,7}(?:right[ ]now|at[ ]the[ ]moment)[.!]*$|
    (?:i'm|i[ ]am)[ ](?:(?:so|very|just|a[ ]bit|doing|all|pretty|quite)[ ])*(?:(?:tired|hungry|busy|good|fine|great|
    well|ok|okay|back|bored|thirsty|sleepy|curious|sure|listening|jealous|confused|late)\b(?=[.,!]|$|[ ](?:right|today|
    now|too|about|what|how|if|though))|ready[.!]*$|here\b|done\b|all[ ]ears|off[ ]to\b)|
    (?:it's|it[ ]is)[ ](?:so[ ]|very[ ]|pretty[ ]|too[ ])*(?:hot|cold|sunny|raining|rainy|snowing|windy|cloudy|late|
    freezing|warm|humid|chilly)|nice[ ]weather|one[ ]sec|wait[ ]a|hold[ ]on|back[ ]in[ ](?:a|\d+)[ ]?min)""",
    re.VERBOSE | re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"(?:^|[,;:-] (?:so |and |then |but |or )?)(?:[\w']+,? ){0,2}(?:you|we|one|people) (?:could|should|"
    r"might|may|can|would|'d better|must|need to|have to|ought)\b|"
    r"(?:^|[,;:-] (?:so |and |then |but |or )?)i (?:could|should|would(?!n't| love| like| prefer| rather)|"
    r"recommend|suggest|advise|might be)\b|"
    r"\bif (?:i|you|we|they|he|she) (?:ever )?(?:won|got|had|were|was|became|lost|found|made|\w{2,}ed)\b.{0,80}?"
    r"(?:'d|\bwould|\bcould|\bmight)\b|"
    r"\bwould\b[^.;]{0,80}\bif (?:i|you|we) (?:won|got|\w{2,}ed)\b|"
    r"\b(?:if (?:i|you|we) (?:were|had|could|would)|maybe (?:we|you|i)|perhaps (?:we|you|i)|why don't|how "
    r"about|what if|wish (?:i|you|we))\b|"
    r"^(?:it|that|this)(?:'d| would| could| might) be\b|^would be (?:great|nice|fun|good|cool|awesome|better)\b",
    re.IGNORECASE,
)
_DECLARED = re.compile(
    r"""\b(?:my[ ](?:full[ ]|first[ ]|last[ ])?name[ ]is|call[ ]me|i(?:'m|[ ]am)[ ](?:\d+[ ]years|a[ ]|an[ ]|from|
    allergic|vegan|vegetarian|married|single|based)|i[ ](?:live|work|moved|prefer|always|never|own|use|study|
    studied|graduated|was[ ]born|have[ ](?:a|an|two|three|four|\d)|like|dislike|hate|love|speak|teach|run|now|
    no[ ]longer|don't[ ](?:eat|drink|use|like|want)|used[ ]to|switched|migrated|changed|upgraded|replaced|quit|
    stopped|started|got[ ](?:married|engaged|promoted|hired|divorced))\b|
    my[ ](?:[\w-]+[ ]){1,3}(?:is|are|was|lives|works|runs|uses|has|starts|died|got)\b|favou?rite|birthday|we(?:'re|
    've|[ ])[ ]?(?:use|run|deploy|store|host|switched|migrated|decided|chose|agreed|are[ ]using|moved|never|always|only|
    keep|call|follow|have[ ]a)|
    (?:runs?|listens?|lives?|deploy\w*|hosted|stored|configured|written|located|pinned|set|defaults?)[ ](?:on|in|at|
    to|with|under|from)\b|\bport[ ]\d|timeout|must[ ](?:be|not|never|use|have|support)|is[ ](?:required|mandatory|
    forbidden|deprecated|capped|limited))\b""",
    re.VERBOSE | re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:(?:i'm|i am|we're|we are|is|are) (?:going to|planning|thinking (?:of|about)|hoping|about to|"
    r"moving|starting|getting|taking|working|training|learning|studying|trying|looking (?:for|into|"
    r"forward))|"
    r"(?:i|we)(?:'ll| will| plan| hope| want| intend| signed up| need)|(?:i|we)(?:'d| would) (?:love|like|"
    r"prefer|rather)|goal|dream|deadline|can't wait to)\b",
    re.IGNORECASE,
)
_SOON = re.compile(
    r"(?:i'll|i will) (?:try|start|consider|check|look|reach|probably|use|make|also|keep|begin|go)\b|"
    r"i'm (?:also )?(?:interested in|excited to try|curious|thinking of trying|looking for)\b",
    re.IGNORECASE,
)
"""Intentions of the moment, often what the other just proposed."""
_FEELING = re.compile(
    r"\b(?:(?:i|we) (?:was|were|am|felt|feel|got|been)|i'm|i've been|(?:makes?|made|making) me(?: feel)?|"
    r"feels?|felt|feeling) (?:so |really |very |a bit |super |pretty |quite |more |too )*"
    r"(?:happy|sad|proud|excited|nervous|anxious|scared|afraid|thankful|grateful|lonely|stressed|"
    r"overwhelmed|relieved|angry|upset|frustrated|"
    r"devastated|heartbroken|depressed|worried|hopeful|joy|peaceful|calm|accepted|loved|inspired|"
    r"motivated|alive|free|blessed|thrilled|"
    r"disappointed|embarrassed|ashamed|guilty|hurt|jealous|confident|discouraged|swamped|burned out|burnt "
    r"out|fulfilled)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|my|me|mine|myself|we|we're|we've|we'll|our|us)\b", re.IGNORECASE)
_LEANS = re.compile(
    r"(?:reminds|makes|feels|helps|brings|keeps|gives|means|gets|they|he|she|it|this|that|these|those|"
    r"both|one|his|her|their|its|such|which|who|there|here|"
    r"another|the other|the same|since then|after that|then)(?:['\u2019](?:s|re|ll|ve|d))?\b(?! (?:week|"
    r"weekend|month|year|morning|afternoon|evening|summer|winter|spring|fall)\b)",
    re.IGNORECASE,
)
_EMPTY_IT = re.compile(
    r"(?:it(?:'s| is| was| has been|'s been) (?:(?:so|very|always|not|also|often|just|such) )*(?!the\b|"
    r"my\b|an?\b(?! (?:pleasure|joy|good idea|shame|relief)))\w+ (?:to (?!me\b|us\b|him\b|her\b|them\b|"
    r"my\b|our\b|the\b)|"
    r"that\b|when\b|how\b|for me to\b)|"
    r"there(?:'s| is| are| was| were|'ve| have)\b|this (?:\w+ )?(?:\w+) (?:i|we|is|was|runs?|uses?)\b)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:this|these|those) (?!week|weekend|month|year|morning|afternoon|evening|summer|winter|spring|"
    r"fall|time|past|last|coming)\w+",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:them|him)\b|\b(?:it|those|these|there|here|her|this|that)\b(?=[.,;!]|$| (?:too|so|all|again|"
    r"now|and|but|because|since|for|with|in|on|at|to|by|from|when|as|while|together|every|really|yet)\b)|"
    r"\b(?:it|they|he|she)(?:'s|'re|'ll)? (?=\w)",
    re.IGNORECASE,
)
_GROUND = re.compile(
    r"(?:\b(?:a|an|the|my|our|some|any|this|that|these|those|two|three|four|five|many|lots of|of|new|his|"
    r"her|their|your|another|one|other|more)\s+(?:\w+[\s'-]+){0,2}\w{3,}|(?<=[a-z,] )[A-Z]\w+|\b\w{4,}s\b)"
)
_SPEAKS = re.compile(
    r"(?:\w+ly,? |also |then |so |now |when |after |since |as |if |while |at \w+,? |for \w+,? )*(?:i|we)\b",
    re.IGNORECASE,
)
_DONE_BY_AGENT = re.compile(
    r"(?:(?!how\b|what\b|when\b|if\b|once\b|after\b|unless\b|until\b|as\b)[\w']+,? ){0,3}"
    r"(?:i(?:'ve| have)(?: just| now| already| also)? (?!found|noticed|seen|read|heard|understood|"
    r"thought|looked|considered|been|learned|got|had)(?:\w+(?:ed|en|un|ut|et|ade|uilt|ent|ote|itten|"
    r"ought|ung|one))\b|"
    r"i (?:just )?(?:booked|created|added|updated|fixed|set|sent|scheduled|changed|removed|deleted|"
    r"moved|renamed|installed|deployed|wrote|built|configured|saved|ordered|reserved|cancelled|canceled|"
    r"migrated|refactored|merged|committed|pushed|decided|implemented|replaced|enabled|disabled|upgraded|"
    r"pinned|reverted|switched|generated|uploaded)\b|"
    r"we(?:'ve| have)? (?:decided|agreed|settled|chose|chosen|picked|finalized|finalised|switched|migrated)\b)",
    re.IGNORECASE,
)
_REACTION = re.compile(
    r"\bmust (?:be|have|feel)\b|"
    r"\b(?:looks?|sounds?) (?:like|(?:(?:so|very|pretty|quite) )*(?:great|awesome|amazing|cool|fun|good|"
    r"nice|tough|incredible|delicious|beautiful|gorgeous|peaceful|stunning|lovely|wonderful|fantastic|"
    r"perfect|exciting|tasty))\b",
    re.IGNORECASE,
)
"""What somebody says of what the other has told or shown."""
_IMPERATIVE = re.compile(
    r"(?:just |always |never |please |so |then )?(?:try|embrace|stay|keep|be|give|take|make|find|focus|"
    r"start|stop|remember|follow|trust|"
    r"believe|cherish|surround|set|think|do|get|grab|pick|join|visit|watch|read|listen|ask|tell|call|"
    r"consider|imagine|treat|hold|push|"
    r"appreciate|go|come|put|use|add|fix|write|create|let|send|show|explain|help|bring|enjoy|celebrate|"
    r"share|feel|learn|live|aim|"
    r"save|build|run|open|close|move|change|check|look|leave|turn|pay|avoid|choose|spend) "
    r"(?!(?:is|was|are|were|has|had|of|and|in|will|can)\b)",
    re.IGNORECASE,
)
"""Advice or a task: English sentences that begin with the base of a verb."""
_HALF_WORDS = frozenset("didn doesn couldn wouldn isn wasn haven hasn shouldn aren weren hadn ain won".split())
"""What is left of contractions: they tell nothing."""
_SAYING = 0.8
"""What the words must tell before it counts that somebody speaks of themselves."""
_TELLING = 0.5
"""Specificity from which "it is a great ..." says what it is."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Kept:
    """How a sentence fared: its type, how likely it is to stay true and be asked for, and whether it was plainly declared."""

    type: MemoryType
    persistence: float
    declared: bool


@lru_cache(maxsize=256)
def _addressing(people: tuple[str, ...]) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """How the speakers are called at the beginning and at the end of a sentence, by name or a short form of it."""
    forms = {part for name in people for part in (name, name.split(maxsplit=1)[0], name[:3], name[:4]) if len(part) > 2}
    if not forms:
        return None, None
    called = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    begins = rf"(?:{_GREETED}\s+)?(?:(?:{called})\b(?:\s*[,!.:-]+\s*|\s+(?=(?:that|this|it|you|your|i)\b)))"
    ends = rf"\s*,\s*(?:{called})\s*(?=[.!?]*$)"
    return re.compile(begins, re.IGNORECASE), re.compile(ends, re.IGNORECASE)


@lru_cache(maxsize=1_024)
def cleared(sentence: str, people: tuple[str, ...]) -> str:
    """The sentence without greetings, fillers, vocatives, emoji and slang.

    Args:
        sentence: as it was said.
        people: names of the speakers, to tell "Thanks, Ana!" from a statement about Ana.
    """
    text = " ".join(_EMOJI.sub(" ", sentence.replace("**", "")).replace("\u2019", "'").split())
    text = _BACKTICK.sub("'", text)
    for mark in ('"', "`"):
        text = text.replace(mark, "") if text.count(mark) % 2 else text  # the other half stands in another sentence
    for pattern, to in _SLANG:
        text = pattern.sub(to, text)
    text = _ASKED_BACK.sub(".", _EMPHASIS.sub("", text))
    text = _SMALL_I.sub("I", text)
    address, trailing = _addressing(people)
    for _ in range(4):
        before = text
        if match := _FILLER.match(text):
            text = text[match.end() :]
        if address and (match := address.match(text)):
            text = text[match.end() :]
        if match := _LABEL.match(text) or _ANNOUNCED.match(text):
            text = text[match.end() :]
        if text == before:
            break
    if trailing:
        text = trailing.sub("", text)
    text = text.strip(" ,;:-\u2013\u2014")
    return text[:1].upper() + text[1:]


def jests(sentence: str) -> bool:
    """Whether a sentence as it was said is no statement but a joke: only the words that are cleared away tell."""
    return bool(_JOKE.search(sentence.replace("\u2019", "'")))


def takes_back(sentence: str) -> bool:
    """Whether a sentence says that the one before it was not meant."""
    return _TAKEN_BACK.fullmatch(sentence.replace("\u2019", "'").strip()) is not None


def judged(sentence: str) -> Kept | None:
    """The persistence test on a cleared sentence; None for talk, questions, advice, guesses and states that pass."""
    bare = sentence.rstrip("\"')*_ ")
    if (
        not bare
        or bare.endswith(("?", "\uff1f"))
        or _TALK.match(sentence)
        or _TRANSIENT.search(sentence)
        or _HYPOTHETICAL.search(sentence)
    ):
        return None
    if _PRAISE.match(sentence) and specificity(sentence) < _TELLING:
        return None
    if _IMPERATIVE.match(sentence):
        return None
    if _REACTION.search(sentence) and not _FIRST.search(sentence):
        return None
    first, declared, marks = bool(_FIRST.search(sentence)), bool(_DECLARED.search(sentence)), traits(sentence)
    if _FEELING.search(sentence):
        return Kept("emotional", 0.6, declared=False)
    if _PLAN.search(sentence):
        return Kept("episodic", 0.5 if _SOON.match(sentence) else 0.75, declared=False)
    past = _is_told(sentence)
    if declared and first:
        return Kept("episodic" if past and marks & TIME else "semantic", 0.9, declared=True)
    if past:
        return Kept("episodic", (0.75 if first else 0.5) + (0.1 if marks & TIME else 0), declared=False)
    if declared:
        return Kept("semantic", 0.8, declared=bool(marks & (NUMBER | NAME)))
    return Kept("semantic", (0.65 if first else 0.35) + (0.05 if marks & REASON else 0), declared=False)


def _is_told(sentence: str) -> bool:
    words = [word.lower() for word in _WORD.findall(sentence)[:12]]
    return any(is_past(word) for word in words)


def done_by_agent(sentence: str) -> bool:
    """Whether an agent states what it has done, or what was decided together."""
    return bool(_DONE_BY_AGENT.match(sentence)) and not sentence.rstrip().endswith("?")


@lru_cache(maxsize=4_096)
def leans(sentence: str) -> bool:
    """Whether a sentence stands on the one before it: a pronoun at its start, or as its only object."""
    if _LEANS.match(sentence):
        return not _EMPTY_IT.match(sentence)
    if not _SPEAKS.match(sentence):
        return False
    found = _PRONOUN.search(sentence) or (_POINTS.search(sentence) if specificity(sentence) < _TELLING else None)
    return bool(found) and not _GROUND.search(sentence[: found.start()])


@lru_cache(maxsize=4_096)
def specificity(sentence: str) -> float:
    """How much a sentence tells, 0 to 1: from the rarity of its words, its names and its numbers."""
    told = sum(rarity(term) for term in set(content_terms(sentence)) - _HALF_WORDS)
    told += 0.4 * (told > _SAYING) * bool(_SPEAKS.match(sentence) or sentence.startswith("My "))
    told += 0.5 * len(names(sentence)) + 0.5 * bool(re.search(r"\d", sentence))
    return 1 - math.exp(-told / 4)
