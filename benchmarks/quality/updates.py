"""Values that change: is the newest one found first, the one of a past date at that date, and is none lost?

Sequences are generated from templates that stand in this file and in ``updates_wide``: one attribute takes 3 to 6 values, weeks
apart, among other attributes of the same person, the same attribute of other people, and talk. Five families of templates: the
weights of ``recall.order`` were fitted on ``tuned``, ``held_out``, ``third`` and ``fourth``; ``fifth`` is only measured.

    python -m benchmarks.quality.updates [--sequences 60] [--seed 0] [--json OUT]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality.updates_wide import FIFTH, FOURTH, Attribute, words
from benchmarks.vectors import default_embedder
from mnemic import Memory
from mnemic.types import Hit, Message

DEFINITIONS = {
    "sequence": "one record with one attribute of 3 to 6 values, 5 to 40 days apart, and distractors; one in five returns to an "
    "earlier value",
    "current": "share of the sequences where hit 1 of the question comes from a message with the newest value, and holds it",
    "past": "share of the questions at=<a day between two changes> where hit 1 comes from a message with the value of that day",
    "lost": "values that are in no memory and no message any more",
    "unfound": "values that search(include_expired=True, k=50) does not show",
    "interval": "95 %, from 2,000 resamples of the sequences",
}
BARS = {"current": 90.0, "past": 85.0, "lost": 0}
START = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)


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


CITIES = words("Porto | Lisbon | Berlin | Madrid | Oslo | Vienna | Prague | Dublin | Toronto | Seville")
FIRMS = words("Siemens | Spotify | Nokia | Zalando | Shopify | Philips | Novartis | Adidas")
PEOPLE = words("Tom | Lisa | Marta | Ivan | Priya | Chen | Omar | Julia")
TIMES = words("9:30 | 10:00 | 10:45 | 11:15 | 14:00 | 16:30")
COLOURS = words("green | blue | purple | orange | yellow | teal")

TUNED = (
    Attribute("residence", CITIES,
        words("I live in {v}. | I'm based in {v}. | My home is in {v}."),
        words("I just moved to {v}. | I live in {v} now. | We relocated to {v} last week. | I've moved from {o} to {v}. | "
               "I no longer live in {o}, I'm in {v} now. | My city is {v} these days."),
        words("Where do I live? | Which city do I live in?"),
        words("My brother lives in {v}. | My sister moved to {v}. | Ben lives in {v}.")),
    Attribute("employer", FIRMS,
        words("I work at {v}. | I work for {v} as an analyst. | My employer is {v}."),
        words("I started a new job at {v}. | I left {o} and joined {v}. | I work for {v} now. | I got hired by {v}."),
        words("Where do I work? | Who is my employer?"),
        words("My wife works at {v}. | Ben works for {v}.")),
    Attribute("database", words("MySQL | Postgres 16 | MongoDB | SQLite | CockroachDB | MariaDB"),
        words("We use {v} as our database. | Our database is {v}. | The backend stores everything in a {v} database."),
        words("We've switched to {v}. | We migrated the database from {o} to {v}. | The database is now {v}. | "
               "We moved from {o} to {v}. | We use {v} for the database instead of {o}."),
        words("What database do we use? | Which database are we on?"),
        words("The analytics team uses {v}. | Ben's company runs {v}.")),
    Attribute("standup", TIMES,
        words("Our standup is at {v}. | The standup is at {v} every day. | Standup starts at {v}."),
        words("The standup is at {v} now. | We moved the standup to {v}. | Standup has been rescheduled to {v}. | "
               "The standup was moved from {o} to {v}. | Standup's at {v} from now on."),
        words("What time is standup? | When is the standup?"),
        words("The design review is at {v}. | Ben's yoga class is at {v}.")),
    Attribute("launch", words("3 May | 10 May | 24 May | 6 June | 20 June | 4 July"),
        words("The launch is on {v}. | The launch date is {v}. | We launch on {v}."),
        words("The launch was moved to {v}. | The launch slipped to {v}. | We pushed the launch back to {v}. | "
               "The launch date is now {v}. | The launch has been postponed from {o} to {v}."),
        words("When is the launch? | What is the launch date?"),
        words("The offsite is on {v}. | Lisa's wedding is on {v}.")),
    Attribute("colour", COLOURS,
        words("My favourite colour is {v}. | I like {v} best of all colours."),
        words("My favourite colour is now {v}. | My favorite color changed to {v}. | My new favourite colour is {v}. | "
               "My favourite colour is {v}, not {o} anymore."),
        words("What is my favourite colour?"),
        words("My daughter's favourite colour is {v}. | Ben's favourite colour is {v}.")),
    Attribute("port", words("8080 | 9090 | 3000 | 5000 | 8443 | 7070"),
        words("The API runs on port {v}. | The API port is {v}. | The API listens on port {v}."),
        words("The API now runs on port {v}. | We changed the API port to {v}. | The API port is {v} now. | "
               "The port of the API was changed from {o} to {v}."),
        words("Which port does the API run on? | What is the API port?"),
        words("The admin panel runs on port {v}. | The metrics server listens on port {v}.")),
    Attribute("manager", PEOPLE,
        words("My manager is {v}. | {v} is my manager. | I report to {v}."),
        words("My new manager is {v}. | {v} is my manager now. | I report to {v} now. | My manager changed from {o} to {v}."),
        words("Who is my manager? | Who do I report to?"),
        words("Ben's manager is {v}. | My wife's boss is {v}.")),
    Attribute("timeout", words("10 seconds | 30 seconds | 45 seconds | 60 seconds | 90 seconds"),
        words("The request timeout is {v}. | We set the request timeout to {v}."),
        words("The request timeout is now {v}. | We raised the request timeout to {v}. | "
               "The request timeout was changed from {o} to {v}. | We set the request timeout to {v} instead."),
        words("What is the request timeout?"),
        words("The cache lifetime is {v}. | The database timeout is {v}.")),
    Attribute("phone", words("555-0134 | 555-0177 | 555-0192 | 555-0108 | 555-0145"),
        words("My phone number is {v}. | You can reach me at {v}, that's my number."),
        words("My new phone number is {v}. | My number changed to {v}. | My phone number is {v} now."),
        words("What is my phone number?"),
        words("My mother's phone number is {v}. | Ben's number is {v}.")),
    Attribute("car", words("Honda Civic | Tesla Model 3 | Volvo V60 | Fiat Panda | Mazda 3"),
        words("I drive a {v}. | My car is a {v}."),
        words("I traded my {o} for a {v}. | I drive a {v} now. | My new car is a {v}. | I bought a new car, a {v}."),
        words("What car do I drive? | Which car do I have?"),
        words("My brother drives a {v}. | Ben has a {v}.")),
    Attribute("lead", PEOPLE,
        words("{v} leads the Atlas project. | The lead of the Atlas project is {v}. | The Atlas project is led by {v}."),
        words("{v} took over the Atlas project from {o}. | {v} leads the Atlas project now. | "
               "The new lead of the Atlas project is {v}. | {v} replaced {o} as lead of the Atlas project."),
        words("Who leads the Atlas project? | Who is the lead of Atlas?"),
        words("{v} leads the Borealis project. | The lead of the mobile team is {v}.")),
    Attribute("age", words("31 | 32 | 33 | 34 | 35 | 36"),
        words("I am {v} years old. | I'm {v}."),
        words("I turned {v} yesterday. | I'm {v} years old now. | I just turned {v}."),
        words("How old am I? | What is my age?"),
        words("My sister is {v} years old. | Ben turned {v}.")),
    Attribute("budget", words("5,000 euros | 8,000 euros | 12,000 euros | 15,000 euros | 20,000 euros"),
        words("The marketing budget is {v}. | We have a marketing budget of {v}."),
        words("The marketing budget was raised to {v}. | The marketing budget is now {v}. | "
               "The marketing budget went from {o} to {v}. | They changed the marketing budget to {v}."),
        words("How big is the marketing budget? | What is the marketing budget?"),
        words("The travel budget is {v}. | Lisa's wedding budget is {v}.")),
    Attribute("laptop", words("ThinkPad X1 | MacBook Air | Dell XPS 13 | Framework 13 | Zenbook 14"),
        words("My laptop is a {v}. | I use a {v} for work."),
        words("I got a new laptop, a {v}. | My new laptop is a {v}. | I replaced my {o} with a {v}. | I switched to a {v}."),
        words("What laptop do I have? | Which laptop do I use?"),
        words("My wife's laptop is a {v}. | Ben bought a {v}.")),
    Attribute("framework", words("Django | FastAPI | Flask | Rails | Spring"),
        words("The backend is built with {v}. | We use {v} for the backend."),
        words("We rewrote the backend in {v}. | The backend is built with {v} now. | We replaced {o} with {v}. | We dropped {o} in favour of {v}."),
        words("What framework does the backend use? | What is the backend built with?"),
        words("The admin site is built with {v}. | Ben's side project uses {v}.")),
    Attribute("deploy day", words("Mondays | Tuesdays | Wednesdays | Thursdays | Fridays"),
        words("We deploy on {v}. | Deploys happen on {v}."),
        words("We deploy on {v} now. | Deploys happen on {v} from now on. | We moved deploys from {o} to {v}. | Deploy day is {v} now."),
        words("On which day do we deploy? | When do we deploy?"),
        words("The retro is on {v}. | We do backups on {v}.")),
    Attribute("log level", words("debug | info | warning | error"),
        words("The log level in production is {v}. | We log at {v} level in production."),
        words("The log level in production is {v} now. | We set the log level in production to {v}. | "
               "We changed the production log level from {o} to {v}."),
        words("What is the log level in production?"),
        words("The log level in staging is {v}.",)),
    Attribute("coffee", words("flat white | espresso | cappuccino | cold brew | cortado"),
        words("My usual coffee order is a {v}. | I always order a {v}."),
        words("My usual coffee order is now a {v}. | My go-to coffee order is a {v} these days. | I order a {v} now instead of a {o}."),
        words("What is my usual coffee order? | What coffee do I order?"),
        words("My wife orders a {v}. | Ben's usual order is a {v}.")),
    Attribute("doctor", words("Dr. Lind | Dr. Moreau | Dr. Okafor | Dr. Brandt | Dr. Ito"),
        words("My doctor is {v}. | {v} is my doctor. | I see {v} when I'm ill."),
        words("My new doctor is {v}. | {v} is my doctor now. | I switched doctors, I see {v} now. | I'm seeing a new doctor, {v}. | "
               "My doctor is {v} now, not {o}."),
        words("Who is my doctor? | What is my doctor's name?"),
        words("My daughter's doctor is {v}. | {v} treated my mother.")),
    Attribute("team", words("payments | growth | platform | search | mobile"),
        words("I work on the {v} team. | I'm on the {v} team."),
        words("I moved to the {v} team. | I'm on the {v} team now. | I switched from the {o} team to the {v} team. | I joined the {v} team."),
        words("Which team am I on? | What team do I work on?"),
        words("Ben works on the {v} team. | The {v} team won the award.")),
    Attribute("class day", words("Monday | Tuesday | Wednesday | Thursday | Sunday"),
        words("My pottery class is on {v}. | I have pottery class every {v}."),
        words("My pottery class moved to {v}. | My pottery class is on {v} now. | They rescheduled my pottery class to {v}. | "
               "My pottery class is no longer on {o}, it's on {v}."),
        words("When is my pottery class? | What day is pottery class?"),
        words("My swimming lesson is on {v}. | Ben's pottery class is on {v}.")),
    Attribute("flight", words("7:40 | 9:15 | 12:30 | 15:05 | 18:20"),
        words("My flight leaves at {v}. | My flight is at {v}."),
        words("My flight was delayed to {v}. | My flight leaves at {v} now. | My flight has been moved from {o} to {v}. | "
               "They changed my flight, it leaves at {v}."),
        words("When does my flight leave? | What time is my flight?"),
        words("The train leaves at {v}. | Ben's flight is at {v}.")),
    Attribute("price", words("9 euros | 12 euros | 15 euros | 19 euros | 25 euros"),
        words("The Pro plan costs {v}. | The price of the Pro plan is {v}."),
        words("The Pro plan costs {v} now. | We raised the price of the Pro plan to {v}. | The price of the Pro plan went up to {v}. | "
               "The Pro plan went from {o} to {v}."),
        words("How much does the Pro plan cost? | What is the price of the Pro plan?"),
        words("The Basic plan costs {v}. | The Team plan costs {v}.")),
    Attribute("headcount", words("4 | 6 | 8 | 11 | 14"),
        words("We have {v} engineers. | There are {v} engineers on the team. | The team has {v} engineers."),
        words("We have {v} engineers now. | There are now {v} engineers on the team. | We grew from {o} to {v} engineers. | The team has {v} engineers now."),
        words("How many engineers do we have? | How many engineers are on the team?"),
        words("We have {v} designers. | Ben's company has {v} engineers.")),
    Attribute("ticket", words("open | in progress | blocked | in review | done"),
        words("The login ticket is {v}. | The status of the login ticket is {v}."),
        words("The login ticket is {v} now. | The status of the login ticket changed to {v}. | The login ticket is now {v}. | "
               "The login ticket moved from {o} to {v}."),
        words("What is the status of the login ticket?"),
        words("The search ticket is {v}. | The export ticket is {v}.")),
    Attribute("relationship", words("single | engaged | married | divorced"),
        words("I'm {v}. | I am {v} at the moment."),
        words("I am {v} now. | I got {v}. | I am {v} again."),
        words("What is my relationship status? | Am I single, engaged, married or divorced?"),
        words("My sister is {v}. | Ben got {v}.")),
    Attribute("role", words("data analyst | backend engineer | engineering manager | product manager | nurse"),
        words("I work as a {v}. | I'm a {v}. | My job title is {v}."),
        words("I work as a {v} now. | I got promoted to {v}. | I became a {v}. | My new role is {v}. | I'm no longer a {o}, I'm a {v} now."),
        words("What is my job? | What do I work as?"),
        words("My brother is a {v}. | Ben works as a {v}.")),
    Attribute("weight", words("82 kg | 80 kg | 78 kg | 75 kg | 73 kg"),
        words("I weigh {v}. | My weight is {v}."),
        words("I weigh {v} now. | I'm down to {v}. | My weight went from {o} to {v}. | I'm at {v} now."),
        words("How much do I weigh? | What is my weight?"),
        words("My brother weighs {v}. | Ben weighs {v}.")),
    Attribute("email", words("ana@mail.org | ana@post.net | hello@ana.dev | a.silva@work.io | ana.silva@home.pt"),
        words("My email is {v}. | You can write to me at {v}, that's my email address."),
        words("My email changed to {v}. | My new email address is {v}. | I changed my email from {o} to {v}. | Please use {v} as my email from now on."),
        words("What is my email address?"),
        words("Ben's email is {v}. | My wife's email address is {v}.")),
    Attribute("editor", words("Vim | VS Code | PyCharm | Emacs | Zed"),
        words("I use {v} as my editor. | My editor is {v}. | I write code in {v}."),
        words("I switched to {v}. | I moved from {o} to {v}. | I use {v} as my editor now. | I ditched {o} for {v}. | My editor is {v} these days."),
        words("Which editor do I use? | What is my code editor?"),
        words("Ben uses {v}. | My colleague swears by {v}.")),
    Attribute("deadline", words("12 March | 19 March | 2 April | 15 April | 30 April"),
        words("The deadline for the tax report is {v}. | The tax report is due on {v}."),
        words("The deadline for the tax report was extended to {v}. | The tax report is due on {v} now. | The tax report deadline moved to {v}. | "
               "The deadline for the tax report is now {v} instead of {o}."),
        words("When is the tax report due? | What is the deadline for the tax report?"),
        words("The insurance form is due on {v}. | The deadline for the grant is {v}.")),
    Attribute("cats", words("1 | 2 | 3 | 4 | 5"),
        words("I have {v} hamsters. | There are {v} hamsters in my house."),
        words("I have {v} hamsters now. | I now own {v} hamsters. | I'm up to {v} hamsters."),
        words("How many hamsters do I have?"),
        words("My neighbour has {v} hamsters. | I have {v} plants.")),
    Attribute("restaurant", words("Casa Nova | Blue Lotus | La Piazza | Kimchi House | Saffron"),
        words("My favourite restaurant is {v}. | The restaurant I like best is {v}."),
        words("My favourite restaurant is {v} now. | My new favourite restaurant is {v}. | {v} is my favourite restaurant now. | "
               "{v} has replaced {o} as my favourite restaurant."),
        words("What is my favourite restaurant?"),
        words("Ben's favourite restaurant is {v}. | We had dinner at {v}.")),
    Attribute("branch", words("main | develop | trunk | release-2 | next"),
        words("Our default branch is {v}. | We merge everything into {v}."),
        words("The default branch is now {v}. | We renamed the default branch from {o} to {v}. | Our default branch changed to {v}."),
        words("What is our default branch?"),
        words("Ben's fork uses the branch {v}.",)),
    Attribute("wake", words("5:30 | 6:15 | 7:00 | 7:45 | 8:30"),
        words("I wake up at {v}. | I get up at {v} every day."),
        words("I wake up at {v} now. | I've started getting up at {v}. | I get up at {v} these days instead of {o}."),
        words("What time do I wake up? | When do I get up?"),
        words("My son wakes up at {v}. | I go to bed at {v}.")),
    Attribute("streaming", words("Netflix | Disney Plus | Mubi | HBO Max | Arte"),
        words("We have a subscription to {v}. | I'm subscribed to {v}."),
        words("I cancelled {o} and got {v}. | I switched from {o} to {v}. | I'm subscribed to {v} now instead of {o}."),
        words("Which streaming service am I subscribed to? | What streaming subscription do I have?"),
        words("Ben watches everything on {v}. | My parents have {v}.")),
    Attribute("5k", words("27:12 | 26:30 | 25:50 | 25:05 | 24:40"), words("My best 5K time is {v}. | I ran a 5K in {v}, that's my personal best."),
        words("My best 5K time is {v} now. | I improved my 5K best to {v}. | New personal best in the 5K: {v}. | I brought my 5K time down from {o} to {v}."),
        words("What is my best 5K time?"), words("My brother's best 5K time is {v}. | Ben ran the 10K in {v}.")),
    Attribute("savings", words("2,000 euros | 3,500 euros | 5,000 euros | 6,200 euros | 7,500 euros"), words("I have {v} in savings. | My savings are at {v}."),
        words("I have {v} in savings now. | My savings have grown to {v}. | I'm up to {v} in savings. | My savings went from {o} to {v}."),
        words("How much do I have in savings?"), words("Ben has {v} in savings. | My sister saved {v}.")),
    Attribute("state management", words("Redux | Zustand | MobX | Jotai | Recoil"), words("We use {v} for state management. | State management is done with {v}."),
        words("We're using {v} for state management now. | We migrated from {o} to {v}. | State management is now done with {v}. | We decided to go with {v} for state management instead of {o}."),
        words("What do we use for state management?"), words("The design system uses {v}. | Ben's team uses {v} for state management.")),
    Attribute("venue", words("Hotel Astoria | the Riverside Hall | Castle Inn | the Old Mill | Villa Rosa"), words("The wedding will be at {v}. | The venue for the wedding is {v}."),
        words("The wedding venue changed to {v}. | We moved the wedding to {v}. | The wedding is now at {v}. | We booked {v} for the wedding instead of {o}."),
        words("Where is the wedding? | What is the wedding venue?"), words("The rehearsal dinner is at {v}. | Ben's wedding was at {v}.")),
    Attribute("teacher", words("Mrs. Hall | Mr. Ortiz | Ms. Park | Mr. Duval | Mrs. Quinn"), words("My son's teacher is {v}. | {v} teaches my son."),
        words("My son has a new teacher, {v}. | My son's teacher is {v} now. | {v} replaced {o} as my son's teacher. | My son's class was taken over by {v}."),
        words("Who is my son's teacher?"), words("My daughter's teacher is {v}. | Ben's teacher is {v}.")),
    Attribute("vacation", words("Crete | Iceland | Norway | Sardinia | Madeira"), words("We're going to {v} this summer. | Our summer holiday destination is {v}."),
        words("We changed our summer holiday destination to {v}. | Our summer holiday destination is {v} now. | We're going to {v} this summer instead of {o}. | Change of plans, we're going to {v} this summer."),
        words("Where are we going this summer? | What is our summer holiday destination?"), words("My parents are going to {v}. | Ben went to {v} last year.")),
    Attribute("instrument", words("piano | cello | guitar | flute | drums"), words("My daughter plays the {v}. | My daughter's instrument is the {v}."),
        words("My daughter switched to the {v}. | My daughter plays the {v} now instead of the {o}. | My daughter changed from the {o} to the {v}. | My daughter's instrument is now the {v}."),
        words("What instrument does my daughter play?"), words("My son plays the {v}. | Ben plays the {v}.")),
    Attribute("retention", words("7 days | 14 days | 30 days | 60 days | 90 days"), words("Logs are kept for {v}. | The log retention is {v}."),
        words("Logs are now kept for {v}. | We extended the log retention to {v}. | The log retention was changed from {o} to {v}. | We keep logs for {v} now."),
        words("How long are logs kept? | What is the log retention?"), words("Backups are kept for {v}. | Metrics are kept for {v}.")),
    Attribute("hair", words("blond | red | black | brown | purple"), words("My hair is {v}. | I have {v} hair."),
        words("I dyed my hair {v}. | My hair is {v} now. | I have {v} hair now. | I changed my hair colour from {o} to {v}."),
        words("What colour is my hair?"), words("My sister has {v} hair. | Ben dyed his hair {v}.")),
    Attribute("assignee", words("Priya | Omar | Julia | Chen | Marta"), words("The checkout bug is assigned to {v}. | {v} is working on the checkout bug."),
        words("The checkout bug was reassigned to {v}. | {v} is working on the checkout bug now. | {v} took the checkout bug over from {o}. | The checkout bug is now assigned to {v}."),
        words("Who is the checkout bug assigned to? | Who is working on the checkout bug?"), words("The search bug is assigned to {v}. | {v} fixed the login bug.")),
    Attribute("bedtime", words("21:30 | 22:00 | 22:30 | 23:00 | 23:45"), words("I go to bed at {v}. | My bedtime is {v}."),
        words("I go to bed at {v} now. | I've moved my bedtime to {v}. | My bedtime is {v} these days. | I now go to sleep at {v} instead of {o}."),
        words("What time do I go to bed? | What is my bedtime?"), words("My son goes to bed at {v}. | The shop closes at {v}.")),
    Attribute("insurance", words("Allianz | AXA | Generali | Zurich | Ergo"), words("My car is insured with {v}. | My car insurance is with {v}."),
        words("I switched my car insurance to {v}. | My car is insured with {v} now. | I moved my car insurance from {o} to {v}. | My car insurance is now with {v}."),
        words("Who is my car insured with? | Which company is my car insurance with?"), words("My house is insured with {v}. | Ben's car is insured with {v}.")),
    Attribute("cloud", words("AWS | Azure | Hetzner | Google Cloud | DigitalOcean"), words("Our servers run on {v}. | We host everything on {v}."),
        words("We moved our servers to {v}. | We host everything on {v} now. | Our servers run on {v} now. | We left {o} for {v}. | We migrated from {o} to {v}."),
        words("Where do we host our servers? | Which cloud do we use?"), words("The data team's cluster is on {v}. | Ben hosts his blog on {v}.")),
    Attribute("plan", words("Basic | Plus | Family | Premium | Business"), words("I'm on the {v} plan. | My subscription is the {v} plan."),
        words("I upgraded to the {v} plan. | I'm on the {v} plan now. | I changed my plan from {o} to {v}. | I switched to the {v} plan."),
        words("Which plan am I on? | What is my subscription plan?"), words("Ben is on the {v} plan. | My parents have the {v} plan.")),
)  # fmt: skip

HELD_OUT = (
    Attribute("dentist", words("Dr. Costa | Dr. Weber | Dr. Novak | Dr. Haas | Dr. Silva"),
        words("I go to {v} for my teeth, she's my dentist. | My dentist is {v}."),
        words("I found a new dentist, {v}. | {v} is my dentist now. | I changed dentists, it's {v} now."),
        words("Who is my dentist? | What's my dentist called?"),
        words("My son's paediatrician is {v}. | Ben's dentist is {v}.")),
    Attribute("gym", words("Mondays | Tuesdays | Wednesdays | Thursdays | Saturdays"),
        words("I go to the gym on {v}. | My gym day is {v}."),
        words("I go to the gym on {v} now. | I've moved my gym day to {v}. | I switched my gym day from {o} to {v}."),
        words("On which day do I go to the gym? | When do I go to the gym?"),
        words("I call my parents on {v}. | Ben goes climbing on {v}.")),
    Attribute("bank", words("Monzo | Revolut | Santander | Barclays | Triodos"),
        words("I bank with {v}. | My bank is {v}."),
        words("I moved my account to {v}. | I closed my {o} account and bank with {v} now. | My bank is now {v}."),
        words("Which bank am I with? | What is my bank?"),
        words("My parents bank with {v}. | Ben's bank is {v}.")),
    Attribute("review room", words("the Blue Room | the Atrium | Room 214 | the Library | Room 305"),
        words("The design review takes place in {v}. | The design review is in {v}."),
        words("The design review has moved to {v}. | From now on the design review is in {v}. | "
               "They relocated the design review to {v}."),
        words("Where is the design review? | In which room is the design review?"),
        words("The town hall is in {v}. | The book club meets in {v}.")),
    Attribute("ci", words("Jenkins | GitHub Actions | CircleCI | Buildkite | TeamCity"),
        words("Our CI runs on {v}. | We build everything with {v}."),
        words("CI runs on {v} now. | We ditched {o} for {v}. | The pipelines have been migrated from {o} to {v}."),
        words("What do we use for CI? | Which CI system runs our pipelines?"),
        words("The mobile team builds with {v}. | Ben's startup uses {v}.")),
    Attribute("wifi", words("sunflower22 | blueharbor9 | quietriver4 | maplefox71 | redcastle5"),
        words("The office wifi password is {v}. | Wifi password at the office: {v}."),
        words("The office wifi password changed, it's {v} now. | They reset the office wifi password to {v}. | "
               "New office wifi password: {v}."),
        words("What is the office wifi password?"),
        words("The guest wifi password is {v}. | My home wifi password is {v}.")),
    Attribute("rent", words("900 euros | 950 euros | 1,050 euros | 1,200 euros | 1,350 euros"),
        words("I pay {v} a month in rent. | My rent is {v}."),
        words("My rent went up to {v}. | The landlord raised my rent to {v}. | Starting this month my rent is {v}."),
        words("How much is my rent? | What rent do I pay?"),
        words("Ben pays {v} in rent. | My parents' rent is {v}.")),
    Attribute("diet", words("vegan | pescatarian | keto | vegetarian | paleo"),
        words("I'm {v}. | I follow a {v} diet."),
        words("I've gone {v}. | I'm {v} now. | I switched from a {o} to a {v} diet."),
        words("What diet do I follow? | What kind of diet am I on?"),
        words("My cousin is {v}. | Ben follows a {v} diet.")),
    Attribute("on-call", PEOPLE,
        words("{v} is on call this month. | The on-call engineer is {v}."),
        words("{v} is on call now. | {v} took over on-call from {o}. | The on-call engineer is now {v}."),
        words("Who is on call? | Who is the on-call engineer?"),
        words("{v} runs the incident reviews. | {v} is on holiday.")),
    Attribute("python", words("3.10 | 3.11 | 3.12 | 3.13 | 3.14"),
        words("The service runs on Python {v}. | We use Python {v} in the service."),
        words("We upgraded the service to Python {v}. | The service is on Python {v} now. | "
               "The service was bumped from Python {o} to {v}."),
        words("Which Python version does the service run on?"),
        words("The data scripts run on Python {v}. | Ben's bot still needs Python {v}.")),
    Attribute("book", words("Dune | Middlemarch | Beloved | Ulysses | Emma"),
        words("I'm currently reading {v}. | The book on my nightstand is {v}."),
        words("I finished {o} and now I'm reading {v}. | I'm reading {v} now. | I've moved on to {v}, that's what I'm reading now."),
        words("What book am I reading? | What am I currently reading?"),
        words("My mother is reading {v}. | Ben recommended {v} to his class.")),
    Attribute("commute", words("bike | tram | train | bus | car"),
        words("I go to work by {v}. | I take the {v} to work."),
        words("I take the {v} to work now. | I go to work by {v} these days instead of by {o}. | I've switched to commuting by {v}."),
        words("How do I get to work? | How do I commute?"),
        words("My colleagues come by {v}. | Ben takes the {v} to school.")),
)  # fmt: skip

THIRD = (
    Attribute("school", words("Hillside | Oakwood | St. Mary's | Riverbank | Maplewood"),
        words("My daughter attends {v}. | My daughter goes to {v} for school."),
        words("My daughter transferred to {v}. | We enrolled my daughter at {v}, she left {o}. | As of this term my daughter attends {v}. | "
               "My daughter goes to {v} for school now."),
        words("Which school does my daughter attend? | Where does my daughter go to school?"),
        words("My nephew attends {v}. | Ben's son goes to {v}.")),
    Attribute("region", words("eu-west-1 | us-east-1 | ap-south-1 | eu-north-1 | sa-east-1"),
        words("Our production cluster lives in {v}. | The production cluster is located in {v}."),
        words("We shifted the production cluster to {v}. | The production cluster sits in {v} now. | Production cluster: relocated from {o} to {v}. | "
               "After the outage the production cluster ended up in {v}."),
        words("Which region is our production cluster in? | Where does the production cluster live?"),
        words("The staging cluster lives in {v}. | Ben's cluster sits in {v}.")),
    Attribute("dose", words("10 mg | 20 mg | 25 mg | 40 mg | 50 mg"),
        words("I take {v} of sertraline a day. | My sertraline dose is {v}."),
        words("My doctor put me on {v} of sertraline. | My sertraline dose has been adjusted to {v}. | I'm taking {v} of sertraline a day now. | "
               "They bumped my sertraline from {o} to {v}."),
        words("What dose of sertraline do I take? | How much sertraline am I on?"),
        words("My mother takes {v} of sertraline. | Ben takes {v} of ritalin.")),
    Attribute("carrier", words("Vodafone | Orange | Telekom | Proximus | Swisscom"),
        words("My phone contract is with {v}. | {v} is my mobile provider."),
        words("I ported my number over to {v}. | My phone contract is with {v} these days. | I've gone over to {v} for my phone contract. | "
               "{v} has been my mobile provider since last week."),
        words("Who is my mobile provider? | Which company is my phone contract with?"),
        words("My sister's phone contract is with {v}. | Ben pays {v} far too much.")),
    Attribute("sprint", words("one week | two weeks | three weeks | four weeks"),
        words("Our sprints last {v}. | A sprint is {v} long with us."),
        words("Sprints last {v} from now on. | We've shortened or stretched things again: our sprints are {v} long now. | "
               "The team voted for sprints of {v}. | Our sprints went from {o} to {v}."),
        words("How long are our sprints? | What is the length of a sprint?"),
        words("The design team's sprints last {v}. | My holiday lasts {v}.")),
    Attribute("queue", words("RabbitMQ | Kafka | NATS | Pulsar | SQS"),
        words("Events go through {v}. | We rely on {v} for messaging."),
        words("Events go through {v} now. | We've adopted {v} for messaging and retired {o}. | We ripped out {o} and put in {v}. | "
               "{v} handles our messaging as of this release."),
        words("What do we rely on for messaging? | Which message broker do events go through?"),
        words("Ben's team relies on {v}. | The billing service still talks to {v}.")),
    Attribute("podcast", words("Radiolab | Serial | Reply All | Lore | Hidden Brain"),
        words("My go-to podcast is {v}. | {v} is the podcast I listen to on my commute."),
        words("My go-to podcast these days is {v}. | I've stopped listening to {o}, {v} is my go-to podcast now. | {v} has become my go-to podcast. | "
               "The podcast I listen to on my commute is {v} now."),
        words("What podcast do I listen to? | What is my go-to podcast?"),
        words("My flatmate's go-to podcast is {v}. | Ben was interviewed on {v}.")),
    Attribute("desk", words("2nd | 3rd | 4th | 5th | 6th"),
        words("I sit on the {v} floor. | My desk is on the {v} floor."),
        words("They moved us up or down again, I sit on the {v} floor now. | My desk is on the {v} floor as of Monday. | I got reseated to the {v} floor. | "
               "My desk went from the {o} to the {v} floor."),
        words("Which floor is my desk on? | On which floor do I sit?"),
        words("The canteen is on the {v} floor. | Ben sits on the {v} floor.")),
    Attribute("thermostat", words("18 degrees | 19 degrees | 20 degrees | 21 degrees | 22 degrees"),
        words("The thermostat at home is set to {v}. | We keep the flat at {v}."),
        words("I turned the thermostat at home to {v}. | The thermostat at home reads {v} now. | We keep the flat at {v} these days. | "
               "I changed the thermostat at home from {o} to {v}."),
        words("What is the thermostat at home set to? | What temperature do we keep the flat at?"),
        words("The office is kept at {v}. | Ben keeps his house at {v}.")),
    Attribute("author contact", words("Helena | Marcus | Ines | Tobias | Yuki"),
        words("{v} is our contact at the agency. | Our contact at the agency is {v}."),
        words("{o} is gone, {v} is our contact at the agency now. | {v} stepped in for {o} as our contact at the agency. | "
               "We have a new contact at the agency: {v}. | For everything about the agency talk to {v} from now on, {v} is our contact there."),
        words("Who is our contact at the agency? | Who do we talk to at the agency?"),
        words("{v} is our contact at the bank. | {v} runs the newsletter.")),
    Attribute("newsletter", words("Mondays | Tuesdays | Wednesdays | Thursdays | Sundays"),
        words("The newsletter goes out on {v}. | I send the newsletter on {v}."),
        words("The newsletter goes out on {v} now. | I've decided to send the newsletter on {v} instead. | Newsletter day changed from {o} to {v}. | "
               "Starting next issue the newsletter goes out on {v}."),
        words("On which day does the newsletter go out? | When do I send the newsletter?"),
        words("The invoices go out on {v}. | Ben's newsletter goes out on {v}.")),
    Attribute("coverage", words("70% | 75% | 80% | 85% | 90%"),
        words("The build fails below {v} coverage. | Our coverage threshold is {v}."),
        words("The coverage threshold stands at {v} now. | We agreed on a coverage threshold of {v}. | We tightened or loosened the coverage threshold to {v}. | "
               "The coverage threshold crept from {o} to {v}."),
        words("What is our coverage threshold? | Below what coverage does the build fail?"),
        words("The mobile app's coverage threshold is {v}. | My battery is at {v}.")),
    Attribute("ceo", words("Karin Holm | Pedro Alves | Anja Roth | Samir Patel | Lucy Grant"),
        words("{v} is the CEO of our company. | Our CEO is called {v}."),
        words("{v} was appointed CEO of our company. | {o} stepped down, {v} is the CEO of our company now. | Our CEO is {v} as of this week. | "
               "{v} succeeded {o} as CEO of our company."),
        words("Who is the CEO of our company? | What is our CEO called?"),
        words("{v} is the CEO of our main competitor. | {v} is our head of sales.")),
    Attribute("mortgage", words("2.9% | 3.1% | 3.4% | 3.8% | 4.2%"),
        words("The interest on my mortgage is {v}. | I pay {v} interest on my mortgage."),
        words("The interest on my mortgage climbed or fell to {v}. | The bank reset the interest on my mortgage to {v}. | I pay {v} interest on my mortgage now. | "
               "I refinanced, the interest on my mortgage is {v} now."),
        words("What interest do I pay on my mortgage? | How high is the interest on my mortgage?"),
        words("My savings account pays {v} interest. | Ben pays {v} interest on his car loan.")),
    Attribute("keyboard", words("Keychron | Moonlander | Preonic | Kinesis | Corne"),
        words("I type on a {v}. | My keyboard is a {v}."),
        words("I type on a {v} now. | My {o} broke, so my keyboard is a {v} now. | I've retired the {o} and type on a {v}. | "
               "A {v} is my keyboard these days."),
        words("What keyboard do I have? | Which keyboard do I type on?"),
        words("My colleague types on a {v}. | Ben sold his {v}.")),
    Attribute("shift", words("early | late | night | day | weekend"),
        words("I work the {v} shift. | I'm on the {v} shift at the hospital."),
        words("I've been put on the {v} shift. | I work the {v} shift now. | I swapped from the {o} shift to the {v} shift. | It's the {v} shift for me from this week."),
        words("Which shift do I work? | What shift am I on?"),
        words("My wife works the {v} shift. | Ben is on the {v} shift.")),
)  # fmt: skip
"""Written before the rules of search were made; what failed of it was looked at then."""

FAMILIES: Mapping[str, tuple[Attribute, ...]] = {
    "tuned": TUNED, "held_out": HELD_OUT, "third": THIRD, "fourth": FOURTH, "fifth": FIFTH
}  # fmt: skip
TALK = words(
    "What a week, I'm exhausted. | Did you see the match last night? | Can you recommend a good film? | The weather is lovely today. | "
    "Thanks, that helps a lot! | I might go for a run later. | Could you summarise this article for me? | Haha, that's great. | "
    "I had pasta for lunch. | How do I boil an egg? | I'm thinking about learning the piano. | Good morning!"
)
ASIDE = words(
    "My cat is called Misty. | I'm allergic to peanuts. | I play tennis on weekends. | I have two brothers. | My birthday is on 12 March. | "
    "I speak French. | I also play chess now. | I've started learning Greek. | I have a new neighbour called Rosa. | I'm now watching Dark too. | "
    "We just adopted a puppy. | I bought a new tent. | I found a great bakery. | We write everything in TypeScript. | My favourite film is Alien. | I love hiking. | I studied physics in Coimbra."
)
REPLIES = words("Got it. | Thanks for telling me. | Noted! | Sounds good. | Sure, happy to help.")


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


def interval(values: Sequence[float]) -> list[float]:
    """95 % interval of the mean, in percent."""
    drawn = np.random.default_rng(0).choice(np.asarray(values, float), (2000, len(values))).mean(axis=1)
    return [round(100 * float(q), 1) for q in np.quantile(drawn, (0.025, 0.975))]


def share(values: Sequence[float]) -> float | None:
    return round(100 * float(np.mean(values)), 1) if len(values) else None


def right(hit: Hit | None, value: str, sequence: Sequence_) -> bool:
    """Whether a hit holds the value and comes from a message that gave it."""
    if hit is None or value.lower() not in hit.text.lower():
        return False
    told = {step.message.id for step in sequence.steps if step.value == value}
    return not hit.message_ids or bool(told & set(hit.message_ids))


def by_memory(made: Sequence[Sequence_], embedder: Any, *, show: bool = False) -> dict[str, Any]:
    """The figures of the public API: add, process, search now and at past dates, and what is still reachable."""
    current: list[float] = []
    past: list[list[float]] = []
    by_name: dict[str, list[float]] = defaultdict(list)
    lost = unfound = values = 0
    for number, sequence in enumerate(made):
        with Memory(
            ":memory:", user=f"u{number}", embedder=embedder, secrets="allow"
        ) as memory:  # passwords are values here
            for step in sequence.steps:
                memory.add([step.message])
                memory.process()
            now = sequence.steps[-1].message.sent_at + timedelta(days=3)
            first = next(iter(memory.search(sequence.question, k=10, now=now)), None)
            value = sequence.changes[-1][1]
            current.append(float(right(first, value, sequence)))
            by_name[sequence.attribute].append(current[-1])
            if show and not current[-1]:
                print(
                    f"[now] {sequence.attribute}: {sequence.question} wants {value}, gives {first.text if first else None!r}"
                )
            past.append([_at(memory, sequence, moment, show=show) for moment in between(sequence)])
            everything = " ".join(m.content for m in memory.messages(limit=None)).lower()
            shown = " ".join(
                h.text for h in memory.search(sequence.question, k=50, now=now, include_expired=True)
            ).lower()
            for each in {value for _, value in sequence.changes}:
                values += 1
                unfound += each.lower() not in shown
                lost += each.lower() not in shown and each.lower() not in everything
    flat = [value for each in past for value in each]
    return {
        "sequences": len(made), "current": share(current), "current_interval": interval(current), "past": share(flat),
        "past_interval": interval([float(np.mean(each)) for each in past if each]), "past_questions": len(flat),
        "values": values, "lost": lost, "unfound": unfound,
        "by_attribute": {name: share(found) for name, found in by_name.items()},
    }  # fmt: skip


def between(sequence: Sequence_) -> list[datetime]:
    """The middle of each interval but the last."""
    moments = [moment for moment, _ in sequence.changes]
    return [a + (b - a) / 2 for a, b in pairwise(moments)]


def _at(memory: Any, sequence: Sequence_, moment: datetime, *, show: bool) -> float:
    now = sequence.steps[-1].message.sent_at + timedelta(days=3)
    first = next(iter(memory.search(sequence.question, k=10, at=moment, now=now)), None)
    value = sequence.at(moment)
    found = right(first, value, sequence)
    if show and not found:
        print(
            f"[{moment:%d %b}] {sequence.attribute}: {sequence.question} wants {value}, gives {first.text if first else None!r}"
        )
    return float(found)


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.updates", description=__doc__)
    parser.add_argument("--sequences", type=int, default=60, help="of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=tuple(FAMILIES), action="append", help="default: all")
    parser.add_argument("--show", action="store_true", help="print what failed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    embedder = default_embedder(None)
    figures: dict[str, Any] = {}
    for family in options.family or FAMILIES:
        made = sequences(family, options.sequences, options.seed)
        figures[family] = by_memory(made, embedder, show=options.show)
    embedder.close()
    result = reporting.document(
        "quality.updates", given, data={"generated": "benchmarks/quality/updates.py", "sha256": reporting.sha256(Path(__file__))},
        settings={"sequences": options.sequences, "seed": options.seed}, definitions=DEFINITIONS,
        bars=BARS, figures=figures,
    )  # fmt: skip
    for family, found in figures.items():
        reporting.print_table(
            f"updates, {family}", ("figure", "value"), [(k, v) for k, v in found.items() if not isinstance(v, dict)]
        )
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
