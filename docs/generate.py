"""Writes docs/reference/*.md from the signatures and docstrings of the public names; ``--check`` only compares.

The sources are read, not imported: no framework has to be installed.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
NOTE = "<!-- Made by docs/generate.py from the docstrings. Change those, then run it. -->"

# Page, the source it is made from, and the names on it; "*" stands for every public class and function.
PAGES = """
Memory      src/mnemic                       Memory Links Sessions Admin Filters SearchFilters Description AsyncMemory quoted
Adapters    src/mnemic/adapters              ScopeSource bound checked_memory checked_location as_async checked_filters checked_options Thread ThreadMessage with_tools Words Marks words_of sent_at evidence unstored contains Conversation session_messages session_words shown_in_session Recall Count recall_failures_logged hit_metadata remember recall Search forget is_search_answer SessionStart session_start blocking run_of OpenRuns log_rejected Binding bind location_of
Values      src/mnemic/types                 Message Receipt Receipts Hit SearchResult MemoryContext MemorySummary MemoryRecord Episode Link Graph Emotion Event Question Scope SessionView StoredVector
Reports     src/mnemic/types                 ImportReport ProcessReport ConsolidationReport ClusterSummary ConsolidationAdvice Stats LanguageModelStats StageUsage VerifyReport Erasure Purge
Choices     src/mnemic/types                 Kind Mood Status MemoryType LinkType Reach Outcome Evidence Source ImportFormat UNSET Unset
Documents   src/mnemic/documents.py        *
Projects    src/mnemic                       Project project new_session
Settings    src/mnemic                       Settings Processing Consolidator RetentionPolicy Idle IdleTrigger Preferences
Chroma      src/mnemic/indexes/vector/chroma  Chroma
Secrets     src/mnemic/safety/secrets        SecretPolicy SecretAction pieces
Models      src/mnemic/llm                   LanguageModel key_for store_key
Errors      src/mnemic/errors.py             *
Embedders   src/mnemic                       OnnxEmbedder SentenceTransformerEmbedder RemoteEmbedder CachedEmbedder HashingEmbedder
Ranking     src/mnemic                       Recipe Reranker OnnxReranker CrossEncoderReranker
Signals     src/mnemic/recall/recipes.py     dense session_dense answers reply coverage own_coverage said bm25 bm25_window date speaker length person request_length echo question cue importance recency tier graph emotion level
Protocols   src/mnemic/protocols             Embedder Reranker TokenCounter VectorIndex RecordFeed Lock
Testing     src/mnemic/testing               FailingEmbedder PreparedEmbedder message memory_record
Suites      integrations/testing/src         EmbedderSuite VectorIndexSuite AdapterConformance ToolConformance ToolAnswer Script
LangChain   integrations/langchain/src       MnemicMiddleware MnemicRetriever MnemicStore MnemicChatMessageHistory MnemicMemory mnemic_tools MnemicIdleConsolidation
LlamaIndex  integrations/llama_index/src     MnemicChatMemory MnemicMemoryBlock MnemicRetriever MnemicToolSpec MnemicIdleConsolidation
PydanticAI  integrations/pydantic_ai/src     MnemicCapability mnemic_toolset
MCP         integrations/mcp/src             memory_server
"""  # noqa: E501 - a table

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
HIDDEN = re.compile(r"_|test_|model_post_init")
SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Example):")
FIELDS = {"Field", "PrivateAttr", "field"}
EMPTY = {"dict": "{}", "list": "[]", "tuple": "()"}
ITEM = re.compile(r"(\*{0,2}\w+): (.*)")


def definitions(source: Path) -> Iterator[tuple[str, ast.stmt]]:
    """The public top-level statements of a file or of a folder, by the name they define."""
    for path in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.ClassDef, *FUNCTION)) and not HIDDEN.match(node.name):
                yield node.name, node
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                yield ast.unparse(node).partition("=")[0].partition(":")[0].strip(), node


def prose(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """A Google-style docstring as Markdown."""
    section = ""
    for line in [*(ast.get_docstring(node) or "").splitlines(), "", "."]:
        if section == "Example" and not line:
            yield "```"
        if match := SECTION.fullmatch(line):
            section = match[1]
            yield from ("```pycon",) if section == "Example" else (f"**{section}**", "")
        elif not line.startswith("    "):
            section = "" if line or section == "Example" else section
            yield line.removeprefix(".")
        elif section not in ("Returns", "Example") and (item := ITEM.fullmatch(line[4:])):
            yield f"- `{item[1]}`: {item[2]}"
        else:
            yield line[4:] if section in ("Returns", "Example") else f"  {line.strip()}"


def fenced(name: str, given: Sequence[str], end: str = "") -> list[str]:
    """A signature, on one line where it fits."""
    short = [f"{name}({', '.join(given)}){end}"]
    long = [f"{name}(", *(f"    {argument}," for argument in given), f"){end}"]
    return ["```py", *(short if len(short[0]) <= 100 else long), "```", ""]


def arguments(given: ast.arguments) -> list[str]:
    """Each argument as it is written, without self."""
    text = re.sub(r"^(self|cls)(, )?", "", ast.unparse(given))
    return [" = ".join(part.split("=", 1)) for part in re.split(r", (?=\*|\w+: )", text) if part]


def field(node: ast.AnnAssign) -> str:
    """A field of a class as an argument; of ``field(...)`` the default is shown."""
    value = "" if node.value is None else ast.unparse(node.value)
    if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in FIELDS:
        given = {k.arg: ast.unparse(k.value) for k in node.value.keywords}
        made = given.get("default_factory", "").partition("[")[0]
        value = given.get("default") or EMPTY.get(made, made and f"{made}()")
    return f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}" + (f" = {value}" if value else "")


def of_function(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """A function, or a property, which is shown as a value. Overloads and mere references to Memory are left out."""
    decorators = {ast.unparse(d) for d in node.decorator_list}
    if HIDDEN.match(node.name) or "overload" in decorators or (ast.get_docstring(node) or "").startswith("See ``Mem"):
        return
    kind = ast.unparse(node.returns or ast.Constant(None))
    called = "await " * isinstance(node, ast.AsyncFunctionDef) + node.name
    value = ["```py", f"{node.name}: {kind}", "```", ""]
    yield from (f"{'###' if '.' in name else '##'} `{name}`", "")
    yield from value if "property" in decorators else fenced(called, arguments(node.args), f" -> {kind}")
    yield from prose(node)


def of_class(node: ast.ClassDef) -> Iterator[str]:
    """A class: how it is made, what it is, its fields that have a description, its public methods."""
    inside = zip(node.body, [*node.body[1:], None], strict=True)
    held = {field(n): after for n, after in inside if isinstance(n, ast.AnnAssign) and not field(n).startswith("_")}
    made = next((arguments(n.args) for n in node.body if isinstance(n, FUNCTION) and n.name == "__init__"), list[str]())
    alone = ["*"] * any("kw_only" in ast.unparse(d) for d in node.decorator_list)
    made = made or ([*alone, *held] if held else [ast.unparse(base) for base in node.bases])
    yield from (f"## `{node.name}`", "", *fenced(node.name, made))
    yield from prose(node)
    for argument, after in held.items():
        if isinstance(after, ast.Expr):
            yield f"- `{argument.partition(':')[0]}`: {' '.join(ast.literal_eval(after.value).split())}"
    for method in node.body:
        yield from ("", *of_function(f"{node.name}.{method.name}", method)) if isinstance(method, FUNCTION) else ()


def page(title: str, source: str, names: str) -> str:
    """One page."""
    found = dict(reversed([*definitions(ROOT / source)]))
    public = [name for name, node in reversed(found.items()) if isinstance(node, (ast.ClassDef, *FUNCTION))]
    lines = [NOTE, "", f"# {title}", ""]
    for name in public if names == "*" else names.split():
        match found[name]:
            case ast.ClassDef() as node:
                bases = [found[ast.unparse(base)] for base in node.bases if ast.unparse(base) in found]
                inherited = [n for base in bases if isinstance(base, ast.ClassDef) for n in base.body]
                node.body += [n for n in inherited if isinstance(n, FUNCTION)]
                lines += of_class(node)
            case ast.FunctionDef() as node:
                lines += of_function(name, node)
            case node:
                lines += [f"## `{name}`", "", "```py", ast.unparse(node), "```", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).rstrip() + "\n"


def main(words: Sequence[str]) -> int:
    """Write the pages, or say which are out of date."""
    pages = {
        REFERENCE / f"{line.split()[0].lower()}.md": page(*line.split(maxsplit=2)) for line in PAGES.split("\n")[1:-1]
    }
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in words:
        stale += sorted({*REFERENCE.glob("*.md")} - {*pages})
        sys.stderr.writelines(f"{path.name} is out of date. Run: python docs/generate.py\n" for path in stale)
        return int(bool(stale))
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
