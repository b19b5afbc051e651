"""Help texts of ``mnemic COMMAND --help``: a description and examples."""

from __future__ import annotations

__all__ = ["ENDING", "HELP", "OVERVIEW", "SUMMARIES"]

OVERVIEW = """\
Long-term memory in a folder, from the shell.

examples:
  mnemic add "I moved to Lisbon." --session s1   store one message
  mnemic import chat.json                        import a conversation
  mnemic remember "Prefers tea" --tag drinks     store one statement
  mnemic process                                 extract episodes and memories from messages
  mnemic search "where does she live?" -k 5      find messages and memories
  mnemic context "where does she live?"          the same as text for a prompt
  mnemic list --order importance                 list memories
  mnemic forget "my schedule preferences"        forget them; mnemic restore undoes it
  mnemic doctor --deep                           check everything
"""

ENDING = """\
The options of the memory (--dir, --user ...) may stand before or after the command.
exit codes: 0 success; 1 nothing found, something not imported, or findings; 2 wrong usage or an error.
"""

SUMMARIES = {
    "add": "store one message",
    "import": "import a file of messages or memories",
    "remember": "store one statement",
    "process": "extract episodes and memories from messages",
    "search": "find messages and memories",
    "context": "text for a prompt",
    "list": "list memories, in order",
    "episodes": "list episodes, in order",
    "show": "show one record with its sources and links",
    "graph": "show the memories linked with one",
    "link": "link one memory to another",
    "unlink": "remove links",
    "forget": "forget or erase records",
    "restore": "restore forgotten records",
    "consolidate": "promote important memories, merge equivalent ones",
    "undo": "undo a consolidation",
    "log": "show the history of the memories",
    "prefer": "read or set a preference",
    "end-session": "store a summary of a conversation",
    "retire": "archive expired and surplus records",
    "stats": "count records, or plot them",
    "users": "list the users of the record",
    "reembed": "compute all vectors again",
    "export": "write a user's memory to a file",
    "backup": "copy the whole record while it is in use",
    "restore-backup": "create a memory from a backup",
    "migrate": "copy a record to another folder or to PostgreSQL",
    "doctor": "check installation and record",
    "hook": "hooks for coding agents and git",
    "keys": "store API keys",
}
"""One line per command, in the order of the help."""

HELP = {
    "add": """\
Store one message, verbatim. Without TEXT, or with -, it is read from stdin. When the command ends, the message is on
disk and can be found. Exit code 1 if it is rejected.

examples:
  mnemic add "I moved to Lisbon." --name Ana --session s1
  mnemic add "How do you like it?" --role assistant --session s1
  git log -1 --format=%B | mnemic add --role tool --project atlas
""",
    "import": """\
Import a JSON or JSONL file, with its dates: messages verbatim, memories as memories.

formats (detected, unless --format names one):
  messages     a list, or lines, of {"role", "content", "name"?, "sent_at"?, "id"?, "session"?, "metadata"?}
  langchain    messages_to_dict(messages), or a list of dumpd(message)
  llama-index  a list of ChatMessage.model_dump(mode="json"), or a stored SimpleChatStore
  locomo       one LoCoMo conversation, or a list of them
  mem0         the result of get_all() of mem0, or points of its Qdrant collection
  langgraph    items of a LangGraph store, including LangMem: {"namespace", "key", "value", "created_at" ...}
  mnemic       an export of mnemic, for a user without records

Importing a file twice stores nothing twice: a missing message id is derived from text, speaker, time and session. Messages
without a session belong to --session, else to one named after the file. Memories keep their ids with the prefix "mem0:" or
"langgraph:", and --user-from names the field of their user. Damaged parts are listed; exit code 1 then.

examples:
  mnemic import chat.json --user ana
  mnemic import mem0.json --user-from user_id --dry-run
  mnemic import store.jsonl --format langgraph --user-from namespace.1 --only ana
  mnemic --dir ./notes import export.jsonl --format messages --timezone Europe/Lisbon
  mnemic --dir ./copy import ana.jsonl --format mnemic --user ana
""",
    "remember": """\
Store one statement as a memory. Without TEXT, or with -, it is read from stdin. It supersedes an earlier statement with the
same --key, or if it clearly gives a new value of the same attribute; the earlier one expires and is kept. Exit code 1 if it
is rejected.

examples:
  mnemic remember "Prefers morning meetings" --key meetings.time --tag schedule --category preference
  mnemic remember "The API runs on port 9000." --project atlas --importance 0.9
  mnemic remember "Deploy with make release" --type procedural --source-id m17
""",
    "process": """\
Extract episodes and new memories from unprocessed messages. Safe to interrupt and to repeat. Needs no language model; --llm
names one for better results.

examples:
  mnemic process
  mnemic process --limit 200
  mnemic process --llm anthropic:claude-haiku-4-5
""",
    "search": """\
Find messages and memories, best first. Exit code 1 if nothing is found.

examples:
  mnemic search "what does Ana drink?"
  mnemic search "the lease" --since 2026-03-01 --until 2026-04-01 -k 3
  mnemic search "where does Ana live?" --kinds memory --at 2024-06-01      true at that time
  mnemic search "which port?" --known-at 2026-01-01                        known at that time
  mnemic search "the lease" --session s5 --json
  mnemic search "her shoe size" --min-evidence weak || echo "I do not know"
""",
    "context": """\
Print memories as text for a prompt, within a token budget. Without a query: the context for a new session.

examples:
  mnemic context "plan her birthday" --max-tokens 500
  mnemic context > memory.txt
""",
    "list": """\
List memories, or with --kind messages or episodes, in order, with their ids. Exit code 1 if there are none.

examples:
  mnemic list                                    the newest
  mnemic list --order importance --limit 10
  mnemic list --type procedural --tag release
  mnemic list --kind message --order oldest      messages, oldest first
  mnemic list --include-expired                  also memories that are no longer valid or were superseded
  mnemic list --status archived                  forgotten and merged memories
""",
    "episodes": """\
List the episodes of messages, by start. Exit code 1 if there are none.

examples:
  mnemic episodes
  mnemic episodes --since 2026-03-01 --limit 5
""",
    "show": """\
Show one record, forgotten or not: a message, an episode or a memory, with its sources, the records derived from it, its
links and its history.

examples:
  mnemic show m17
  mnemic show mem_0f8fad5bd9cb469fa16570867728950e --json
""",
    "graph": """\
Show the memories within --depth links of one as a tree. An arrow to the right is a link from the memory above, an arrow to
the left a link to it.

examples:
  mnemic graph mem_0f8f
  mnemic graph mem_0f8f --depth 1 --type contradicts --type supersedes
  mnemic graph mem_0f8f --json
""",
    "link": """\
Link one memory to another; an existing link gets the new strength and reason. supersedes also expires TARGET.

examples:
  mnemic link mem_0f8f mem_77aa extends
  mnemic link mem_0f8f mem_77aa contradicts --strength 0.8 --reason "two ports for one service"
""",
    "unlink": """\
Remove the links from one memory to another, of one type or of all. Exit code 1 if there were none.

examples:
  mnemic unlink mem_0f8f mem_77aa
  mnemic unlink mem_0f8f mem_77aa --type contradicts
""",
    "forget": """\
Remove records from search and listings: those that clearly match a description, by words or meaning, or those named by --id.
Records that only resemble the description, or say something else as well, are printed and kept. mnemic restore undoes it.
--hard with a description erases at most 5 records. Exit code 1 if nothing was forgotten.

examples:
  mnemic forget "my schedule preferences"
  mnemic forget --dry-run "everything about Eva"    preview
  mnemic forget --id mem_0f8f --id m17 --reason "said in jest"
  mnemic forget --hard --id m17                  erase it and everything derived from it, for good
  mnemic forget --hard --everything --yes        erase all records of the user
""",
    "restore": """\
Restore forgotten records. Exit code 1 if one of them cannot be restored.

example:
  mnemic restore mem_0f8f m17
""",
    "consolidate": """\
Run one consolidation: important memories become long-term, equivalent ones are merged. Memories that differ in a number, a
date, a name or a negation are never merged. mnemic undo reverts it. --advice only reports whether there is enough to do, with
exit code 1 if there is not.

examples:
  mnemic consolidate --dry-run
  mnemic consolidate --advice && mnemic consolidate
  mnemic consolidate --importance-threshold 0.5 --similarity-threshold 0.9 --min-age-hours 24
""",
    "undo": """\
Undo the promotions, archivings and links of a consolidation. Its id is in the report.

example:
  mnemic undo con_0f8fad5b
""",
    "log": """\
The history of all memories of one user, newest first: remembered, superseded, linked, forgotten, restored, promoted. With an
id: the history of that record, of any kind.

examples:
  mnemic log
  mnemic log --limit 100 --json
  mnemic log --all                               messages and episodes too
  mnemic log mem_0f8f
""",
    "prefer": """\
Read or set preferences, of --project or else of the user. Earlier values stay in the record. VALUE is parsed as JSON if
possible, else it is a text. Exit code 1 if there is no such preference.

examples:
  mnemic prefer
  mnemic prefer theme dark
  mnemic prefer indent 4 --project atlas
  mnemic prefer theme --remove
""",
    "end-session": """\
Process the conversation of --session and keep a summary of it for a week: topics, tools, number of messages. mnemic context
includes it for a new session. Exit code 1 if there are no messages.

example:
  mnemic end-session --session s1
""",
    "retire": """\
Archive memories whose lifetime is over and, if limits are given, old messages and surplus memories. Sources of live memories
are kept. mnemic restore undoes it.

examples:
  mnemic retire
  mnemic retire --message-days 365
  mnemic retire --memory-limit 5000
""",
    "stats": """\
Count the records of one user, and the size of the whole record; mnemic users lists the users. --plot also draws the number of
memories by tier over time, and the emotions of messages and memories. Needs: pip install "mnemic[plot]"

examples:
  mnemic stats --user ana
  mnemic stats --plot memory.svg
""",
    "users": """\
List the users of the whole record, oldest first, with the number of messages and memories and the last write. Exit code 1 if
there are none.

examples:
  mnemic users
  mnemic users --json
  mnemic --dir ~/.mnemic users
""",
    "reembed": """\
Compute all vectors of the record again with the embedder of --embedder, for all users. Searches continue in the meantime; an
interrupted run is resumed by the next.

examples:
  mnemic reembed
  mnemic reembed --embedder openai:text-embedding-3-small
""",
    "export": """\
Write all records of one user to a JSONL file: messages, episodes, memories with their lineage, times, statuses and versions,
and links. mnemic import FILE --format mnemic imports it into another folder or under another name; exporting that again gives
the same bytes. Vectors are computed again on import, unless --vectors includes them. The file is readable by its owner only;
an existing one is overwritten only with --force. With - it goes to stdout.

examples:
  mnemic export ana.jsonl --user ana
  mnemic export - --user ana | gzip > ana.jsonl.gz
""",
    "backup": """\
Copy the whole record with all users to a new folder while it is in use, and verify the copy. Nothing is overwritten. The
folder is a complete memory; records erased later stay in it.

examples:
  mnemic backup ~/backups/memory-2026-11-22
  mnemic --dir ./notes backup ~/backups/notes
""",
    "restore-backup": """\
Create a memory from a backup in the folder of --dir, which must not contain one: move a damaged folder away first. The backup
is verified and kept. (mnemic restore restores single forgotten records.)

examples:
  mnemic --dir ./memory restore-backup ~/backups/memory-2026-11-22
""",
    "migrate": """\
Copy a whole record with all users from a folder to PostgreSQL, back, or to another store of the same kind. Rows are copied
unchanged, with versions, events and vectors: nothing is embedded again. An interrupted run is resumed by the next. At the end
all rows are compared, and both stores verified. The source is not changed, and must not be written to in the meantime.

examples:
  mnemic migrate --from ./memory --to postgresql://localhost/app
  mnemic migrate --from "postgresql://localhost/app?schema=mnemic" --to ./memory
""",
    "doctor": """\
Check the installation and the record: versions, embedder and its weights, tokenizer, every invariant of the memory.
Exit code 1 if there are findings. Works without a memory, too.

examples:
  mnemic doctor
  mnemic doctor --deep        also reads every page and text, lists records with secrets, and runs the embedder once
  mnemic doctor --fix         repairs what is safe: full text, missing vectors, entries of missing records. A backup is
                              written next to the folder first (for a server, run pg_dump); texts, lineage and links
                              are never changed
""",
    "hook": """\
Hooks for coding agents and git. The agent's JSON is read from stdin; its folder determines the project, unless --project names
one or is off. The memory is in --dir, $MNEMIC_DIR, else ~/.mnemic, as for mnemic-mcp. Errors are printed on stderr, and the
exit code is 0: a hook never stops its caller.

moments:
  session-start  print the context for a new session
  pre-compact    store the new messages of the transcript
  post-commit    remember the last commit
  instructions   print instructions for CLAUDE.md or AGENTS.md

examples:
  mnemic hook session-start --max-tokens 1000
  mnemic hook pre-compact --user ana
  mnemic hook post-commit --project off
  mnemic hook instructions | tee -a CLAUDE.md
""",
    "keys": """\
Store the API key of a provider of language models in the keyring of this machine. The key is entered without echo, or read
from a pipe; it is never written to a file, logged or shown. A key in the environment (OPENAI_API_KEY etc.) takes precedence.
Needs: pip install "mnemic[keyring]"

examples:
  mnemic keys set anthropic
  pass show openai | mnemic keys set openai
""",
}
"""The help text of every command."""
