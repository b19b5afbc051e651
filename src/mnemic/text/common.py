"""The commonest words of English, most frequent first: what a capital at the start of a sentence says nothing about."""

from __future__ import annotations

from functools import lru_cache

from mnemic.text.terms import STOP_WORDS, content_terms

__all__ = ["COMMON_WORDS", "is_common", "rarity"]

COMMON_WORDS = tuple(
    """
    the of and in to was he is as for on with that it his by at from her she you had an were but be this are not my they one
    which or have him me first all also their has up who out been when after there into two time would no what about said we
    over then other so more can if like back them only some could where just during before do made school through than now
    years most world between down well three while later under around did such used state people part know against your many
    second both these known off way until how even get head team because born film since still long work us became any high
    again day family see right man eyes house season including took life same each called name much place however go four
    group another found area here away series left home music best make hand number company several never last very album take
    end good too following released game played little began old want those side held own early face think government came
    small general town line based something thought looked along international went our few show member college father public
    come men five set station church next former room located age got system let love though every century without body black
    night within great women single building large population started once should service top built open death moved local
    children book why door need order final although due major died village third knew asked turned say together received main
    son served different behind himself felt power football law voice near history saw mother point front help late award
    young put published country across told often ever six led light find tell among species really according half form
    original gave enough lost full must live given business woman community might million land court development short round
    seen class story always become sure research almost career things car close force better free support control field
    students education married nothing record inside level anything continued give military established non returned feel does
    title written feet far hard already championship human role various production heart fire version television produced case
    region present radio period least total keep wife program per mind special am soon political taken created further able
    reached joined upon done important social information either appeared position ground lead rock dark election board hair
    course arms site police girl instead real sound words moment someone project announced less wrote past blue design
    considered stop battle toward outside described track today language heard professional low miles win yet green trying
    blood science maybe everything match mouth video race leave above daughter space change common post seven ten months chief
    person sea similar modern brought rest hit floor event care killed training week finished rather news health sent ran term
    currently yes despite gold stage fact dead popular probably result pulled stood money running signed songs eventually met
    tour average minutes deep kind decided usually seemed episode bed added table private route available idea throughout
    addition appointed style eight construction mean wall friends remained study sometimes possible type forward talk process
    food debut seat performance committee features character herself else lot strong range hours morning sold quickly directed
    list media players smile myself coach whole boy official attack alone action lower wide believe hold gone sir ship shot
    below bad involved kept largest future especially beginning movement section female magazine plan longer sat walked hill
    actually energy model size thus aircraft completed data captain fight bridge fourth officer stone hear management self
    lips competition entire technology tournament bit passed hot independent spent fine reported fall raised itself stay true
    studio sports replaced leader whose market capital parents cut degree writing natural higher provided previous senior
    organization onto conference interest allowed master earlier phone matter happened breath certain date standing fell
    artist deal mine industry everyone collection primary older via heavy attention anyone length fingers command staff skin
    foreign governor okay medal cover job introduced chest hell success meet reason standard novel trade source guy goal
    chapter native husband unit limited entered operations related key cold channel traditional dance clear approximately nine
    question active author sense economic twenty speed edition regular historic whom shook movie prior read view engine
    airport property ready immediately contract themselves meant practice glass required culture access attended couple caught
    chair quite shoulder decision defeated whether structure offered slowly pain ice paper mission noted individual plant
    except computer figure relationship issue significant loss gun ago highest male bring problem distance commercial famous
    drive neck surface caused understand highway wrong double income review bass initially parliament experience particular
    foot window dropped miss baby break stars edge remember policy carried bar evidence assistant upper step youth financial
    numerous nodded arrived sorry complex beautiful victory associated chance perhaps metal launched tree retired subject
    prize contains yeah theory empire suddenly waiting happy champion religious ancient corner represented watch legal anti
    brothers material simply response fast answer straight increased rate administration overall winner basketball legs beyond
    cast doctor flight cost effect larger islands grew pay failed selected hurt fort box shown pretty scene spring fellow
    marriage rules oil expected nearby peace recent subsequently cell variety agreed please poor attempt wood piece rural
    touch soldiers closer claimed score physical editor filled specific sitting mom therefore status fear store minor focus
    separate horse branch stared secret baseball exactly choice discovered travel composed truth ball color kiss wind ring
    referred greater slightly crew troops broke goes hundred weight sleep memory defense code value safe judge whatever
    realized growing pre cities gaze lies spread letter situation mayor transport workers expression normal chart border host
    daily heat cannot earned drama era grade difficult machine territory iron sky speak broken charge knowledge removed
    article campus simple pushed soft latter easy acquired quality presence mass broadcast share image influence wild electric
    ability yellow throat smaller spoke lack acting consists estate pressure newspaper online conditions beat elements vote
    text global block shirt purpose ahead gas twice safety serious lieutenant firm amount mixed proposed perfect agreement
    paid prison save kitchen label intended academic nice teacher nation shut drums opera function mentioned picked recognized
    protection picture notable percent fish volume hockey beside settled replied steel glanced risk tonight magic gray screen
    dog residents bus none secondary literature destroyed flying founder lay reserve younger approach urban fully growth page
    honor advanced revealed basic pair equipment visit evening search effort treatment buried primarily bottom owner dream
    spot contact accepted losing split price capacity basis trial guess whispered strength tears agent software draw warm
    supposed transferred leaned candidate escape potential traffic murder slow haven taught website comedy unable environment
    grabbed boat typically damage principal divided dedicated fought driver empty sort thank prominent account freedom
    necessary alongside suggested learning sweet technical easily teeth settlement scale enemy semi joint compared leadership
    analysis captured animal guest combined method challenge huge rise crime facilities platform assigned rich alive concept
    conducted wearing bought holy purchased coffee occurred declared applied concert brain painting tax count content birth
    critical refused fair laughed surrounding formation lifted connected medicine laid tall yards entrance chosen beneath
    resources silence zone defined gained thirty adopted register apart premier unknown parties generation teaching clothes
    impact weapons partner flat suffered kids worth background quarter architecture railroad wish density crowd stomach tone
    unique anyway vehicle thick dry drug theme creation strange bell silent rail relief combat shape determined sales fiction
    distribution interview estimated reduced motion rear twelve dress audience granted spirit noticed etc tight trouble drink
    vampire newly household wave phase pilot unlike bright roof respectively marked circle bronze expanded sexual supply
    yourself inspired vision draft brand classic trip entry neither labor nose afraid identified intelligence grey avoid extra
    uncle message surprise fame hunter citizens environmental confirmed existing opportunity nor shop opposite reality pressed
    barely wine conversation faculty documentary nuclear stock eat bag cricket streets ride ear explained rain injury
    municipal constitution maximum bear core rolled drawn permanent fun chamber snow oldest orange interior apparently
    succeeded thousand dinner fans heavily greatest send catch economy duty speech shall poetry desk crossed passenger sharp
    weather rank check adult application prevent display cool obtained portion reaction counter religion chain rare aid mobile
    squad wonder crazy sword philosophy wolf frequently abandoned literary task entitled threw promotion factory tiny achieved
    internal arrested otherwise elementary districts criminal conflict worry bird details sector fuel evil brief identity pool
    invited briefly climate worse desire dangerous gate doubt wooden poet funding communication violence copies prepared
    investigation skills electronic ultimately singing restaurant tomorrow fashion da flow fresh wrestling approved employed
    suit frame selling thin temperature statement inhabitants extensive narrow flowers promise somewhere object legislative
    strike institutions writers chose anymore fit agricultural sought admitted hole credit roads accident proved struck stuff
    slid expansion opposed sub architect failure map camera tank listen regarding wet metropolitan link inch grown fixed buy
    domestic worldwide mill pocket unless circuit concerned attached journalist journey converted negative aside survey noise
    shooting bedroom priest motor giant equal comic hidden solid afternoon wedding canal treaty recognition broad knees handle
    cheek contest advantage wrapped pink somehow assumed chemical personnel wore tied device threat progress banks hired
    forever junction hip incorporated neighborhood ceremony visual stairs decades inner hung scheduled downtown engaged clock
    pale employees plate retrieved outstanding demand lawyer string pleasure budget items quietly derived survived mental
    extremely loud shadow users contributed aware senator flag investment shock capable row wheel session familiar biggest
    hate maintained drove request injured underground walker stupid spend behavior gently burning wake mirror indeed
    impossible invasion argued experienced spoken reform forget massive resigned locked improved wounded universe sick merged
    coal brick understood crisis cards colonial formal lucky hide weekend cash fallen delivered affected installed shore file
    proper jump constant waters partnership factor cry bound indicated medium somewhat cycle gotten eleven worst weak arranged
    loan bond fifteen pattern disappeared translated insurance shifted warning coat plot smell feed favorite knife finance
    opinion manner choose discovery confused tired stream techniques committed throw measure horror sand calm rush rivers
    sighed documents steam accused directors lit concrete taste shaking faster amateur twin flew obviously storage concluded
    driven universities sequence mode vocal roughly threatened meters compete repeated appeal solution classification glad
    parking participate expedition gift childhood fifty testing smoke mounted grandfather profit truly enjoyed poverty ethnic
    accompanied residential acid mail strategy net forty equivalent distinct imagine ensure scheme conservation occasionally
    favor contrast hanging hunt instruments victims demon earliest balance slipped visible zero counties legend bathroom
    option tail clay afterwards jaw visitors swimming forth smooth ghost honorary pure benefit flesh patient membership
    coastal makeup definitely collaboration boss birthday soil diocese offensive shell waist organ resolution manufacturing
    depending bottle rejected responded treated talent reign restored photography grin paused unusual satellite deck poems
    stuck reputation eliminated ceiling leather rapidly parallel guilty tools gender divisions fruit laboratory fantasy aunt
    tribe aspects suicide bone kick gods gathered snapped solar waste tip landscape adapted bomb surgery corporate anywhere
    odd debate depth panel struggle emerged shoes instance scared passage superior retained maintenance advice hat battery
    smart funny ambassador loose gonna monster frequency plastic easier blade exposed pan nervous ownership assault socialist
    monument license cloud crystal context forehead occupation print roots seek correct hop welcome exit whereas deeply
    adventure cap considerable tons dear illegal revolutionary holiday harder circumstances destruction grip classified honour
    mechanical till statue commerce meat worn sentence spiritual bent minimum lunch false blow belonged indigenous stick
    attracted spell photo customers revival modified upset raw coverage external successor celebrated profile clan nobody
    shrugged fault rhythm carbon violent killer gradually dollars legislature uniform purple denied liquid influential intense
    twisted pace blind forgotten monastery couch description appropriate merely elder convinced stronger amazing declined
    versus output absence ignored expensive symbol shower characteristics aimed button ratio summit angle jury foster pants
    executed dozen advertising lifetime principles sponsored nomination creature longest dust milk infrastructure archbishop
    pitch girlfriend sad scent fur dirty penalty burst seed rival stable grave alcohol mystery habitat remote preserved cited
    vast scholarship knocked eve fate excellent alternate saints youngest climbed discussion jacket revenue peaked annually
    clinical farmers evolution ordinary comfortable shouted encouraged representation panic cargo fat occasions cabin muscles
    transition bet permission slave terrible possession mall ash argument concentration extent emotions controversy diameter
    steady mistake departure spin gear literally suspended luck agencies expert sculpture latest statistics deeper recommended
    mess eagle recovered eggs affair belief mate bonus fled portrayed cooperation hallway distant intention tourism dominated
    nurse partially tape psychology essential civilian carrier intersection beast bench behalf friendship wildlife preferred
    pregnant suspected boots instantly weird automatic businessman alleged mood venue jet remainder passion biological dirt
    buffalo segment abuse genre thrown stroke stress exercise dramatic component widespread tale overseas descent substantial
    regime switch proof cream volunteer silk donated allies venture delivery enterprise reminded copper elsewhere tension
    defend folded resort demolished lion photographs debt erected confidence ceased telephone retail commented innocent dual
    regulations assets bigger relegated leaf forum elite valuable disaster democracy absolutely sole prayer doorway lover
    midnight conclusion proud sample attributed autumn opponent corridor stretched sheet cattle grandmother desperate drunk
    trio bat interrupted pioneer chorus tend load updated jail wealth rangers sufficient rebuilt flood whenever moral repair
    viewers revenge voters screamed suitable ban pine wrist atmosphere bid recovery categories therapy everywhere swept
    exclusive wealthy isolated pen fortune ticket wider lowest fighters flames reduction wire settlers pursue mansion frowned
    perspective fed swallowed illness characterized swing boundaries implementation stolen recalled rage harm breast furniture
    pupils client genetic terror lightning fee witness lodge skull rebellion missile porch worship package decorated
    simultaneously volleyball spun tossed scout tenure romance craft honest yesterday virtual immigrants radical speakers ease
    blame hungry subsidiary conventional sweat festivals physician exposure sandy explanation stakes regardless aboard slammed
    ongoing interstate playoffs error plenty trapped excited sank welfare suburb diverse belly conductor sensitive dispute
    globe tigers airlines interpretation impressed grandson hi departments underneath phrase merger assessment difficulty
    grove sum substitute reflected destination frozen procedure comprehensive oxygen attitude mainstream unsuccessful
    explosion helicopter congressional seal punishment sink columns signals squeezed eighteen elevator ministers congregation
    slept restricted negotiations intellectual eligible buses collapsed goddess database ideal beetle shorter tough coins
    comparison topics carved bread beaten merit historians virus stem farming nowhere fellowship relevant targets tenth
    corruption instruction reverse emphasis arch payment scattered permitted dragged servant blinked extend torn input meal
    everybody bullet logic evolved healthy fool chocolate wise chicken artificial corresponding convicted cage dialogue
    narrative stranger bike veteran crashed campaigns excuse curious legacy dancer grammar diplomatic oriented guilt reader
    pitcher reservoir signature encounter observation protests basement hook dare efficient raid breeding vary lords
    innovation mixture peer logo advocate armor divorce matrix pulse certificate circular vulnerable depicted dame heir
    enormous lessons renowned brilliant mainland server seized jerked radiation warmth joke athlete archives heels judicial
    woke floating fake addressed monk auto interaction outbreak glory consciousness enrolled rookie brow somebody warfare
    fabric rally accurate hospitals exhibit shed footage prey wiped integration marvel sheep sailing manuscript deemed
    editorial tightened earthquake flashed consumption societies variation civic realm autonomous delayed workshop harsh
    embassy courage rebels literacy ruins temples sixty deer boulevard barrel pursuit shallow rode depot blast span chaos
    praise fewer unity bore handsome satisfied dome quartet melody gasped poured hug complicated poll thereby spine humor
    bother halfway crack neighboring wolves punch alarm daddy guidance tender bitter escort dragons sucked pile suspension
    landmark fence torture survivors spy predecessor transformation glow dug casualties pipe spectrum blew sacrifice judgment
    perceived hammer tune neutral oral shade refugees identification upstairs purse affiliate farther sake spite sensation
    blank accommodate cult sustained disorder crops southwestern altered moderate protocol pistol pronounced grateful quest
    uncomfortable boom politicians cheese treasure download registration consequently ate preliminary invented intervention
    ports log invisible relay backward explore blond centered slavery goodbye appreciate migration gym wow email fantastic
    wanna gotta chill pizza vacation wherever pottery delicious default folks awesome skiing motivated hiking pipeline camping
    backpack meditation hey hello yep yup nope nah aww haha lol gosh thanks congrats congratulations totally lemme dunno kinda
    sorta cuz cause tho anyways btw omg ok cheers bye honestly basically hopefully unfortunately fortunately luckily speaking
    sounds looking feeling hope hoping guys dad mum kiddo hobby hobbies vegan yoga podcast selfie laptop app apps inbox
    offline wifi monday tuesday wednesday thursday friday saturday sunday january february april june july august september
    october november december may march will bill mark rose joy grace dawn use run install update deploy commit config
    configure api endpoint variable test tests build merge release files folder script query cache timeout token queue worker
    deployment container cluster schema backend frontend framework library module dependency dependencies repository staging
    hmm ugh ooh oof phew yay yikes whoa oops certainly alright anyhow meanwhile besides additionally moreover furthermore
    finally lastly firstly secondly plus being lets dont cant wont didnt doesnt isnt its yours hers ours theirs pasta salad
    cookie cookies sushi taco brunch dessert recipe baking bake garden gardening hike camp jogging cycling biking surfing yarn
    knitting sewing crafts puppy puppies kitten kittens doggo pup furry fluffy adorable wonderful lovely fabulous yummy tasty
    cozy vibes vibe weekends roadtrip congratulate appreciated impressive inspiring inspire motivate motivation mindful
    mindfulness meditate therapist nutritionist workout workouts
    """.split()
)
_RAREST = 9.5
"""The rarity of a word that the list lacks: somewhat above that of its last."""


@lru_cache(maxsize=1)
def _ranks() -> dict[str, int]:
    """Stem to rank, and word to rank: made on first use."""
    found: dict[str, int] = {}
    for rank, word in enumerate(COMMON_WORDS, start=1):
        found.setdefault(word, rank)
        for stem in content_terms(word):
            found.setdefault(stem, rank)
    return found


@lru_cache(maxsize=65_536)
def is_common(word: str) -> bool:
    """Whether this is a common word, in any of its forms and in any case."""
    lowered = word.lower().replace("\u2019", "'").split("'")[0]
    return lowered in STOP_WORDS or lowered in _ranks() or any(term in _ranks() for term in content_terms(lowered))


def rarity(term: str) -> float:
    """How much a term tells, 0 to 1, from its rank: 0 for the commonest word, 1 for one that is not in the list."""
    from math import log

    rank = _ranks().get(term)
    return 1.0 if rank is None else min(log(rank) / _RAREST, 1.0)
