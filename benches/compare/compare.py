#!/usr/bin/env python3
"""Times vault beside other tools on the same folder of notes, in one run, and prints a table of ratios.

    python3 benches/compare/compare.py --vault DIR [--rounds 20] [--server target/release/vault-mcp]

Needs Python 3.9 with its own SQLite. `rg` and `grep` take part when they are on the path. What is compared:

- making the index: `vault index --rebuild`, and SQLite FTS5 with path, title and body in one transaction;
- a search with ten passages: the server over its pipe, and FTS5 with `snippet()` in this process (no pipe);
- finding lines: the server over its pipe, and whole processes of `rg` and `grep` over the same notes.

Words come from the notes: rare, medium, common, and pairs. Caches are warm; rounds alternate; medians, with the 99th
percentile where it says so. Where the numbers of lines differ, they are shown: the server leaves out header lines that
callers do not see.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time


class Server:
    """A server that is spoken to over its pipe."""

    def __init__(self, program, vault, home):
        env = dict(os.environ, XDG_CACHE_HOME=str(home), XDG_STATE_HOME=str(home))
        self.process = subprocess.Popen(
            [program, "--vault", vault], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )
        self.number = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}}
        self.ask("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]

    def wait_until_fresh(self):
        while {"indexing", "stale"} & self.call("search_notes", query="anything").keys():
            time.sleep(0.01)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def texts(vault):
    for path in sorted(vault.rglob("*.md")):
        if not any(part.startswith(".") for part in path.relative_to(vault).parts):
            yield str(path.relative_to(vault)), path.stem, path.read_text(errors="replace")


def load_fts5(database, vault):
    base = sqlite3.connect(database)
    base.execute("CREATE VIRTUAL TABLE notes USING fts5(path UNINDEXED, title, body)")
    base.executemany("INSERT INTO notes VALUES (?, ?, ?)", texts(vault))
    base.commit()
    return base


def search_fts5(base, query):
    words = " ".join(f'"{word}"' for word in query.split())
    sql = "SELECT path, snippet(notes, 2, '', '', '…', 30) FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 0, 6, 1) LIMIT 10"
    return base.execute(sql, (words,)).fetchall()


def words_of(vault, seed=1):
    """Rare, medium and common words, and pairs that stand side by side."""
    counts, pairs = collections.Counter(), []
    for _, _, text in texts(vault):
        words = re.findall(r"[a-z]{4,12}", text)
        counts.update(set(words))
        pairs.extend(list(zip(words, words[1:]))[:1])
    chance, ranked = random.Random(seed), [word for word, _ in counts.most_common()]
    n = len(ranked)
    groups = {"common": ranked[: n // 500 + 5], "medium": ranked[n // 100 : n // 20 + 5], "rare": ranked[n // 2 :]}
    chosen = {name: chance.sample(words, min(20, len(words))) for name, words in groups.items()}
    return chosen | {"pairs": [" ".join(pair) for pair in chance.sample(pairs, min(20, len(pairs)))]}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--vault", required=True, type=pathlib.Path)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--server", default="target/release/vault-mcp")
    options = options.parse_args()
    home = pathlib.Path(tempfile.mkdtemp())
    vault, rows = str(options.vault), []

    def row(what, ours, other, theirs, unit=1000, name="ms"):
        rows.append(f"| {what} | {ours * unit:.2f} {name} | {other} {theirs * unit:.2f} {name} | {ours / theirs:.2f} |")

    command = str(pathlib.Path(options.server).with_name("vault"))
    env = dict(os.environ, XDG_CACHE_HOME=str(home), XDG_STATE_HOME=str(home))
    rebuild = lambda: subprocess.run([command, "--vault", vault, "index", "--rebuild"], env=env, check=True, stdout=subprocess.DEVNULL)
    ours, (theirs, base) = timed(rebuild)[0], timed(lambda: load_fts5(home / "fts5", options.vault))
    row("making the index", ours, "FTS5", theirs, 1, "s")

    server = Server(options.server, vault, home)
    server.wait_until_fresh()
    words = words_of(options.vault)
    for kind, queries in words.items():
        ours, theirs = [], []
        for _ in range(options.rounds):
            for query in queries:
                ours.append(timed(lambda: server.call("search_notes", query=query, limit=10))[0])
                theirs.append(timed(lambda: search_fts5(base, query))[0])
        row(f"search, {kind}, median", statistics.median(ours), "FTS5", statistics.median(theirs))
        row(f"search, {kind}, 99 %", statistics.quantiles(ours, n=100)[98], "FTS5", statistics.quantiles(theirs, n=100)[98])

    others = {
        "rg": ["rg", "--no-config", "--no-messages", "-n", "-g", "*.md"],
        "grep": ["grep", "-rnE", "--include=*.md", "--exclude-dir=.?*"],
    }
    patterns = {
        "a rare word": words["rare"][0],
        "a common word": words["common"][0],
        "a regular expression, rare": words["rare"][1][:-1] + "[a-z]+",
        "a regular expression, common": words["common"][1][:3] + "[a-z]*[^a-z]",
        "most lines": "e",
    }
    for what, pattern in patterns.items():
        ask = lambda: server.call("grep_notes", pattern=pattern, regex=True, includeArchived=True)
        for name, arguments in others.items():
            if not shutil.which(name):
                continue
            run = lambda: subprocess.run([*arguments, pattern, "."], cwd=vault, stdout=subprocess.PIPE, check=False).stdout
            n_rounds = max(3, options.rounds // 3)
            ours, theirs = zip(*[(timed(ask), timed(run)) for _ in range(n_rounds)])
            n_ours, n_theirs = ours[0][1]["totalMatches"], theirs[0][1].count(b"\n")
            note = "" if n_ours == n_theirs else f" ({n_ours} and {n_theirs} lines)"
            row(what + note, statistics.median(t for t, _ in ours), name, statistics.median(t for t, _ in theirs))
    server.close()
    base.close()
    shutil.rmtree(home)
    print("| what | vault | other | ratio |\n| --- | --: | --: | --: |")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
