"""What ``mnemic COMMAND --help`` says: what a command does, and examples of it."""

from __future__ import annotations

__all__ = ["ENDING", "HELP", "OVERVIEW", "SUMMARIES"]

OVERVIEW = """\
Long-term memory in a folder, from the shell.

examples:
  mnemic add "I moved to Lisbon." --session s1   store one message
  mnemic import chat.json                        take a conversation in
  mnemic remember "Prefers tea" --tag drinks     store one statement
  mnemic process                                 make episodes and memories of what was said
  mnemic search "where does she live?" -k 5      find what was said
  mnemic context "where does she live?"          the same as text for a prompt
  mnemic list --order importance                 what is known
  mnemic forget "my schedule preferences"        take it out; mnemic restore brings it back
  mnemic doctor --deep                           is everything in order?
"""

ENDING = """\
The options of the memory (--dir, --user ...) may stand before or after the command.
exit codes: 0 fine; 1 nothing found, something not taken in, or findings; 2 wrong usage or an error.
"""

SUMMARIES = {
    "add": "store one message",
    "import": "take a file of messages or memories in",
    "remember": "store one statement",
    "process": "make episodes and memories of messages",
    "search": "find what was said",
    "context": "text for a prompt",
    "list": "the memories, in order",
    "episodes": "the episodes, in order",
    "show": "one record, and where it comes from",
    "graph": "the memories linked with one",
    "link": "link one memory to another",
    "unlink": "remove links",
    "forget": "take records out",
    "restore": "bring forgotten records back",
    "consolidate": "keep what matters, merge what says the same",
    "undo": "take a consolidation back",
    "log": "what happened to the memories",
    "prefer": "read or set a preference",
    "end-session": "keep a summary of a conversation",
    "retire": "archive what has had its time",
    "stats": "count what is there, or draw it",
    "users": "whose memories are there",
    "reembed": "make every vector anew",
    "export": "write a user's memory into a file",
    "backup": "copy the whole record while it is in use",
    "restore-backup": "make a memory of a backup",
    "migrate": "move a record to another folder or to PostgreSQL",
    "doctor": "check installation and record",
    "hook": "what coding agents and git run",
    "keys": "store API keys",
}
"""The commands in the order of the help, with one line for each."""

HELP = {
    "add": """\
Store one message, verbatim. Without TEXT, or with -, it is read from stdin. When the command ends, the message is on
disk and is found. Exit code 1 when it is rejected.

examples:
  mnemic add "I moved to Lisbon." --name Ana --session s1
  mnemic add "How do you like it?" --role assistant --session s1
  git log -1 --format=%B | mnemic add --role tool --project atlas
""",
    "import": """\
Take a JSON or JSONL file in, with its dates: messages verbatim, memories as memories.

formats (told by their shape, unless --format names one):
  messages     a list, or lines, of {"role", "content", "name"?, "sent_at"?, "id"?, "session"?, "metadata"?}
  langchain    messages_to_dict(messages), or a list of dumpd(message)
  llama-index  a list of ChatMessage.model_dump(mode="json"), or a stored SimpleChatStore
  locomo       one LoCoMo conversation, or a list of them
  mem0         what get_all() of mem0 gives, or points of its Qdrant collection
  langgraph    items of a LangGraph store, LangMem's among them: {"namespace", "key", "value", "created_at" ...}
  mnemic       what mnemic export wrote, read back into a user who has nothing yet

Importing the same file twice stores nothing twice: messages without an id get one made of their text, speaker, time and
session. Messages that name no session belong to --session, else to one named after the file. Memories keep their ids
behind "mem0:" or "langgraph:", and --user-from says whose each is. What is damaged is named; exit code 1 then.

examples:
  mnemic import chat.json --user ana
  mnemic import mem0.json --user-from user_id --dry-run
  mnemic import store.jsonl --format langgraph --user-from namespace.1 --only ana
  mnemic --dir ./notes import export.jsonl --format messages --timezone Europe/Lisbon
  mnemic --dir ./copy import ana.jsonl --format mnemic --user ana
""",
    "remember": """\
Store one statement as a memory. Without TEXT, or with -, it is read from stdin. With the same --key, or where it plainly
gives another value of the same thing, it takes the place of an earlier statement, which ends and is kept. Exit code 1 when it
is rejected.

examples:
  mnemic remember "Prefers morning meetings" --key meetings.time --tag schedule --category preference
  mnemic remember "The API runs on port 9000." --project atlas --importance 0.9
  mnemic remember "Deploy with make release" --type procedural --source-id m17
""",
    "process": """\
Make knowledge of the messages that wait: episodes, and memories of what was not known before. Safe to interrupt and to
call again. Needs no language model; --llm names one that does it better.

examples:
  mnemic process
  mnemic process --limit 200
  mnemic process --llm anthropic:claude-haiku-4-5
""",
    "search": """\
Find messages and memories, best first. Exit code 1 when nothing is found.

examples:
  mnemic search "what does Ana drink?"
  mnemic search "the lease" --since 2026-03-01 --until 2026-04-01 -k 3
  mnemic search "where does Ana live?" --kinds memory --at 2024-06-01      what was true then
  mnemic search "which port?" --known-at 2026-01-01                        what was believed then
  mnemic search "the lease" --session s5 --json
  mnemic search "her shoe size" --min-evidence weak || echo "I do not know"
""",
    "context": """\
Print what is remembered as text for a prompt, within a budget of tokens. Without a query: what a new session
should know.

examples:
  mnemic context "plan her birthday" --max-tokens 500
  mnemic context > memory.txt
""",
    "list": """\
List memories, or with --kind messages or episodes, in order, not ranked, each with the id that the other commands take.
Exit code 1 when there is none.

examples:
  mnemic list                                    the newest
  mnemic list --order importance --limit 10
  mnemic list --type procedural --tag release
  mnemic list --kind message --order oldest      what was said, in order of time
  mnemic list --include-expired                  also what is no longer true or no longer believed
  mnemic list --status archived                  what was forgotten or merged
""",
    "episodes": """\
List the episodes that were made of messages, in the order they began. Exit code 1 when there is none.

examples:
  mnemic episodes
  mnemic episodes --since 2026-03-01 --limit 5
""",
    "show": """\
Show one record, forgotten or not: a message, an episode or a memory, what it was made from, what was made from it, its
links, and what happened to it.

examples:
  mnemic show m17
  mnemic show mem_0f8fad5bd9cb469fa16570867728950e --json
""",
    "graph": """\
Draw the memories within so many links of one as a tree. An arrow to the right is a link that begins at the memory above,
an arrow to the left one that leads to it.

examples:
  mnemic graph mem_0f8f
  mnemic graph mem_0f8f --depth 1 --type contradicts --type supersedes
  mnemic graph mem_0f8f --json
""",
    "link": """\
Link one memory to another; the same link again takes the new strength and reason. supersedes also ends the time of TARGET:
it is no longer believed.

examples:
  mnemic link mem_0f8f mem_77aa extends
  mnemic link mem_0f8f mem_77aa contradicts --strength 0.8 --reason "two ports for one service"
""",
    "unlink": """\
Remove the links from one memory to another, of one type or of all. Exit code 1 when there was none.

examples:
  mnemic unlink mem_0f8f mem_77aa
  mnemic unlink mem_0f8f mem_77aa --type contradicts
""",
    "forget": """\
Take records out of every search and listing: those that clearly bear on a description, by words or by meaning, or those
that --id names. What only resembles the description, or says something else as well, is printed and stays. Nothing is lost:
mnemic restore brings it back. --hard by a description erases 5 records at most. Exit code 1 when nothing went.

examples:
  mnemic forget "my schedule preferences"
  mnemic forget --dry-run "everything about Eva"    see what would go and what would stay
  mnemic forget --id mem_0f8f --id m17 --reason "said in jest"
  mnemic forget --hard --id m17                  erase it, and all that was made from it, for good
  mnemic forget --hard --everything --yes        erase all that the user has
""",
    "restore": """\
Bring forgotten records back. Exit code 1 when one of them does not come back.

example:
  mnemic restore mem_0f8f m17
""",
    "consolidate": """\
One cycle of consolidation: what matters becomes long-term, what says the same is kept once. What differs in a number, a
date, a name or a negation is never merged. mnemic undo takes it back. --advice only says whether there is enough to do,
with exit code 1 when there is not.

examples:
  mnemic consolidate --dry-run
  mnemic consolidate --advice && mnemic consolidate
  mnemic consolidate --importance-threshold 0.5 --similarity-threshold 0.9 --min-age-hours 24
""",
    "undo": """\
Take back what a consolidation promoted, archived and linked. Its id stands in the report.

example:
  mnemic undo con_0f8fad5b
""",
    "log": """\
What happened to the memories of one user, newest first: remembered, superseded, linked, forgotten, restored, promoted.
With an id: the history of that record, of any kind.

examples:
  mnemic log
  mnemic log --limit 100 --json
  mnemic log --all                               messages and episodes too
  mnemic log mem_0f8f
""",
    "prefer": """\
Read or set preferences, at the level of --project or else of the user. An earlier value stays in the record. VALUE is read as
JSON where it is JSON, else it is a text. Exit code 1 when there is no such preference.

examples:
  mnemic prefer
  mnemic prefer theme dark
  mnemic prefer indent 4 --project atlas
  mnemic prefer theme --remove
""",
    "end-session": """\
Process the conversation that --session names and keep a summary of it for a week: topics, tools, how much was said. A new
session is offered it by mnemic context. Exit code 1 when nothing was said.

example:
  mnemic end-session --session s1
""",
    "retire": """\
Archive what has had its time: memories whose lifetime is over and, where a limit is given, old messages and memories that are
too many. Nothing goes that a live memory was made from. mnemic restore brings it back.

examples:
  mnemic retire
  mnemic retire --message-days 365
  mnemic retire --memory-limit 5000
""",
    "stats": """\
Count what one user has, and the size of the whole record; mnemic users says who there is. --plot also draws how many memories
were in each tier over time, and what messages and memories feel like. Needs: pip install "mnemic[plot]"

examples:
  mnemic stats --user ana
  mnemic stats --plot memory.svg
""",
    "users": """\
List the users of the whole record, in the order they came, with messages, memories and the last write of each. Exit code 1
when there is none.

examples:
  mnemic users
  mnemic users --json
  mnemic --dir ~/.mnemic users
""",
    "reembed": """\
Make every vector of the record anew with the embedder that --embedder names, for all users. Searches go on meanwhile;
interrupted, it goes on where it stopped when called again.

examples:
  mnemic reembed
  mnemic reembed --embedder openai:text-embedding-3-small
""",
    "export": """\
Write all that one user has into a JSONL file: messages, episodes, memories with their lineage, clocks, statuses and
versions, and links. mnemic import FILE --format mnemic reads it back, into another folder or under another name; exporting
that again gives the same bytes. Vectors are left out and made again on import, unless --vectors takes them along.
The file is readable by its owner alone; one that exists is overwritten only with --force. With - it goes to stdout.

examples:
  mnemic export ana.jsonl --user ana
  mnemic export - --user ana | gzip > ana.jsonl.gz
""",
    "backup": """\
Copy the whole record, all its users, into a new folder while it is in use, and verify the copy. Nothing is overwritten. The
folder is a memory of its own; it holds everything that is there now, and what is erased later stays in it.

examples:
  mnemic backup ~/backups/memory-2026-11-22
  mnemic --dir ./notes backup ~/backups/notes
""",
    "restore-backup": """\
Make a memory of a backup, in the folder that --dir names, where there must be none: move a damaged one away first, whole. The
backup is verified and stays. (mnemic restore brings single forgotten records back.)

examples:
  mnemic --dir ./memory restore-backup ~/backups/memory-2026-11-22
""",
    "migrate": """\
Move a whole record, all its users, from a folder to PostgreSQL, back, or to another place of the same kind. Rows are copied as
they are, with versions, events and vectors: nothing is embedded again. Interrupted or killed, it goes on when it is run again.
At the end all rows are compared, and both places verified. The source stays as it is; nothing may write to it meanwhile.

examples:
  mnemic migrate --from ./memory --to postgresql://localhost/app
  mnemic migrate --from "postgresql://localhost/app?schema=mnemic" --to ./memory
""",
    "doctor": """\
Check the installation and the record: versions, embedder and its weights, tokenizer, every invariant of the memory.
Exit code 1 when something is wrong. Works without a memory, too.

examples:
  mnemic doctor
  mnemic doctor --deep        also reads every page and every text, names records that hold secrets, and runs the embedder once
  mnemic doctor --fix         puts right what is safe: full text, missing vectors, entries of records that are gone. A
                              backup is written beside the folder first (of a server: pg_dump is yours to run); texts,
                              lineage and links are never touched
""",
    "hook": """\
What coding agents and git run at certain moments. The agent's JSON is read from stdin; its folder says which project it is,
unless --project names one or is off. The memory is in --dir, $MNEMIC_DIR, else ~/.mnemic, as for mnemic-mcp. Whatever goes
wrong is told on stderr, and the exit code is 0: a hook never stops the work it is part of.

moments:
  session-start  print what a new session should know
  pre-compact    store the messages of the transcript that are not stored yet
  post-commit    remember the commit that was just made
  instructions   print what to put into CLAUDE.md or AGENTS.md

examples:
  mnemic hook session-start --max-tokens 1000
  mnemic hook pre-compact --user ana
  mnemic hook post-commit --project off
  mnemic hook instructions | tee -a CLAUDE.md
""",
    "keys": """\
Store the API key of a provider of language models in the keyring of this machine. The key is asked for without echo, or read
from a pipe; it is never written to a file, logged or shown. A key in the environment (OPENAI_API_KEY and the like) comes first.
Needs: pip install "mnemic[keyring]"

examples:
  mnemic keys set anthropic
  pass show openai | mnemic keys set openai
""",
}
"""The description of every command."""
