//! What a client of the server waits for: the first answer, a read, a search, an edit, a creation, and the memory it
//! costs.
//!
//! On a generated vault of 10,000 notes (or `VAULT_BENCH_NOTES`), in the folder for temporary files (or
//! `VAULT_BENCH_DIR`: writes are measured on that disk). Speaks JSON-RPC over pipes to the release binary, one call at a
//! time; the times include the pipe. The durable floor is measured in between, call by call, with files of the same size
//! in the same folder: write to a temporary file, sync it, rename it over the old one, sync the folder.
//!
//! Leaves out: cold caches, several clients at once.
//!
//! `cargo bench -p vault-mcp --bench stdio`
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench makes a vault and starts a program")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ROUNDS: usize = 400;

fn main() {
    let n_notes = std::env::var("VAULT_BENCH_NOTES").map_or(10_000, |text| text.parse().expect("a number of notes"));
    let home = match std::env::var_os("VAULT_BENCH_DIR") {
        Some(folder) => tempfile::tempdir_in(folder).expect("a folder"),
        None => tempfile::tempdir().expect("a folder"),
    };
    let vault = home.path().join("vault");
    make_vault(&vault, n_notes);
    println!("{n_notes} notes, {ROUNDS} rounds; milliseconds: median, 95th percentile");

    let starts: Vec<Duration> = (0..20).map(|_| Server::start(home.path(), &vault).1).collect();
    show("start to initialize answered", starts);

    let (mut server, _) = Server::start(home.path(), &vault);
    let begin = Instant::now();
    while server.is_behind() {
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("{:34} {:8.2} s", "until the index is there", begin.elapsed().as_secs_f64());
    println!("{:34} {:8.1} MB", "memory at rest", server.resident_mb());
    drop(server);
    let (mut server, _) = Server::start(home.path(), &vault);
    show("first search after a start", vec![server.time("search_notes", json!({"query": "garden"})).1]);
    while server.is_behind() {
        std::thread::sleep(Duration::from_millis(1));
    }
    measure_searches(&mut server, n_notes);
    show(
        "read_note",
        (0..ROUNDS).map(|round| server.time("read_note", json!({"path": note_path(round * 7 % n_notes)})).1).collect(),
    );
    server.time("list_notes", json!({}));
    show(
        "list_notes, 10 rows, nothing changed",
        (0..20).map(|_| server.time("list_notes", json!({"limit": 10})).1).collect(),
    );
    println!("{:34} {:8.1} MB", "memory after a list of all", server.resident_mb());
    measure_edits(&mut server, &vault, n_notes);
    measure_creations(&mut server, &vault);
    println!("{:34} {:8.1} MB", "memory at the end", server.resident_mb());
}

fn measure_searches(server: &mut Server, n_notes: usize) {
    let mut search = |what: &str, query: &dyn Fn(usize) -> String| {
        let ask = |round| server.time("search_notes", json!({"query": query(round), "limit": 10})).1;
        show(what, (0..ROUNDS).map(ask).collect());
    };
    search("search_notes, a rare word", &|round| format!("number{}x", round * 7 % n_notes));
    search("search_notes, a common word", &|_| "garden".into());
    search("search_notes, two words", &|round| format!("garden number{}x", round * 7 % n_notes));
    for (what, pattern, regex) in
        [("grep_notes, one line", "number77x", false), ("grep_notes, a regular expression", "^#+ [A-Z]", true)]
    {
        let grep = |_| server.time("grep_notes", json!({"pattern": pattern, "regex": regex})).1;
        show(what, (0..20).map(grep).collect());
    }
}

fn measure_edits(server: &mut Server, vault: &Path, n_notes: usize) {
    let (mut edits, mut floor) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let path = note_path(round * 13 % n_notes);
        let version = server.time("read_note", json!({"path": path})).0["version"].clone();
        let edit = json!({"path": path, "old_string": "Last line", "new_string": format!("Last line ({round})"), "version": version});
        edits.push(server.time("edit_note", edit).1);
        floor.push(durable_floor(&vault.join(&path)));
    }
    compare("edit_note", edits, floor);
}

fn measure_creations(server: &mut Server, vault: &Path) {
    let (mut creations, mut floor) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let create = json!({"title": format!("New {round}"), "folder": "New", "markdown": text(round, 2_000)});
        let (answer, time) = server.time("create_note", create);
        creations.push(time);
        floor.push(durable_floor(&vault.join(answer["path"].as_str().expect("a path"))));
    }
    compare("create_note", creations, floor);
}

/// Writes a file like `path` beside it and renames it into the place of its predecessor, durably.
fn durable_floor(path: &Path) -> Duration {
    let bytes = fs::read(path).expect("the note");
    let folder = path.parent().expect("a folder");
    let (temp, target) = (folder.join(".floor.tmp"), folder.join(".floor"));
    let start = Instant::now();
    let mut file = File::create(&temp).expect("a temporary file");
    file.write_all(&bytes).expect("room");
    file.sync_all().expect("a sync");
    fs::rename(&temp, &target).expect("a rename");
    File::open(folder).and_then(|folder| folder.sync_all()).expect("a sync");
    start.elapsed()
}

fn compare(what: &str, times: Vec<Duration>, floor: Vec<Duration>) {
    let ratio = median(&times) / median(&floor);
    show(what, times);
    show("  durable floor", floor);
    println!("{:34} {ratio:8.2}", "  ratio of the medians");
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("{what:34} {:8.3} {:8.3}", at(0.5), at(0.95));
}

fn median(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Server {
    fn start(home: &Path, vault: &Path) -> (Server, Duration) {
        let start = Instant::now();
        let mut process = Command::new(env!("CARGO_BIN_EXE_vault-mcp"))
            .args(["--allow", "write,move,delete", "--vault"])
            .arg(vault)
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut server = Server { process, input, output, next_id: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        server.ask("initialize", hello);
        let time = start.elapsed();
        writeln!(server.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect("a pipe");
        (server, time)
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("a pipe");
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("an answer");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == self.next_id {
                return answer["result"].clone();
            }
        }
    }

    fn time(&mut self, tool: &str, arguments: Value) -> (Value, Duration) {
        let start = Instant::now();
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let time = start.elapsed();
        assert_ne!(result["isError"], true, "{result}");
        (result["structuredContent"].clone(), time)
    }

    /// Tells whether the index is not there yet, or not compared with the vault.
    fn is_behind(&mut self) -> bool {
        let answer = self.time("search_notes", json!({"query": "absent", "limit": 1})).0;
        answer["indexing"] == true || answer["stale"] == true
    }

    fn resident_mb(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb = line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse::<f64>().ok());
        kb.map_or(f64::NAN, |kb| kb / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server ends by itself when its input closes; a bench does not wait for that.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn make_vault(root: &Path, n_notes: usize) {
    for number in 0..n_notes {
        let path: PathBuf = root.join(note_path(number));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text(number, 800 + number * 37 % 4_000)).expect("room");
    }
}

fn note_path(number: usize) -> String {
    format!("Area {}/Topic {}/Note {number}.md", number % 10, number / 10 % 20)
}

/// A note with frontmatter, tags, links, headings and a list, of about `size` bytes.
fn text(number: usize, size: usize) -> String {
    const WORDS: [&str; 16] = [
        "garden", "river", "stone", "harvest", "meeting", "budget", "window", "letter", "engine", "winter", "bridge",
        "market", "paper", "signal", "music", "旅行",
    ];
    let word = |place: usize| WORDS[(number * 31 + place * 17 + place * place) % WORDS.len()];
    let mut text = format!(
        "---\nstatus: open\ntags:\n  - {}\n  - area/{}\ncreated: 2026-01-{:02}\n---\n\n# Note {number}\n\nSee [[Note {}]].\n",
        word(1),
        word(2),
        number % 28 + 1,
        number / 2,
    );
    for place in 0.. {
        match place % 40 {
            0 => text.push_str(&format!("\n\n## Part {place}\n\n- item #{}\n\n", word(place))),
            _ => text.push_str(word(place)),
        }
        text.push(' ');
        if text.len() > size {
            break;
        }
    }
    text.push_str(&format!("\n\nThis is number{number}x of all.\n\nLast line\n"));
    text
}
