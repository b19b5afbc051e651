"""Standing instructions to an agent, told from answers, wishes and tasks that begin alike."""

from __future__ import annotations

import re

from mnemic.extraction.rewriting import is_past

__all__ = ["of_ones_own", "rule_of"]

_RULE = re.compile(
    r"\s*(?:(?:please|remember:?|note:?|important:?|rule:?) )?(?:(?:always|never|do not ever|don't ever|"
    r"from now on,?|in (?:the )?future,?|by default,?|whenever|every time|going forward,?|make sure|be "
    r"sure|"
    r"remember (?:that |to )|keep in mind|prefer|avoid|stick (?:to|with)|don't|do not|no )\b|use "
    r"[\w./+-]+(?: [\w./+-]+){0,3}(?:,? (?:not|instead|rather than|for|everywhere|only|over|when))\b)",
    re.IGNORECASE,
)
_NOT_A_RULE = re.compile(
    r"\s*(?:don't|do not|never) (?:worry|forget|hesitate|mention|know|think|give up|stop|mind|be|get|let|"
    r"you|we|i|say|feel|underestimate|again)\b|\s*(?:always|never) (?:a |been|be|good|great|nice|fun|happy|here|thought)",
    re.IGNORECASE,
)
_OF_ONES_OWN = re.compile(
    r"\s*(?:don't|do not) (?:(?:really|even|usually|currently|actually|ever) )?(?:have|like|love|want|need|own|care|eat|"
    r"drink|smoke|drive|live|speak|enjoy|believe|understand|sleep|know|think|feel|remember|get|see|work|go|play)\b",
    re.IGNORECASE,
)
"""Talk, and what the speaker leaves out their "I" in: "Don't have a car anymore"."""
_ALWAYS = re.compile(r"\s*(?:always|never) (?:(?:really|quite|ever) )?([a-z']+)", re.IGNORECASE)
_NO = re.compile(r"\s*no\b", re.IGNORECASE)
_FORBIDS = re.compile(
    r"\s*no (?!wait\b|no\b|i\b|i'|we\b|it\b|it's|that\b|that's|this\b|the\b|there\b|he\b|she\b|they\b|you\b|my\b|our\b|just\b|"
    r"actually\b|longer\b|one\b|body\b|need\b|matter\b|doubt\b|wonder\b|idea\b|worries\b|problem\b|way\b|thanks\b)"
    r"[^,;:]{0,80}\b(?:please|pls|plz|ever|allowed|before|after|during|unless|until|without|more than|less than|longer than|"
    r"in (?:any|all|every|commits?|code|repl\w+|answers?|messages?|responses?|emails?|texts?|comments?)|"
    r"on (?:\w+days|weekends|holidays))\b",
    re.IGNORECASE,
)
"""No with what, and when or where: "no calls before 9". Without that it is an answer: "no heart problems"."""
_FIRST = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|my|me|mine|myself|we|we're|we've|we'll|our|us)\b", re.IGNORECASE)


_FROM_NOW_ON = re.compile(
    r"\s*(?:please )?(?:answer|reply|respond|write|use|call|address|speak|talk|keep|format|give|include|add|explain|show|"
    r"send|sign|start|end|put|check|ask|translate|summari[sz]e|be|leave|stay|skip)\b[^?\n]{2,200}?"
    r"\b(?:from now on|from here on|going forward|in (?:the )?future|every time|at all times|by default)[.!\s]*$",
    re.IGNORECASE,
)
"""Please answer in German from now on: what makes it a rule stands at its end."""


_ONCE = re.compile(
    r"\b(?:yet|(?:today|tonight|tomorrow)(?!['\u2019])|this (?:time|once|one|morning|afternoon|evening|week)|just this|"
    r"(?:in|on|for|at|with) this (?!project\b|repo\w*\b|chat\b|conversation\b|codebase\b|session\b)\w+)\b|"
    r", (?:my|the|our) \w+ (?:said|says|told me|advised)[.!\s]*$|^\s*(?:always|never) the\b",
    re.IGNORECASE,
)
"""What speaks of this one time, or only passes on what somebody said."""
_OF_ONESELF = re.compile(
    r"\s*(?:whenever|every time|from now on|going forward|in (?:the )?future|by default),? "
    r"(?:i|i'm|i'll|we|my|our)\b(?![^,]{1,80}, (?!(?:i|we|my|our|he|she|it|they|the|there|a|everything)\b))",
    re.IGNORECASE,
)
"""Whenever I see Tom: about the speaker; but "whenever I ask for code, use tabs" is a rule."""


def of_ones_own(sentence: str) -> bool:
    """Whether "don't" leaves out the "I" of its speaker: "Don't have a car", and not "Don't book the flight"."""
    return _OF_ONES_OWN.match(sentence) is not None


def rule_of(sentence: str) -> bool:
    """Whether a user gives the agent a standing instruction, rather than a task or an answer."""
    if _ONCE.search(sentence) or _OF_ONESELF.match(sentence):
        return False
    if _FROM_NOW_ON.match(sentence):
        return True
    if not _RULE.match(sentence) or _NOT_A_RULE.match(sentence) or _FIRST.match(sentence) or of_ones_own(sentence):
        return False
    if sentence.rstrip().endswith("?") or (_NO.match(sentence) and not _FORBIDS.match(sentence)):
        return False
    led = _ALWAYS.match(sentence)
    return led is None or not is_past(led[1])
