"""English words whose forms no stemmer brings together: bought is found as buy, children as child."""

from __future__ import annotations

__all__ = ["BASE_FORMS"]

# The base form, then its irregular forms.
_FAMILIES = """
    arise/arose/arisen, awake/awoke/awoken, bear/bore/born/borne, beat/beaten, become/became, begin/began/begun,
    bend/bent, bite/bit/bitten, bleed/bled, blow/blew/blown, break/broke/broken, breed/bred, bring/brought,
    build/built, burn/burnt, buy/bought, catch/caught, child/children/kid/kids, choose/chose/chosen,
    cling/clung, come/came, creep/crept, deal/dealt, dig/dug, dive/dove, draw/drew/drawn, dream/dreamt,
    drink/drank/drunk, drive/drove/driven, eat/ate/eaten, fall/fell/fallen, feed/fed, feel/felt, fight/fought,
    find/found, flee/fled, fly/flew/flown, foot/feet, forbid/forbade/forbidden, forget/forgot/forgotten,
    forgive/forgave/forgiven, freeze/froze/frozen, give/gave/given, go/went/gone, goose/geese, grind/ground,
    grow/grew/grown, hang/hung, hear/heard, hide/hid/hidden, hold/held, keep/kept, kneel/knelt, knife/knives,
    know/knew/known, lay/laid, lead/led, lean/leant, leap/leapt, learn/learnt, leave/left,
    lend/lent, lie/lain, light/lit, lose/lost, make/made, man/men, mean/meant, meet/met, mouse/mice,
    pay/paid, person/people, prove/proven, ride/rode/ridden, ring/rang/rung, rise/rose/risen, run/ran, say/said,
    see/saw/seen, seek/sought, sell/sold, send/sent, sew/sewn, shake/shook/shaken, shelf/shelves, shine/shone,
    shoot/shot, show/shown, shrink/shrank/shrunk, sing/sang/sung, sink/sank/sunk, sit/sat, sleep/slept,
    slide/slid, speak/spoke/spoken, speed/sped, spend/spent, spin/spun, spring/sprang/sprung, stand/stood,
    steal/stole/stolen, stick/stuck, sting/stung, strike/struck, swear/swore/sworn, sweep/swept, swim/swam/swum,
    swing/swung, take/took/taken, teach/taught, tear/tore/torn, tell/told, think/thought, throw/threw/thrown,
    tooth/teeth, understand/understood, wake/woke/woken, wear/wore/worn, weave/wove/woven, wife/wives, win/won,
    wind/wound, wolf/wolves, woman/women, write/wrote/written
"""

BASE_FORMS = {
    form: family.strip().split("/")[0]
    for family in _FAMILIES.replace("\n", " ").split(",")
    for form in family.strip().split("/")[1:]
}
