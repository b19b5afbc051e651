"""What a template of ``updates`` is made of, and two more families of them, in a wide range of styles.

They were written before the rules they measure. ``fourth`` was looked at in numbers only, never in what failed; ``fifth`` was
run once, when everything else was done.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FIFTH", "FOURTH", "Attribute", "words"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """What changes: its values, how it is first said, how a change is said, how it is asked, and how others say theirs.

    ``{v}`` is the value, ``{o}`` the one before it.
    """

    name: str
    values: tuple[str, ...]
    first: tuple[str, ...]
    changes: tuple[str, ...]
    questions: tuple[str, ...]
    others: tuple[str, ...] = ()


def words(text: str) -> tuple[str, ...]:
    """The parts of a text that bars divide."""
    return tuple(part.strip() for part in text.split("|"))


FOURTH = (
    Attribute("leo's job", words("barista | paramedic | electrician | librarian | tour guide"),
        words("My brother Leo is working as a {v}. | Leo, my brother, makes a living as a {v}."),
        words("Leo quit being a {o} and works as a {v} these days. | My brother Leo retrained, he's a {v} now. | "
              "Turns out Leo got hired as a {v}. | Big news from my brother Leo: he's a {v} now."),
        words("What does my brother Leo do for work? | What is Leo's job?"),
        words("My cousin Nils works as a {v}. | Rosa used to be a {v}.")),
    Attribute("tea", words("green tea | oat latte | black coffee | hot chocolate | chai"),
        words("In the morning I like to drink {v}. | {v} is what I drink in the morning."),
        words("These days I'd rather have {v} in the morning. | In the morning it's {v} for me now. | I've gone off {o}, in the morning I drink {v}. | "
              "Lately I prefer {v} in the morning."),
        words("What do I drink in the morning? | What should you make me to drink in the morning?"),
        words("My wife drinks {v} in the morning. | Ben ordered {v} yesterday.")),
    Attribute("alarm code", words("4711 | 9023 | 3358 | 6140 | 8275"),
        words("The alarm code of the cabin is {v}. | To switch off the alarm at the cabin you type {v}."),
        words("The alarm code of the cabin has a new value: {v}. | Correction, the alarm code of the cabin is {v}. | "
              "They've changed the alarm code of the cabin, it is {v} these days. | Scratch what I said, the cabin's alarm code is {v}."),
        words("What's the alarm code of the cabin? | Which code switches off the alarm at the cabin?"),
        words("The code of the bike lock is {v}. | The alarm code of the office is {v}.")),
    Attribute("release manager", words("Fatima | Henrik | Noor | Paulo | Greta"),
        words("{v} is in charge of releases. | The release manager is {v}."),
        words("{v} is taking care of releases from here on. | {o} handed releases to {v}. | Releases are {v}'s job now. | The release manager is {v} since Monday."),
        words("Who is in charge of releases? | Who is the release manager?"),
        words("{v} is in charge of hiring. | The marketing manager is {v}.")),
    Attribute("delivery", words("6 March | 11 March | 18 March | 27 March | 3 April"),
        words("The sofa will be delivered on {v}. | Our new sofa arrives on {v}."),
        words("The shop called, the sofa arrives on {v}. | Sofa delivery got pushed to {v}. | The sofa won't come on {o}, it comes on {v}. | "
              "They now say the sofa will be delivered on {v}."),
        words("When does the sofa arrive? | On what date will the sofa be delivered?"),
        words("The fridge will be delivered on {v}. | The plumber comes on {v}.")),
    Attribute("goldfish", words("3 | 5 | 7 | 9 | 12"),
        words("There are {v} goldfish in our pond. | We keep {v} goldfish."),
        words("The heron came, so there are {v} goldfish in our pond. | Our pond has {v} goldfish in it now. | We're at {v} goldfish at the moment. | "
              "Counted again: {v} goldfish."),
        words("How many goldfish do we have? | How many goldfish are in our pond?"),
        words("There are {v} frogs in our pond. | Ben keeps {v} ducks.")),
    Attribute("cache", words("Redis | Memcached | Hazelcast | Varnish | Dragonfly"),
        words("For caching we have {v} in place. | {v} is our cache."),
        words("{v} is our cache since the last release. | Caching is handled by {v} now. | We threw out {o}, caching is done by {v}. | We've put {v} in place for caching."),
        words("What do we have in place for caching? | Which cache do we run?"),
        words("Session data is kept in {v}. | Ben gave a talk about {v}.")),
    Attribute("yoga", words("Tuesday at 18:00 | Thursday at 19:30 | Saturday at 9:00 | Sunday at 10:30 | Wednesday at 7:00"),
        words("I do yoga on {v}. | Yoga is on {v}."),
        words("Yoga is on {v} from this month. | My yoga slot is {v} now. | The studio shuffled its timetable, I do yoga on {v}. | Instead of {o}, yoga is on {v}."),
        words("When do I do yoga? | When is yoga?"),
        words("My daughter has ballet on {v}. | The book club is on {v}.")),
    Attribute("best friend", words("Ella | Noah | Zoe | Liam | Maya"),
        words("My son's best friend is {v}. | My son's best friend at kindergarten is called {v}."),
        words("My son fell out with {o}, his best friend is {v} now. | My son has a new best friend, {v}. | It's {v} who is my son's best friend these days. | "
              "My son's best friend at the moment is {v}."),
        words("Who is my son's best friend? | What's the name of my son's best friend?"),
        words("My daughter's best friend is {v}. | {v} came to the party.")),
    Attribute("ticket price", words("24 euros | 28 euros | 31 euros | 35 euros | 40 euros"),
        words("A ticket for the festival is {v}. | They charge {v} for a festival ticket."),
        words("Festival tickets are {v} by now. | A ticket for the festival will set you back {v} now. | They've put the festival ticket up or down to {v}. | "
              "The festival ticket isn't {o} any more but {v}."),
        words("What does a festival ticket cost? | How much do they charge for a festival ticket?"),
        words("A ticket for the museum is {v}. | Parking at the festival is {v}.")),
    Attribute("address", words("12 Elm Street | 48 Harbour Road | 7 Mill Lane | 230 Station Avenue | 19 Rose Court"),
        words("Our office is at {v}. | The address of our office is {v}."),
        words("Our office has moved, you find us at {v}. | We've moved the office to {v}. | Please note the new address of our office: {v}. | "
              "The office is no longer at {o}, it's at {v}."),
        words("What's the address of our office? | Where is our office?"),
        words("Ben's studio is at {v}. | The warehouse is at {v}.")),
    Attribute("running shoes", words("Brooks Ghost | Hoka Clifton | Asics Nimbus | Saucony Ride | Nike Pegasus"),
        words("For running I wear {v}. | My running shoes are {v}."),
        words("My {o} fell apart, for running I wear {v}. | I've swapped my running shoes for {v}. | My running shoes are {v} at present. | Got myself {v} as running shoes."),
        words("What running shoes do I wear? | What do I wear for running?"),
        words("My coach wears {v}. | My brother's running shoes are {v}.")),
    Attribute("intern", words("Bruno | Celine | Dario | Esther | Farid"),
        words("Our intern is called {v}. | {v} is our intern this term."),
        words("{o}'s internship is over, our intern is called {v} now. | A new intern has started, {v}. | Our intern these days is {v}. | {v} is our intern from this week."),
        words("What is our intern called? | Who is our intern?"),
        words("{v} is our accountant. | Ben's intern is called {v}.")),
    Attribute("license", words("MIT | Apache 2.0 | GPLv3 | BSD | MPL 2.0"),
        words("The parser library is released under {v}. | The license of the parser library is {v}."),
        words("We relicensed the parser library to {v}. | The parser library is under {v} as of today. | The license of the parser library went from {o} to {v}. | "
              "Legal asked for it: the parser library is now {v}."),
        words("What license is the parser library under? | What is the license of the parser library?"),
        words("The web client is released under {v}. | Ben's library is under {v}.")),
    Attribute("half marathon", words("1:58 | 1:54 | 1:51 | 1:47 | 1:44"),
        words("My half marathon record is {v}. | I can run a half marathon in {v}."),
        words("I beat my half marathon record, it's {v} now. | Just ran a half marathon in {v}, a new record. | My record over the half marathon dropped to {v}. | "
              "Half marathon record update: {v}."),
        words("What is my half marathon record?"),
        words("My sister's half marathon record is {v}. | Ben ran up the mountain in {v}.")),
    Attribute("grandmother", words("Bergen | Ghent | Malaga | Turin | Leeds"),
        words("My grandmother lives in {v}. | My grandmother's home is in {v}."),
        words("My grandmother packed up and moved to {v}. | My grandmother lives in {v} by now. | We helped my grandmother settle in {v}. | "
              "My grandmother has left {o} and is at home in {v}."),
        words("Where does my grandmother live? | In which town is my grandmother at home?"),
        words("My aunt lives in {v}. | Ben's grandmother lives in {v}.")),
    Attribute("slack channel", words("#ops | #alerts | #oncall | #incidents | #war-room"),
        words("Incidents are reported in {v}. | We report incidents in {v}."),
        words("Please report incidents in {v} from now on. | Incidents go to {v} now. | We closed {o}, incidents are reported in {v}. | The place for incidents is {v} now."),
        words("Where do we report incidents? | In which channel are incidents reported?"),
        words("Lunch plans are made in {v}. | Deploys are announced in {v}.")),
    Attribute("physio", words("Ms. Lang | Mr. Abbas | Ms. Frey | Mr. Sato | Ms. Bianchi"),
        words("{v} is treating my knee. | My physiotherapist is {v}."),
        words("{o} is on leave, {v} is treating my knee. | I've been passed on to {v} for my knee. | My physiotherapist is {v} from today. | "
              "Turns out my physiotherapist is now {v}."),
        words("Who is treating my knee? | Who is my physiotherapist?"),
        words("{v} is treating my father's back. | My neighbour's physiotherapist is {v}.")),
    Attribute("max upload", words("5 MB | 10 MB | 20 MB | 50 MB | 100 MB"),
        words("Uploads may be up to {v}. | The upload limit is {v}."),
        words("Uploads may be up to {v} as of this version. | The upload limit has been lifted or lowered to {v}. | We settled on {v} as the upload limit. | "
              "The upload limit isn't {o} anymore, it's {v}."),
        words("What is the upload limit? | How big may uploads be?"),
        words("The message limit is {v}. | Attachments in the mobile app may be up to {v}.")),
    Attribute("novel chapter", words("chapter 4 | chapter 7 | chapter 11 | chapter 15 | chapter 19"),
        words("I'm writing {v} of my novel. | My novel has got to {v}."),
        words("I'm on to {v} of my novel. | I've reached {v} of my novel. | My novel has got to {v} by now. | After a good weekend I'm writing {v} of my novel."),
        words("Which chapter of my novel am I writing? | How far has my novel got?"),
        words("Our reading group has reached {v}. | Ben is reading {v} of his textbook.")),
    Attribute("landlady", words("Mrs. Keller | Mrs. Dubois | Mr. Rossi | Mr. Yilmaz | Mrs. Larsen"),
        words("The flat belongs to {v}. | {v} is our landlord."),
        words("{o} sold the flat, it belongs to {v} now. | The flat has a new owner, {v}. | {v} bought the flat and is our landlord now. | Our landlord is {v} since the first."),
        words("Who does the flat belong to? | Who is our landlord?"),
        words("The garage belongs to {v}. | {v} is Ben's landlord.")),
    Attribute("holiday booking", words("Hotel Miramar | Pension Adler | the Grand Palace | Sunset Lodge | Villa Flora"),
        words("We booked {v} for the trip to Rome. | In Rome we're staying at {v}."),
        words("In Rome we're staying at {v} after all. | I rebooked, in Rome we're staying at {v}. | {o} was full, so we're at {v} in Rome. | "
              "Forget {o}, for the trip to Rome we booked {v}."),
        words("Where are we staying in Rome? | Which hotel did we book for Rome?"),
        words("In Naples we're staying at {v}. | My parents are staying at {v}.")),
    Attribute("test runner", words("pytest | unittest | nose2 | ward | hypothesis"),
        words("The test suite is run by {v}. | We run our tests with {v}."),
        words("We run our tests with {v} since last week. | Tests are run by {v} now. | We've said goodbye to {o}, the test suite is run by {v}. | "
              "We ported the test suite to {v}."),
        words("What runs our test suite? | What do we run our tests with?"),
        words("The frontend tests are run with {v}. | Ben runs his tests with {v}.")),
    Attribute("guests", words("40 | 55 | 62 | 70 | 85"),
        words("We're expecting {v} guests at the anniversary. | {v} guests are coming to the anniversary."),
        words("Make that {v} guests at the anniversary. | The guest list for the anniversary is at {v} guests now. | It'll be {v} guests at the anniversary, not {o}. | "
              "We're now expecting {v} guests at the anniversary."),
        words("How many guests are we expecting at the anniversary? | How many guests are coming to the anniversary?"),
        words("{v} guests came to Ben's birthday. | We're expecting {v} people at the open day.")),
)  # fmt: skip

FIFTH = (
    Attribute("dog walker", words("Ingrid | Mateo | Sofie | Kofi | Lena"),
        words("{v} walks our dog. | Our dog walker is {v}."),
        words("{v} walks our dog now. | {o} moved away, so {v} walks our dog. | We found somebody else to walk our dog: {v}. | It's {v} who walks our dog these days."),
        words("Who walks our dog? | Who is our dog walker?"),
        words("{v} waters our plants. | Ben's dog walker is {v}.")),
    Attribute("monitor", words("LG UltraFine | Dell U2723 | Eizo FlexScan | BenQ PD27 | Samsung ViewFinity"),
        words("The screen on my desk is a {v}. | I work on a {v} screen."),
        words("The screen on my desk is a {v} since the upgrade. | My {o} died, there's a {v} screen on my desk now. | IT gave me a {v} screen. | I work on a {v} screen these days."),
        words("Which screen do I work on? | What screen is on my desk?"),
        words("Ben works on a {v} screen. | The screen in the meeting room is a {v}.")),
    Attribute("visa", words("submitted | under review | on hold | approved | rejected"),
        words("My visa application is {v}. | The visa application: {v}."),
        words("My visa application is {v} according to the portal. | Update on my visa application: {v}. | The consulate says my visa application is {v}. | "
              "My visa application went from {o} to {v}."),
        words("What is the state of my visa application? | How far is my visa application?"),
        words("My brother's visa application is {v}. | The insurance claim is {v}.")),
    Attribute("piano lesson", words("Monday at 16:00 | Tuesday at 17:15 | Thursday at 15:30 | Friday at 18:00 | Saturday at 11:00"),
        words("My piano lesson is {v}. | I have my piano lesson on {v}."),
        words("We've moved my piano lesson to {v}. | My piano lesson is {v} from now on. | {o} doesn't work any more, my piano lesson is {v}. | "
              "New time for my piano lesson: {v}."),
        words("When is my piano lesson? | What time do I have my piano lesson?"),
        words("My nephew's piano lesson is {v}. | My haircut is {v}.")),
    Attribute("sister's partner", words("Emil | Rafael | Jonas | Pavel | Hugo"),
        words("My sister Clara is together with {v}. | {v} is my sister Clara's boyfriend."),
        words("Clara broke up with {o}, she's together with {v} now. | My sister Clara is dating {v} these days. | {v} is the new man in my sister Clara's life. | "
              "Turns out my sister Clara is together with {v} now."),
        words("Who is my sister Clara together with? | Who is Clara's boyfriend?"),
        words("My cousin Anna is together with {v}. | {v} is Ben's brother.")),
    Attribute("backup", words("S3 | Backblaze | a Synology | Dropbox | Wasabi"),
        words("Our backups go to {v}. | We store the backups on {v}."),
        words("Our backups go to {v} since the move. | We no longer back up to {o}, backups go to {v}. | Backups land on {v} now. | We've pointed the backups at {v}."),
        words("Where do our backups go? | What do we store the backups on?"),
        words("The photos go to {v}. | Ben keeps his music on {v}.")),
    Attribute("gym fee", words("29 euros | 34 euros | 39 euros | 45 euros | 52 euros"),
        words("My gym takes {v} a month. | Membership at my gym is {v} a month."),
        words("My gym now takes {v} a month. | Membership at my gym has become {v} a month. | My gym wants {v} a month, it was {o}. | From January membership at my gym is {v} a month."),
        words("How much is my gym membership? | What does my gym take a month?"),
        words("The swimming pool takes {v} a month. | My wife's gym takes {v} a month.")),
    Attribute("meeting host", words("Adele | Boris | Cleo | Dmitri | Elif"),
        words("{v} chairs the Monday meeting. | The Monday meeting is chaired by {v}."),
        words("The chair of the Monday meeting has passed to {v}. | {v} chairs the Monday meeting from this month. | With {o} gone, {v} chairs the Monday meeting. | "
              "The Monday meeting is chaired by {v} now."),
        words("Who chairs the Monday meeting? | Who is the chair of the Monday meeting?"),
        words("{v} chairs the works council. | {v} takes the minutes of the Monday meeting.")),
    Attribute("shoe size", words("28 | 30 | 31 | 33 | 34"),
        words("My son wears shoes in size {v}. | My son's shoe size is {v}."),
        words("My son's feet have grown, his shoe size is {v}. | My son needs shoes in size {v} now. | Shoe size {v} for my son now. | We measured again, my son's shoe size is {v}."),
        words("What shoe size does my son have? | What is my son's shoe size?"),
        words("My daughter's shoe size is {v}. | My son's train has {v} wagons.")),
    Attribute("parking", words("A12 | B07 | C31 | D18 | E44"),
        words("My parking space is {v}. | I park on space {v}."),
        words("I've been given another parking space, {v}. | I park on space {v} as of Monday. | My parking space is {v}, no longer {o}. | Facility management moved my parking space to {v}."),
        words("Which parking space is mine? | Where do I park?"),
        words("Ben parks on space {v}. | The visitors' parking space is {v}.")),
    Attribute("rollout", words("5% | 10% | 25% | 50% | 75%"),
        words("The new checkout is rolled out to {v} of users. | {v} of users see the new checkout."),
        words("{v} of users see the new checkout now. | The rollout of the new checkout stands at {v} of users. | We took the new checkout from {o} to {v} of users. | "
              "The new checkout is live for {v} of users."),
        words("How many users see the new checkout? | What share of users is the new checkout rolled out to?"),
        words("The new search is rolled out to {v} of users. | {v} of users answered the survey.")),
    Attribute("dinner spot", words("Trattoria Lucia | the Green Door | Sakura | El Patio | Bistro Nord"),
        words("Our anniversary dinner is at {v}. | We reserved a table at {v} for the anniversary dinner."),
        words("I changed the anniversary dinner, it's at {v}. | Plan B for the anniversary dinner: {v}. | {o} cancelled on us, the anniversary dinner is at {v}. | "
              "We're having the anniversary dinner at {v} instead."),
        words("Where is the anniversary dinner? | Where did we reserve a table for the anniversary dinner?"),
        words("The team lunch is at {v}. | Ben's farewell dinner is at {v}.")),
    Attribute("tax adviser", words("Mr. Braun | Ms. Ortega | Mr. Lindqvist | Ms. Chowdhury | Mr. Petrov"),
        words("{v} does my taxes. | My tax adviser is called {v}."),
        words("{o} retired and {v} does my taxes. | I've gone to another tax adviser, {v}. | My tax adviser is called {v} now. | For my taxes it's {v} now."),
        words("Who does my taxes? | What's my tax adviser called?"),
        words("{v} does Ben's taxes. | My lawyer is called {v}.")),
    Attribute("ui library", words("Bootstrap | Tailwind | Bulma | Material UI | Chakra"),
        words("Our frontend is styled with {v}. | {v} is what we style the frontend with."),
        words("Our frontend is styled with {v} now. | We restyled the frontend with {v}. | {o} is out, {v} is in: that's what we style the frontend with. | "
              "After a long debate the frontend is styled with {v}."),
        words("What is our frontend styled with? | What do we style the frontend with?"),
        words("The landing page is styled with {v}. | Ben's blog is styled with {v}.")),
    Attribute("sleep", words("5 hours | 6 hours | 7 hours | 8 hours | 9 hours"),
        words("I sleep {v} a night. | On average I get {v} of sleep a night."),
        words("I'm sleeping {v} a night lately. | On average I get {v} of sleep a night these days. | My sleep has gone from {o} to {v} a night. | With the new routine I sleep {v} a night."),
        words("How long do I sleep? | How much sleep do I get a night?"),
        words("My baby sleeps {v} a night. | The drive takes {v}.")),
    Attribute("cat food", words("Felix | Whiskas | Sheba | Royal Canin | Applaws"),
        words("Our cat eats {v}. | We feed our cat {v}."),
        words("Our cat has got picky and only eats {v}. | The vet had us feed our cat {v}. | We feed our cat {v} instead of {o}. | Our cat eats {v} now."),
        words("What does our cat eat? | What do we feed our cat?"),
        words("My mother's cat eats {v}. | The neighbour's dog eats {v}.")),
    Attribute("standup channel", words("Zoom | Teams | Google Meet | Jitsi | Discord"),
        words("We hold our retros on {v}. | Our retros take place over {v}."),
        words("Our retros take place over {v} nowadays. | Retros are on {v} from the next one on. | We've had enough of {o}, we hold our retros on {v}. | We're trying {v} for our retros."),
        words("What do we hold our retros on? | Where do our retros take place?"),
        words("The all-hands is on {v}. | My Spanish class is on {v}.")),
    Attribute("thesis title", words("Tidal Grids | Silent Rivers | Paper Cities | Slow Networks | Glass Forests"),
        words("My thesis is called {v}. | The working title of my thesis is {v}."),
        words("I renamed my thesis, it's called {v}. | The working title of my thesis is {v} for now. | My supervisor talked me out of {o}, my thesis is called {v}. | "
              "My thesis has a new title: {v}."),
        words("What is my thesis called? | What's the title of my thesis?"),
        words("Ben's thesis is called {v}. | The exhibition is called {v}.")),
    Attribute("data center temperature", words("19 degrees | 21 degrees | 23 degrees | 24 degrees | 26 degrees"),
        words("The server room is cooled to {v}. | We cool the server room to {v}."),
        words("We cool the server room to {v} to save power. | The server room is cooled to {v} from today. | The server room went from {o} to {v}. | Facilities set the server room to {v}."),
        words("What temperature is the server room cooled to? | To what do we cool the server room?"),
        words("The pool is heated to {v}. | The wine cellar is kept at {v}.")),
    Attribute("choir", words("soprano | alto | tenor | mezzo | bass"),
        words("In the choir I sing {v}. | I sing {v} in the choir."),
        words("In the choir I sing {v} now. | The conductor moved me from {o} to {v} in the choir. | I'm singing {v} in the choir this season. | They need me as {v} in the choir, so that's what I sing."),
        words("What do I sing in the choir? | Which voice do I sing in the choir?"),
        words("Ben sings {v} in the opera. | My mother used to sing {v}.")),
    Attribute("project codename", words("Falcon | Juniper | Cobalt | Monsoon | Lantern"),
        words("The rewrite goes by the codename {v}. | The rewrite's codename is {v}."),
        words("The rewrite has been rechristened {v}. | The rewrite goes by {v} now. | {o} was taken, so the rewrite's codename is {v}. | Marketing wants {v} as the codename of the rewrite."),
        words("What is the codename of the rewrite? | Which codename does the rewrite go by?"),
        words("The codename of the mobile app is {v}. | Ben's boat is called {v}.")),
    Attribute("grandpa's ward", words("ward 2 | ward 3 | ward 5 | ward 6 | ward 8"),
        words("My grandfather is in {v} of the hospital. | You find my grandfather in {v}."),
        words("They transferred my grandfather to {v}. | My grandfather is in {v} since last night. | My grandfather isn't in {o} any longer but in {v}. | You find my grandfather in {v} now."),
        words("In which ward is my grandfather? | Where do I find my grandfather?"),
        words("My aunt works in {v}. | Ben had his surgery in {v}.")),
    Attribute("subscribers", words("1,200 | 1,850 | 2,400 | 3,100 | 4,000"),
        words("My channel has {v} subscribers. | {v} people subscribe to my channel."),
        words("My channel has grown to {v} subscribers. | {v} people subscribe to my channel by now. | We hit {v} subscribers on my channel! | My channel is at {v} subscribers."),
        words("How many subscribers does my channel have? | How many people subscribe to my channel?"),
        words("Ben's channel has {v} subscribers. | The newspaper has {v} readers.")),
    Attribute("night reading", words("a thriller | poetry | a biography | a cookbook | science fiction"),
        words("At bedtime I read {v} to relax. | To relax at bedtime I read {v}."),
        words("At bedtime I read {v} to relax at the moment. | I'm tired of {o}, at bedtime I read {v}. | Nowadays it's {v} that I read at bedtime. | I've moved on to {v} at bedtime."),
        words("What do I read at bedtime? | What do I read to relax at bedtime?"),
        words("My husband reads {v} on the train. | Ben is writing {v}.")),
)  # fmt: skip
