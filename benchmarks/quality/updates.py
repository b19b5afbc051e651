"""Values that change: is the newest one found first, the one of a past date at that date, and is none lost?

Sequences are generated from templates that stand in this file: one attribute takes 3 to 6 values, weeks apart, among other
attributes of the same person, the same attribute of other people, and talk. Three families of templates: ``tuned``, which the
rules were written with, and ``held_out`` and ``unseen``, other attributes in other words, on which nothing was tuned.

    python -m benchmarks.quality.updates [--sequences 60] [--seed 0] [--via memory|rules] [--json OUT]

``--via rules`` asks the resolver alone, without a store, statements or ranking: what it closes and what it leaves open.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.vectors import default_embedder
from mnemic.types import Message

DEFINITIONS = {
    "sequence": "one record with one attribute of 3 to 6 values, 5 to 40 days apart, and distractors; one in five returns to an "
    "earlier value",
    "current": "share of the sequences where hit 1 of the question comes from a message with the newest value, and holds it",
    "past": "share of the questions at=<a day between two changes> where hit 1 comes from a message with the value of that day",
    "lost": "values that are in no memory and no message any more",
    "unfound": "values that search(include_expired=True, k=50) does not show",
    "rules.current_open": "share of the sequences where the newest value is open after everything was resolved",
    "rules.old_closed": "of all outdated values, the share that was closed",
    "rules.clean": "share of the sequences where the newest value is open and no older one is",
    "rules.shuffled_clean": "the same, the messages of a sequence resolved in a random order with their own times",
    "rules.wrongly_closed": "distractors that were closed, of all distractors",
    "interval": "95 %, from 2,000 resamples of the sequences",
}
BARS = {"current": 90.0, "past": 85.0, "lost": 0}
START = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)


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


@dataclass(frozen=True, slots=True)
class Step:
    """A message, and the value it gives the attribute; None for a distractor."""

    message: Message
    value: str | None


@dataclass(frozen=True, slots=True)
class Sequence_:
    """One attribute over time."""

    attribute: str
    question: str
    steps: tuple[Step, ...]
    changes: tuple[tuple[datetime, str], ...] = field(default=())

    def at(self, moment: datetime) -> str:
        """The value of that moment."""
        return [value for when, value in self.changes if when <= moment][-1]


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


CITIES = _words("Porto | Lisbon | Berlin | Madrid | Oslo | Vienna | Prague | Dublin | Toronto | Seville")
FIRMS = _words("Siemens | Spotify | Nokia | Zalando | Shopify | Philips | Novartis | Adidas")
PEOPLE = _words("Tom | Lisa | Marta | Ivan | Priya | Chen | Omar | Julia")
TIMES = _words("9:30 | 10:00 | 10:45 | 11:15 | 14:00 | 16:30")
COLOURS = _words("green | blue | purple | orange | yellow | teal")

TUNED = (
    Attribute("residence", CITIES,
        _words("I live in {v}. | I'm based in {v}. | My home is in {v}."),
        _words("I just moved to {v}. | I live in {v} now. | We relocated to {v} last week. | I've moved from {o} to {v}. | "
               "I no longer live in {o}, I'm in {v} now. | My city is {v} these days."),
        _words("Where do I live? | Which city do I live in?"),
        _words("My brother lives in {v}. | My sister moved to {v}. | Ben lives in {v}.")),
    Attribute("employer", FIRMS,
        _words("I work at {v}. | I work for {v} as an analyst. | My employer is {v}."),
        _words("I started a new job at {v}. | I left {o} and joined {v}. | I work for {v} now. | I got hired by {v}."),
        _words("Where do I work? | Who is my employer?"),
        _words("My wife works at {v}. | Ben works for {v}.")),
    Attribute("database", _words("MySQL | Postgres 16 | MongoDB | SQLite | CockroachDB | MariaDB"),
        _words("We use {v} as our database. | Our database is {v}. | The backend stores everything in a {v} database."),
        _words("We've switched to {v}. | We migrated the database from {o} to {v}. | The database is now {v}. | "
               "We moved from {o} to {v}. | We use {v} for the database instead of {o}."),
        _words("What database do we use? | Which database are we on?"),
        _words("The analytics team uses {v}. | Ben's company runs {v}.")),
    Attribute("standup", TIMES,
        _words("Our standup is at {v}. | The standup is at {v} every day. | Standup starts at {v}."),
        _words("The standup is at {v} now. | We moved the standup to {v}. | Standup has been rescheduled to {v}. | "
               "The standup was moved from {o} to {v}. | Standup's at {v} from now on."),
        _words("What time is standup? | When is the standup?"),
        _words("The design review is at {v}. | Ben's yoga class is at {v}.")),
    Attribute("launch", _words("3 May | 10 May | 24 May | 6 June | 20 June | 4 July"),
        _words("The launch is on {v}. | The launch date is {v}. | We launch on {v}."),
        _words("The launch was moved to {v}. | The launch slipped to {v}. | We pushed the launch back to {v}. | "
               "The launch date is now {v}. | The launch has been postponed from {o} to {v}."),
        _words("When is the launch? | What is the launch date?"),
        _words("The offsite is on {v}. | Lisa's wedding is on {v}.")),
    Attribute("colour", COLOURS,
        _words("My favourite colour is {v}. | I like {v} best of all colours."),
        _words("My favourite colour is now {v}. | My favorite color changed to {v}. | My new favourite colour is {v}. | "
               "My favourite colour is {v}, not {o} anymore."),
        _words("What is my favourite colour?"),
        _words("My daughter's favourite colour is {v}. | Ben's favourite colour is {v}.")),
    Attribute("port", _words("8080 | 9090 | 3000 | 5000 | 8443 | 7070"),
        _words("The API runs on port {v}. | The API port is {v}. | The API listens on port {v}."),
        _words("The API now runs on port {v}. | We changed the API port to {v}. | The API port is {v} now. | "
               "The port of the API was changed from {o} to {v}."),
        _words("Which port does the API run on? | What is the API port?"),
        _words("The admin panel runs on port {v}. | The metrics server listens on port {v}.")),
    Attribute("manager", PEOPLE,
        _words("My manager is {v}. | {v} is my manager. | I report to {v}."),
        _words("My new manager is {v}. | {v} is my manager now. | I report to {v} now. | My manager changed from {o} to {v}."),
        _words("Who is my manager? | Who do I report to?"),
        _words("Ben's manager is {v}. | My wife's boss is {v}.")),
    Attribute("timeout", _words("10 seconds | 30 seconds | 45 seconds | 60 seconds | 90 seconds"),
        _words("The request timeout is {v}. | We set the request timeout to {v}."),
        _words("The request timeout is now {v}. | We raised the request timeout to {v}. | "
               "The request timeout was changed from {o} to {v}. | We set the request timeout to {v} instead."),
        _words("What is the request timeout?"),
        _words("The cache lifetime is {v}. | The database timeout is {v}.")),
    Attribute("phone", _words("555-0134 | 555-0177 | 555-0192 | 555-0108 | 555-0145"),
        _words("My phone number is {v}. | You can reach me at {v}, that's my number."),
        _words("My new phone number is {v}. | My number changed to {v}. | My phone number is {v} now."),
        _words("What is my phone number?"),
        _words("My mother's phone number is {v}. | Ben's number is {v}.")),
    Attribute("car", _words("Honda Civic | Tesla Model 3 | Volvo V60 | Fiat Panda | Mazda 3"),
        _words("I drive a {v}. | My car is a {v}."),
        _words("I traded my {o} for a {v}. | I drive a {v} now. | My new car is a {v}. | I bought a new car, a {v}."),
        _words("What car do I drive? | Which car do I have?"),
        _words("My brother drives a {v}. | Ben has a {v}.")),
    Attribute("lead", PEOPLE,
        _words("{v} leads the Atlas project. | The lead of the Atlas project is {v}. | The Atlas project is led by {v}."),
        _words("{v} took over the Atlas project from {o}. | {v} leads the Atlas project now. | "
               "The new lead of the Atlas project is {v}. | {v} replaced {o} as lead of the Atlas project."),
        _words("Who leads the Atlas project? | Who is the lead of Atlas?"),
        _words("{v} leads the Borealis project. | The lead of the mobile team is {v}.")),
    Attribute("age", _words("31 | 32 | 33 | 34 | 35 | 36"),
        _words("I am {v} years old. | I'm {v}."),
        _words("I turned {v} yesterday. | I'm {v} years old now. | I just turned {v}."),
        _words("How old am I? | What is my age?"),
        _words("My sister is {v} years old. | Ben turned {v}.")),
    Attribute("budget", _words("5,000 euros | 8,000 euros | 12,000 euros | 15,000 euros | 20,000 euros"),
        _words("The marketing budget is {v}. | We have a marketing budget of {v}."),
        _words("The marketing budget was raised to {v}. | The marketing budget is now {v}. | "
               "The marketing budget went from {o} to {v}. | They changed the marketing budget to {v}."),
        _words("How big is the marketing budget? | What is the marketing budget?"),
        _words("The travel budget is {v}. | Lisa's wedding budget is {v}.")),
    Attribute("laptop", _words("ThinkPad X1 | MacBook Air | Dell XPS 13 | Framework 13 | Zenbook 14"),
        _words("My laptop is a {v}. | I use a {v} for work."),
        _words("I got a new laptop, a {v}. | My new laptop is a {v}. | I replaced my {o} with a {v}. | I switched to a {v}."),
        _words("What laptop do I have? | Which laptop do I use?"),
        _words("My wife's laptop is a {v}. | Ben bought a {v}.")),
    Attribute("framework", _words("Django | FastAPI | Flask | Rails | Spring"),
        _words("The backend is built with {v}. | We use {v} for the backend."),
        _words("We rewrote the backend in {v}. | The backend is built with {v} now. | We replaced {o} with {v}. | We dropped {o} in favour of {v}."),
        _words("What framework does the backend use? | What is the backend built with?"),
        _words("The admin site is built with {v}. | Ben's side project uses {v}.")),
    Attribute("deploy day", _words("Mondays | Tuesdays | Wednesdays | Thursdays | Fridays"),
        _words("We deploy on {v}. | Deploys happen on {v}."),
        _words("We deploy on {v} now. | Deploys happen on {v} from now on. | We moved deploys from {o} to {v}. | Deploy day is {v} now."),
        _words("On which day do we deploy? | When do we deploy?"),
        _words("The retro is on {v}. | We do backups on {v}.")),
    Attribute("log level", _words("debug | info | warning | error"),
        _words("The log level in production is {v}. | We log at {v} level in production."),
        _words("The log level in production is {v} now. | We set the log level in production to {v}. | "
               "We changed the production log level from {o} to {v}."),
        _words("What is the log level in production?"),
        _words("The log level in staging is {v}.",)),
    Attribute("coffee", _words("flat white | espresso | cappuccino | cold brew | cortado"),
        _words("My usual coffee order is a {v}. | I always order a {v}."),
        _words("My usual coffee order is now a {v}. | My go-to coffee order is a {v} these days. | I order a {v} now instead of a {o}."),
        _words("What is my usual coffee order? | What coffee do I order?"),
        _words("My wife orders a {v}. | Ben's usual order is a {v}.")),
    Attribute("doctor", _words("Dr. Lind | Dr. Moreau | Dr. Okafor | Dr. Brandt | Dr. Ito"),
        _words("My doctor is {v}. | {v} is my doctor. | I see {v} when I'm ill."),
        _words("My new doctor is {v}. | {v} is my doctor now. | I switched doctors, I see {v} now. | I'm seeing a new doctor, {v}. | "
               "My doctor is {v} now, not {o}."),
        _words("Who is my doctor? | What is my doctor's name?"),
        _words("My daughter's doctor is {v}. | {v} treated my mother.")),
    Attribute("team", _words("payments | growth | platform | search | mobile"),
        _words("I work on the {v} team. | I'm on the {v} team."),
        _words("I moved to the {v} team. | I'm on the {v} team now. | I switched from the {o} team to the {v} team. | I joined the {v} team."),
        _words("Which team am I on? | What team do I work on?"),
        _words("Ben works on the {v} team. | The {v} team won the award.")),
    Attribute("class day", _words("Monday | Tuesday | Wednesday | Thursday | Sunday"),
        _words("My pottery class is on {v}. | I have pottery class every {v}."),
        _words("My pottery class moved to {v}. | My pottery class is on {v} now. | They rescheduled my pottery class to {v}. | "
               "My pottery class is no longer on {o}, it's on {v}."),
        _words("When is my pottery class? | What day is pottery class?"),
        _words("My swimming lesson is on {v}. | Ben's pottery class is on {v}.")),
    Attribute("flight", _words("7:40 | 9:15 | 12:30 | 15:05 | 18:20"),
        _words("My flight leaves at {v}. | My flight is at {v}."),
        _words("My flight was delayed to {v}. | My flight leaves at {v} now. | My flight has been moved from {o} to {v}. | "
               "They changed my flight, it leaves at {v}."),
        _words("When does my flight leave? | What time is my flight?"),
        _words("The train leaves at {v}. | Ben's flight is at {v}.")),
    Attribute("price", _words("9 euros | 12 euros | 15 euros | 19 euros | 25 euros"),
        _words("The Pro plan costs {v}. | The price of the Pro plan is {v}."),
        _words("The Pro plan costs {v} now. | We raised the price of the Pro plan to {v}. | The price of the Pro plan went up to {v}. | "
               "The Pro plan went from {o} to {v}."),
        _words("How much does the Pro plan cost? | What is the price of the Pro plan?"),
        _words("The Basic plan costs {v}. | The Team plan costs {v}.")),
    Attribute("headcount", _words("4 | 6 | 8 | 11 | 14"),
        _words("We have {v} engineers. | There are {v} engineers on the team. | The team has {v} engineers."),
        _words("We have {v} engineers now. | There are now {v} engineers on the team. | We grew from {o} to {v} engineers. | The team has {v} engineers now."),
        _words("How many engineers do we have? | How many engineers are on the team?"),
        _words("We have {v} designers. | Ben's company has {v} engineers.")),
    Attribute("ticket", _words("open | in progress | blocked | in review | done"),
        _words("The login ticket is {v}. | The status of the login ticket is {v}."),
        _words("The login ticket is {v} now. | The status of the login ticket changed to {v}. | The login ticket is now {v}. | "
               "The login ticket moved from {o} to {v}."),
        _words("What is the status of the login ticket?"),
        _words("The search ticket is {v}. | The export ticket is {v}.")),
    Attribute("relationship", _words("single | engaged | married | divorced"),
        _words("I'm {v}. | I am {v} at the moment."),
        _words("I am {v} now. | I got {v}. | I am {v} again."),
        _words("What is my relationship status? | Am I single, engaged, married or divorced?"),
        _words("My sister is {v}. | Ben got {v}.")),
    Attribute("role", _words("data analyst | backend engineer | engineering manager | product manager | nurse"),
        _words("I work as a {v}. | I'm a {v}. | My job title is {v}."),
        _words("I work as a {v} now. | I got promoted to {v}. | I became a {v}. | My new role is {v}. | I'm no longer a {o}, I'm a {v} now."),
        _words("What is my job? | What do I work as?"),
        _words("My brother is a {v}. | Ben works as a {v}.")),
    Attribute("weight", _words("82 kg | 80 kg | 78 kg | 75 kg | 73 kg"),
        _words("I weigh {v}. | My weight is {v}."),
        _words("I weigh {v} now. | I'm down to {v}. | My weight went from {o} to {v}. | I'm at {v} now."),
        _words("How much do I weigh? | What is my weight?"),
        _words("My brother weighs {v}. | Ben weighs {v}.")),
    Attribute("email", _words("ana@mail.org | ana@post.net | hello@ana.dev | a.silva@work.io | ana.silva@home.pt"),
        _words("My email is {v}. | You can write to me at {v}, that's my email address."),
        _words("My email changed to {v}. | My new email address is {v}. | I changed my email from {o} to {v}. | Please use {v} as my email from now on."),
        _words("What is my email address?"),
        _words("Ben's email is {v}. | My wife's email address is {v}.")),
    Attribute("editor", _words("Vim | VS Code | PyCharm | Emacs | Zed"),
        _words("I use {v} as my editor. | My editor is {v}. | I write code in {v}."),
        _words("I switched to {v}. | I moved from {o} to {v}. | I use {v} as my editor now. | I ditched {o} for {v}. | My editor is {v} these days."),
        _words("Which editor do I use? | What is my code editor?"),
        _words("Ben uses {v}. | My colleague swears by {v}.")),
    Attribute("deadline", _words("12 March | 19 March | 2 April | 15 April | 30 April"),
        _words("The deadline for the tax report is {v}. | The tax report is due on {v}."),
        _words("The deadline for the tax report was extended to {v}. | The tax report is due on {v} now. | The tax report deadline moved to {v}. | "
               "The deadline for the tax report is now {v} instead of {o}."),
        _words("When is the tax report due? | What is the deadline for the tax report?"),
        _words("The insurance form is due on {v}. | The deadline for the grant is {v}.")),
    Attribute("cats", _words("1 | 2 | 3 | 4 | 5"),
        _words("I have {v} hamsters. | There are {v} hamsters in my house."),
        _words("I have {v} hamsters now. | I now own {v} hamsters. | I'm up to {v} hamsters."),
        _words("How many hamsters do I have?"),
        _words("My neighbour has {v} hamsters. | I have {v} plants.")),
    Attribute("restaurant", _words("Casa Nova | Blue Lotus | La Piazza | Kimchi House | Saffron"),
        _words("My favourite restaurant is {v}. | The restaurant I like best is {v}."),
        _words("My favourite restaurant is {v} now. | My new favourite restaurant is {v}. | {v} is my favourite restaurant now. | "
               "{v} has replaced {o} as my favourite restaurant."),
        _words("What is my favourite restaurant?"),
        _words("Ben's favourite restaurant is {v}. | We had dinner at {v}.")),
    Attribute("branch", _words("main | develop | trunk | release-2 | next"),
        _words("Our default branch is {v}. | We merge everything into {v}."),
        _words("The default branch is now {v}. | We renamed the default branch from {o} to {v}. | Our default branch changed to {v}."),
        _words("What is our default branch?"),
        _words("Ben's fork uses the branch {v}.",)),
    Attribute("wake", _words("5:30 | 6:15 | 7:00 | 7:45 | 8:30"),
        _words("I wake up at {v}. | I get up at {v} every day."),
        _words("I wake up at {v} now. | I've started getting up at {v}. | I get up at {v} these days instead of {o}."),
        _words("What time do I wake up? | When do I get up?"),
        _words("My son wakes up at {v}. | I go to bed at {v}.")),
    Attribute("streaming", _words("Netflix | Disney Plus | Mubi | HBO Max | Arte"),
        _words("We have a subscription to {v}. | I'm subscribed to {v}."),
        _words("I cancelled {o} and got {v}. | I switched from {o} to {v}. | I'm subscribed to {v} now instead of {o}."),
        _words("Which streaming service am I subscribed to? | What streaming subscription do I have?"),
        _words("Ben watches everything on {v}. | My parents have {v}.")),
    Attribute("5k", _words("27:12 | 26:30 | 25:50 | 25:05 | 24:40"), _words("My best 5K time is {v}. | I ran a 5K in {v}, that's my personal best."),
        _words("My best 5K time is {v} now. | I improved my 5K best to {v}. | New personal best in the 5K: {v}. | I brought my 5K time down from {o} to {v}."),
        _words("What is my best 5K time?"), _words("My brother's best 5K time is {v}. | Ben ran the 10K in {v}.")),
    Attribute("savings", _words("2,000 euros | 3,500 euros | 5,000 euros | 6,200 euros | 7,500 euros"), _words("I have {v} in savings. | My savings are at {v}."),
        _words("I have {v} in savings now. | My savings have grown to {v}. | I'm up to {v} in savings. | My savings went from {o} to {v}."),
        _words("How much do I have in savings?"), _words("Ben has {v} in savings. | My sister saved {v}.")),
    Attribute("state management", _words("Redux | Zustand | MobX | Jotai | Recoil"), _words("We use {v} for state management. | State management is done with {v}."),
        _words("We're using {v} for state management now. | We migrated from {o} to {v}. | State management is now done with {v}. | We decided to go with {v} for state management instead of {o}."),
        _words("What do we use for state management?"), _words("The design system uses {v}. | Ben's team uses {v} for state management.")),
    Attribute("venue", _words("Hotel Astoria | the Riverside Hall | Castle Inn | the Old Mill | Villa Rosa"), _words("The wedding will be at {v}. | The venue for the wedding is {v}."),
        _words("The wedding venue changed to {v}. | We moved the wedding to {v}. | The wedding is now at {v}. | We booked {v} for the wedding instead of {o}."),
        _words("Where is the wedding? | What is the wedding venue?"), _words("The rehearsal dinner is at {v}. | Ben's wedding was at {v}.")),
    Attribute("teacher", _words("Mrs. Hall | Mr. Ortiz | Ms. Park | Mr. Duval | Mrs. Quinn"), _words("My son's teacher is {v}. | {v} teaches my son."),
        _words("My son has a new teacher, {v}. | My son's teacher is {v} now. | {v} replaced {o} as my son's teacher. | My son's class was taken over by {v}."),
        _words("Who is my son's teacher?"), _words("My daughter's teacher is {v}. | Ben's teacher is {v}.")),
    Attribute("vacation", _words("Crete | Iceland | Norway | Sardinia | Madeira"), _words("We're going to {v} this summer. | Our summer holiday destination is {v}."),
        _words("We changed our summer holiday destination to {v}. | Our summer holiday destination is {v} now. | We're going to {v} this summer instead of {o}. | Change of plans, we're going to {v} this summer."),
        _words("Where are we going this summer? | What is our summer holiday destination?"), _words("My parents are going to {v}. | Ben went to {v} last year.")),
    Attribute("instrument", _words("piano | cello | guitar | flute | drums"), _words("My daughter plays the {v}. | My daughter's instrument is the {v}."),
        _words("My daughter switched to the {v}. | My daughter plays the {v} now instead of the {o}. | My daughter changed from the {o} to the {v}. | My daughter's instrument is now the {v}."),
        _words("What instrument does my daughter play?"), _words("My son plays the {v}. | Ben plays the {v}.")),
    Attribute("retention", _words("7 days | 14 days | 30 days | 60 days | 90 days"), _words("Logs are kept for {v}. | The log retention is {v}."),
        _words("Logs are now kept for {v}. | We extended the log retention to {v}. | The log retention was changed from {o} to {v}. | We keep logs for {v} now."),
        _words("How long are logs kept? | What is the log retention?"), _words("Backups are kept for {v}. | Metrics are kept for {v}.")),
    Attribute("hair", _words("blond | red | black | brown | purple"), _words("My hair is {v}. | I have {v} hair."),
        _words("I dyed my hair {v}. | My hair is {v} now. | I have {v} hair now. | I changed my hair colour from {o} to {v}."),
        _words("What colour is my hair?"), _words("My sister has {v} hair. | Ben dyed his hair {v}.")),
    Attribute("assignee", _words("Priya | Omar | Julia | Chen | Marta"), _words("The checkout bug is assigned to {v}. | {v} is working on the checkout bug."),
        _words("The checkout bug was reassigned to {v}. | {v} is working on the checkout bug now. | {v} took the checkout bug over from {o}. | The checkout bug is now assigned to {v}."),
        _words("Who is the checkout bug assigned to? | Who is working on the checkout bug?"), _words("The search bug is assigned to {v}. | {v} fixed the login bug.")),
    Attribute("bedtime", _words("21:30 | 22:00 | 22:30 | 23:00 | 23:45"), _words("I go to bed at {v}. | My bedtime is {v}."),
        _words("I go to bed at {v} now. | I've moved my bedtime to {v}. | My bedtime is {v} these days. | I now go to sleep at {v} instead of {o}."),
        _words("What time do I go to bed? | What is my bedtime?"), _words("My son goes to bed at {v}. | The shop closes at {v}.")),
    Attribute("insurance", _words("Allianz | AXA | Generali | Zurich | Ergo"), _words("My car is insured with {v}. | My car insurance is with {v}."),
        _words("I switched my car insurance to {v}. | My car is insured with {v} now. | I moved my car insurance from {o} to {v}. | My car insurance is now with {v}."),
        _words("Who is my car insured with? | Which company is my car insurance with?"), _words("My house is insured with {v}. | Ben's car is insured with {v}.")),
    Attribute("cloud", _words("AWS | Azure | Hetzner | Google Cloud | DigitalOcean"), _words("Our servers run on {v}. | We host everything on {v}."),
        _words("We moved our servers to {v}. | We host everything on {v} now. | Our servers run on {v} now. | We left {o} for {v}. | We migrated from {o} to {v}."),
        _words("Where do we host our servers? | Which cloud do we use?"), _words("The data team's cluster is on {v}. | Ben hosts his blog on {v}.")),
    Attribute("plan", _words("Basic | Plus | Family | Premium | Business"), _words("I'm on the {v} plan. | My subscription is the {v} plan."),
        _words("I upgraded to the {v} plan. | I'm on the {v} plan now. | I changed my plan from {o} to {v}. | I switched to the {v} plan."),
        _words("Which plan am I on? | What is my subscription plan?"), _words("Ben is on the {v} plan. | My parents have the {v} plan.")),
)  # fmt: skip

HELD_OUT = (
    Attribute("dentist", _words("Dr. Costa | Dr. Weber | Dr. Novak | Dr. Haas | Dr. Silva"),
        _words("I go to {v} for my teeth, she's my dentist. | My dentist is {v}."),
        _words("I found a new dentist, {v}. | {v} is my dentist now. | I changed dentists, it's {v} now."),
        _words("Who is my dentist? | What's my dentist called?"),
        _words("My son's paediatrician is {v}. | Ben's dentist is {v}.")),
    Attribute("gym", _words("Mondays | Tuesdays | Wednesdays | Thursdays | Saturdays"),
        _words("I go to the gym on {v}. | My gym day is {v}."),
        _words("I go to the gym on {v} now. | I've moved my gym day to {v}. | I switched my gym day from {o} to {v}."),
        _words("On which day do I go to the gym? | When do I go to the gym?"),
        _words("I call my parents on {v}. | Ben goes climbing on {v}.")),
    Attribute("bank", _words("Monzo | Revolut | Santander | Barclays | Triodos"),
        _words("I bank with {v}. | My bank is {v}."),
        _words("I moved my account to {v}. | I closed my {o} account and bank with {v} now. | My bank is now {v}."),
        _words("Which bank am I with? | What is my bank?"),
        _words("My parents bank with {v}. | Ben's bank is {v}.")),
    Attribute("review room", _words("the Blue Room | the Atrium | Room 214 | the Library | Room 305"),
        _words("The design review takes place in {v}. | The design review is in {v}."),
        _words("The design review has moved to {v}. | From now on the design review is in {v}. | "
               "They relocated the design review to {v}."),
        _words("Where is the design review? | In which room is the design review?"),
        _words("The town hall is in {v}. | The book club meets in {v}.")),
    Attribute("ci", _words("Jenkins | GitHub Actions | CircleCI | Buildkite | TeamCity"),
        _words("Our CI runs on {v}. | We build everything with {v}."),
        _words("CI runs on {v} now. | We ditched {o} for {v}. | The pipelines have been migrated from {o} to {v}."),
        _words("What do we use for CI? | Which CI system runs our pipelines?"),
        _words("The mobile team builds with {v}. | Ben's startup uses {v}.")),
    Attribute("wifi", _words("sunflower22 | blueharbor9 | quietriver4 | maplefox71 | redcastle5"),
        _words("The office wifi password is {v}. | Wifi password at the office: {v}."),
        _words("The office wifi password changed, it's {v} now. | They reset the office wifi password to {v}. | "
               "New office wifi password: {v}."),
        _words("What is the office wifi password?"),
        _words("The guest wifi password is {v}. | My home wifi password is {v}.")),
    Attribute("rent", _words("900 euros | 950 euros | 1,050 euros | 1,200 euros | 1,350 euros"),
        _words("I pay {v} a month in rent. | My rent is {v}."),
        _words("My rent went up to {v}. | The landlord raised my rent to {v}. | Starting this month my rent is {v}."),
        _words("How much is my rent? | What rent do I pay?"),
        _words("Ben pays {v} in rent. | My parents' rent is {v}.")),
    Attribute("diet", _words("vegan | pescatarian | keto | vegetarian | paleo"),
        _words("I'm {v}. | I follow a {v} diet."),
        _words("I've gone {v}. | I'm {v} now. | I switched from a {o} to a {v} diet."),
        _words("What diet do I follow? | What kind of diet am I on?"),
        _words("My cousin is {v}. | Ben follows a {v} diet.")),
    Attribute("on-call", PEOPLE,
        _words("{v} is on call this month. | The on-call engineer is {v}."),
        _words("{v} is on call now. | {v} took over on-call from {o}. | The on-call engineer is now {v}."),
        _words("Who is on call? | Who is the on-call engineer?"),
        _words("{v} runs the incident reviews. | {v} is on holiday.")),
    Attribute("python", _words("3.10 | 3.11 | 3.12 | 3.13 | 3.14"),
        _words("The service runs on Python {v}. | We use Python {v} in the service."),
        _words("We upgraded the service to Python {v}. | The service is on Python {v} now. | "
               "The service was bumped from Python {o} to {v}."),
        _words("Which Python version does the service run on?"),
        _words("The data scripts run on Python {v}. | Ben's bot still needs Python {v}.")),
    Attribute("book", _words("Dune | Middlemarch | Beloved | Ulysses | Emma"),
        _words("I'm currently reading {v}. | The book on my nightstand is {v}."),
        _words("I finished {o} and now I'm reading {v}. | I'm reading {v} now. | I've moved on to {v}, that's what I'm reading now."),
        _words("What book am I reading? | What am I currently reading?"),
        _words("My mother is reading {v}. | Ben recommended {v} to his class.")),
    Attribute("commute", _words("bike | tram | train | bus | car"),
        _words("I go to work by {v}. | I take the {v} to work."),
        _words("I take the {v} to work now. | I go to work by {v} these days instead of by {o}. | I've switched to commuting by {v}."),
        _words("How do I get to work? | How do I commute?"),
        _words("My colleagues come by {v}. | Ben takes the {v} to school.")),
)  # fmt: skip

UNSEEN = (
    Attribute("school", _words("Hillside | Oakwood | St. Mary's | Riverbank | Maplewood"),
        _words("My daughter attends {v}. | My daughter goes to {v} for school."),
        _words("My daughter transferred to {v}. | We enrolled my daughter at {v}, she left {o}. | As of this term my daughter attends {v}. | "
               "My daughter goes to {v} for school now."),
        _words("Which school does my daughter attend? | Where does my daughter go to school?"),
        _words("My nephew attends {v}. | Ben's son goes to {v}.")),
    Attribute("region", _words("eu-west-1 | us-east-1 | ap-south-1 | eu-north-1 | sa-east-1"),
        _words("Our production cluster lives in {v}. | The production cluster is located in {v}."),
        _words("We shifted the production cluster to {v}. | The production cluster sits in {v} now. | Production cluster: relocated from {o} to {v}. | "
               "After the outage the production cluster ended up in {v}."),
        _words("Which region is our production cluster in? | Where does the production cluster live?"),
        _words("The staging cluster lives in {v}. | Ben's cluster sits in {v}.")),
    Attribute("dose", _words("10 mg | 20 mg | 25 mg | 40 mg | 50 mg"),
        _words("I take {v} of sertraline a day. | My sertraline dose is {v}."),
        _words("My doctor put me on {v} of sertraline. | My sertraline dose has been adjusted to {v}. | I'm taking {v} of sertraline a day now. | "
               "They bumped my sertraline from {o} to {v}."),
        _words("What dose of sertraline do I take? | How much sertraline am I on?"),
        _words("My mother takes {v} of sertraline. | Ben takes {v} of ritalin.")),
    Attribute("carrier", _words("Vodafone | Orange | Telekom | Proximus | Swisscom"),
        _words("My phone contract is with {v}. | {v} is my mobile provider."),
        _words("I ported my number over to {v}. | My phone contract is with {v} these days. | I've gone over to {v} for my phone contract. | "
               "{v} has been my mobile provider since last week."),
        _words("Who is my mobile provider? | Which company is my phone contract with?"),
        _words("My sister's phone contract is with {v}. | Ben pays {v} far too much.")),
    Attribute("sprint", _words("one week | two weeks | three weeks | four weeks"),
        _words("Our sprints last {v}. | A sprint is {v} long with us."),
        _words("Sprints last {v} from now on. | We've shortened or stretched things again: our sprints are {v} long now. | "
               "The team voted for sprints of {v}. | Our sprints went from {o} to {v}."),
        _words("How long are our sprints? | What is the length of a sprint?"),
        _words("The design team's sprints last {v}. | My holiday lasts {v}.")),
    Attribute("queue", _words("RabbitMQ | Kafka | NATS | Pulsar | SQS"),
        _words("Events go through {v}. | We rely on {v} for messaging."),
        _words("Events go through {v} now. | We've adopted {v} for messaging and retired {o}. | We ripped out {o} and put in {v}. | "
               "{v} handles our messaging as of this release."),
        _words("What do we rely on for messaging? | Which message broker do events go through?"),
        _words("Ben's team relies on {v}. | The billing service still talks to {v}.")),
    Attribute("podcast", _words("Radiolab | Serial | Reply All | Lore | Hidden Brain"),
        _words("My go-to podcast is {v}. | {v} is the podcast I listen to on my commute."),
        _words("My go-to podcast these days is {v}. | I've stopped listening to {o}, {v} is my go-to podcast now. | {v} has become my go-to podcast. | "
               "The podcast I listen to on my commute is {v} now."),
        _words("What podcast do I listen to? | What is my go-to podcast?"),
        _words("My flatmate's go-to podcast is {v}. | Ben was interviewed on {v}.")),
    Attribute("desk", _words("2nd | 3rd | 4th | 5th | 6th"),
        _words("I sit on the {v} floor. | My desk is on the {v} floor."),
        _words("They moved us up or down again, I sit on the {v} floor now. | My desk is on the {v} floor as of Monday. | I got reseated to the {v} floor. | "
               "My desk went from the {o} to the {v} floor."),
        _words("Which floor is my desk on? | On which floor do I sit?"),
        _words("The canteen is on the {v} floor. | Ben sits on the {v} floor.")),
    Attribute("thermostat", _words("18 degrees | 19 degrees | 20 degrees | 21 degrees | 22 degrees"),
        _words("The thermostat at home is set to {v}. | We keep the flat at {v}."),
        _words("I turned the thermostat at home to {v}. | The thermostat at home reads {v} now. | We keep the flat at {v} these days. | "
               "I changed the thermostat at home from {o} to {v}."),
        _words("What is the thermostat at home set to? | What temperature do we keep the flat at?"),
        _words("The office is kept at {v}. | Ben keeps his house at {v}.")),
    Attribute("author contact", _words("Helena | Marcus | Ines | Tobias | Yuki"),
        _words("{v} is our contact at the agency. | Our contact at the agency is {v}."),
        _words("{o} is gone, {v} is our contact at the agency now. | {v} stepped in for {o} as our contact at the agency. | "
               "We have a new contact at the agency: {v}. | For everything about the agency talk to {v} from now on, {v} is our contact there."),
        _words("Who is our contact at the agency? | Who do we talk to at the agency?"),
        _words("{v} is our contact at the bank. | {v} runs the newsletter.")),
    Attribute("newsletter", _words("Mondays | Tuesdays | Wednesdays | Thursdays | Sundays"),
        _words("The newsletter goes out on {v}. | I send the newsletter on {v}."),
        _words("The newsletter goes out on {v} now. | I've decided to send the newsletter on {v} instead. | Newsletter day changed from {o} to {v}. | "
               "Starting next issue the newsletter goes out on {v}."),
        _words("On which day does the newsletter go out? | When do I send the newsletter?"),
        _words("The invoices go out on {v}. | Ben's newsletter goes out on {v}.")),
    Attribute("coverage", _words("70% | 75% | 80% | 85% | 90%"),
        _words("The build fails below {v} coverage. | Our coverage threshold is {v}."),
        _words("The coverage threshold stands at {v} now. | We agreed on a coverage threshold of {v}. | We tightened or loosened the coverage threshold to {v}. | "
               "The coverage threshold crept from {o} to {v}."),
        _words("What is our coverage threshold? | Below what coverage does the build fail?"),
        _words("The mobile app's coverage threshold is {v}. | My battery is at {v}.")),
    Attribute("ceo", _words("Karin Holm | Pedro Alves | Anja Roth | Samir Patel | Lucy Grant"),
        _words("{v} is the CEO of our company. | Our CEO is called {v}."),
        _words("{v} was appointed CEO of our company. | {o} stepped down, {v} is the CEO of our company now. | Our CEO is {v} as of this week. | "
               "{v} succeeded {o} as CEO of our company."),
        _words("Who is the CEO of our company? | What is our CEO called?"),
        _words("{v} is the CEO of our main competitor. | {v} is our head of sales.")),
    Attribute("mortgage", _words("2.9% | 3.1% | 3.4% | 3.8% | 4.2%"),
        _words("The interest on my mortgage is {v}. | I pay {v} interest on my mortgage."),
        _words("The interest on my mortgage climbed or fell to {v}. | The bank reset the interest on my mortgage to {v}. | I pay {v} interest on my mortgage now. | "
               "I refinanced, the interest on my mortgage is {v} now."),
        _words("What interest do I pay on my mortgage? | How high is the interest on my mortgage?"),
        _words("My savings account pays {v} interest. | Ben pays {v} interest on his car loan.")),
    Attribute("keyboard", _words("Keychron | Moonlander | Preonic | Kinesis | Corne"),
        _words("I type on a {v}. | My keyboard is a {v}."),
        _words("I type on a {v} now. | My {o} broke, so my keyboard is a {v} now. | I've retired the {o} and type on a {v}. | "
               "A {v} is my keyboard these days."),
        _words("What keyboard do I have? | Which keyboard do I type on?"),
        _words("My colleague types on a {v}. | Ben sold his {v}.")),
    Attribute("shift", _words("early | late | night | day | weekend"),
        _words("I work the {v} shift. | I'm on the {v} shift at the hospital."),
        _words("I've been put on the {v} shift. | I work the {v} shift now. | I swapped from the {o} shift to the {v} shift. | It's the {v} shift for me from this week."),
        _words("Which shift do I work? | What shift am I on?"),
        _words("My wife works the {v} shift. | Ben is on the {v} shift.")),
)  # fmt: skip
"""Written before the rules were made more general, and never tuned on: it was measured once before and once after."""

FAMILIES: Mapping[str, tuple[Attribute, ...]] = {"tuned": TUNED, "held_out": HELD_OUT, "unseen": UNSEEN}
TALK = _words(
    "What a week, I'm exhausted. | Did you see the match last night? | Can you recommend a good film? | The weather is lovely today. | "
    "Thanks, that helps a lot! | I might go for a run later. | Could you summarise this article for me? | Haha, that's great. | "
    "I had pasta for lunch. | How do I boil an egg? | I'm thinking about learning the piano. | Good morning!"
)
ASIDE = _words(
    "My cat is called Misty. | I'm allergic to peanuts. | I play tennis on weekends. | I have two brothers. | My birthday is on 12 March. | "
    "I speak French. | I also play chess now. | I've started learning Greek. | I have a new neighbour called Rosa. | I'm now watching Dark too. | "
    "We just adopted a puppy. | I bought a new tent. | I found a great bakery. | We write everything in TypeScript. | My favourite film is Alien. | I love hiking. | I studied physics in Coimbra."
)
REPLIES = _words("Got it. | Thanks for telling me. | Noted! | Sounds good. | Sure, happy to help.")


def _steps_of(attribute: Attribute, draw: random.Random) -> list[tuple[str, str]]:
    """Value and text of each step; now and then the last returns to an earlier value."""
    values = draw.sample(attribute.values, min(draw.randint(3, 6), len(attribute.values)))
    if attribute.name == "age":
        values.sort(key=int)
    elif draw.random() < 0.2:
        values[-1] = values[draw.randrange(len(values) - 2)]
    told = [(values[0], draw.choice(attribute.first).format(v=values[0]))]
    for before, value in pairwise(values):
        told.append((value, draw.choice(attribute.changes).format(v=value, o=before)))
    return told


def _distractors(attribute: Attribute, draw: random.Random) -> list[str]:
    others = draw.sample(attribute.others, draw.randint(1, len(attribute.others)))
    told = [other.format(v=draw.choice(attribute.values)) for other in others]
    return [*told, *draw.sample(ASIDE, 3), *draw.sample(TALK, 4)]


def generated(attribute: Attribute, number: int, seed: int) -> Sequence_:
    """One sequence; the same arguments always give the same one."""
    draw = random.Random(f"{seed}/{attribute.name}/{number}")
    when, timeline = START, []
    for value, text in _steps_of(attribute, draw):
        timeline.append((when, value, text))
        when += timedelta(days=draw.randint(5, 40), minutes=draw.randint(0, 500))
    changes = tuple((moment, value) for moment, value, _ in timeline)
    for text in _distractors(attribute, draw):
        timeline.append((START + (when - START) * draw.random(), None, text))
    steps: list[Step] = []
    for at, (moment, value, text) in enumerate(sorted(timeline, key=lambda each: each[0])):
        steps.append(
            Step(Message(role="user", content=text, sent_at=moment, id=f"u{at}", session=f"s{moment:%Y%m%d}"), value)
        )
        reply = Message(role="assistant", content=draw.choice(REPLIES), sent_at=moment + timedelta(seconds=20), id=f"a{at}",
                        session=f"s{moment:%Y%m%d}")  # fmt: skip
        steps.append(Step(reply, None))
    return Sequence_(attribute.name, draw.choice(attribute.questions), tuple(steps), changes)


def sequences(family: str, count: int, seed: int) -> list[Sequence_]:
    """``count`` sequences, the attributes of the family in turn."""
    attributes = FAMILIES[family]
    return [generated(attributes[n % len(attributes)], n // len(attributes), seed) for n in range(count)]


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    from benchmarks.quality import updating

    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.updates", description=__doc__)
    parser.add_argument("--sequences", type=int, default=60, help="of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--via", choices=("memory", "rules"), default="memory")
    parser.add_argument("--family", choices=tuple(FAMILIES), action="append", help="default: all")
    parser.add_argument("--show", action="store_true", help="print what failed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    embedder = default_embedder(None)
    figures: dict[str, Any] = {}
    for family in options.family or FAMILIES:
        made = sequences(family, options.sequences, options.seed)
        ask = updating.by_memory if options.via == "memory" else updating.by_rules
        figures[family] = ask(made, embedder, show=options.show)
    embedder.close()
    result = reporting.document(
        "quality.updates", given, data={"generated": "benchmarks/quality/updates.py", "sha256": reporting.sha256(Path(__file__))},
        settings={"sequences": options.sequences, "seed": options.seed, "via": options.via}, definitions=DEFINITIONS,
        bars=BARS, figures=figures,
    )  # fmt: skip
    for family, found in figures.items():
        reporting.print_table(
            f"updates, {family}", ("figure", "value"), [(k, v) for k, v in found.items() if not isinstance(v, dict)]
        )
    if options.json:
        reporting.write(options.json, result)
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
