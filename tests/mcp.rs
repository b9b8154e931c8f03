//! The real server, spoken to as clients do: lines of JSON on its standard streams.
//!
//! Every line that a server prints must parse; each session checks that for all its lines.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there, helpers included")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test makes files, starts programs and looks at what they left"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vault_core::limits::LOCK_WAIT;

mod support;

use support::{Finished, Place};

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every revision with a handshake.
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const STATELESS: &str = "2026-07-28";

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    let place = garden();
    for revision in HANDSHAKES {
        let mut server = place.server(&[]);
        let answer = server.initialize(revision);
        assert_eq!(answer["protocolVersion"], revision);
        assert_eq!(answer["serverInfo"]["name"], "vault-mcp");
        assert_eq!(answer["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(server.read("Fern.md")["structuredContent"]["title"], "Fern");
        assert!(server.end().success());
    }
}

#[test]
fn a_client_that_asks_for_an_unknown_revision_gets_the_newest_with_a_handshake() {
    let place = garden();
    for revision in ["1999-01-01", "2099-01-01", STATELESS] {
        assert_eq!(place.server(&[]).initialize(revision)["protocolVersion"], "2025-11-25");
    }
}

#[test]
fn the_stateless_revision_needs_no_handshake() {
    let place = garden();
    let mut server = place.server(&[]);
    let discovered = server.ask("server/discover", stateless(json!({})))["result"].take();
    assert!(discovered["supportedVersions"].as_array().unwrap().contains(&json!(STATELESS)));
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "vault-mcp");
    let list = server.ask("tools/list", stateless(json!({})))["result"].take();
    assert_eq!(
        (&list["resultType"], &list["cacheScope"], &list["ttlMs"]),
        (&json!("complete"), &json!("private"), &json!(0))
    );
    let call = stateless(json!({"name": "read_note", "arguments": {"path": "Fern.md"}}));
    let read = server.ask("tools/call", call)["result"].take();
    assert_eq!(read["structuredContent"]["title"], "Fern");
    assert!(server.end().success());
}

#[test]
fn a_client_may_probe_first_and_then_shake_hands() {
    let place = garden();
    let mut server = place.server(&[]);
    server.ask("server/discover", stateless(json!({})));
    server.notify("notifications/cancelled", json!({"requestId": 1}));
    assert_eq!(server.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
    server.read("Fern.md");
}

#[test]
fn both_eras_see_the_same_tools() {
    let place = garden();
    let with_handshake = place.hello(&["--allow", "write"]).tools();
    let mut server = place.server(&["--allow", "write"]);
    let without = server.ask("tools/list", stateless(json!({})))["result"]["tools"].take();
    assert_eq!(with_handshake, without);
}

#[test]
fn notifications_before_the_first_request_do_no_harm() {
    let place = garden();
    let mut server = place.server(&[]);
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/unknown", "$/setTrace"] {
        server.notify(method, json!({"requestId": 1}));
    }
    server.initialize("2025-11-25");
    server.read("Fern.md");
}

#[test]
fn the_end_of_input_ends_the_server_at_any_moment() {
    let place = garden();
    assert!(place.server(&[]).end().success(), "before anything was said");
    assert!(place.hello(&[]).end().success(), "after the handshake");
    let mut server = place.hello(&[]);
    server.write(br#"{"jsonrpc":"2.0","id":1,"meth"#);
    assert!(server.end().success(), "inside a line");
}

#[test]
fn what_was_asked_before_the_end_of_input_is_answered() {
    let place = garden();
    let mut server = place.hello(&[]);
    for id in 100..200 {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
    }
    server.read_to_the_end();
    let ids = server.seen.iter().filter_map(|message| message["id"].as_i64());
    let mut answered: Vec<i64> = ids.filter(|id| *id >= 100).collect();
    answered.sort_unstable();
    assert_eq!(answered, (100..200).collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn signals_end_the_server_in_good_order() {
    let place = garden();
    for signal in ["TERM", "INT"] {
        let silent = place.server(&[]);
        let mut talking = place.hello(&[]);
        talking.read("Fern.md");
        for mut server in [talking, silent] {
            server.wait_until_it_listens();
            let pid = server.child.id().to_string();
            assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
            assert!(server.exit().success(), "SIG{signal}");
        }
    }
}

#[test]
fn a_client_that_stops_reading_ends_the_server() {
    let place = garden();
    let mut command = place.server_command(&[]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    // More than one: a process that another test begins at this moment may hold the other end for an instant.
    while writeln!(input, "{hello}").is_ok() {}
    assert!(wait(child).success());
}

#[cfg(unix)]
#[test]
fn a_client_that_is_gone_is_not_waited_for() {
    let place = garden();
    place.vault(&["create-folder", "Beds"]).well();
    let lock = fs::File::options().write(true).open(place.vault_folder().join(".vault/lock")).unwrap();
    lock.lock().unwrap();
    let mut child =
        place.server_command(&["--allow", "write"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let call = stateless(json!({"name": "create_note", "arguments": {"title": "Shade"}}));
    let begin = Instant::now();
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})).unwrap();
    drop((input, child.stdout.take()));
    assert!(wait(child).success());
    assert!(begin.elapsed() < LOCK_WAIT, "it noticed only when it answered");
}

#[cfg(unix)]
#[test]
fn sockets_and_files_serve_as_well_as_pipes() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let place = garden();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let pong = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    for output_is_socket in [true, false] {
        let (mut to_server, input) = UnixStream::pair().unwrap();
        let (from_server, output) = UnixStream::pair().unwrap();
        let mut command = place.server_command(&[]);
        command.stdin(OwnedFd::from(input));
        command.stdout(if output_is_socket { OwnedFd::from(output).into() } else { Stdio::piped() });
        let mut child = command.spawn().unwrap();
        drop(command);
        let answers: Box<dyn Read> = match child.stdout.take() {
            Some(pipe) => Box::new(pipe),
            None => Box::new(from_server),
        };
        writeln!(to_server, "{ping}").unwrap();
        let answer = BufReader::new(answers).lines().next().unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&answer).unwrap(), pong);
        drop(to_server);
        assert!(wait(child).success());
    }
    let requests = place.folder().join("requests");
    fs::write(&requests, format!("{ping}\n")).unwrap();
    let output = place.server_command(&[]).stdin(fs::File::open(&requests).unwrap()).output().unwrap();
    assert!(output.status.success());
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), pong);
}

#[test]
fn a_line_that_is_too_long_is_refused_by_its_id() {
    let place = garden();
    let mut server = place.hello(&[]);
    let long = "x".repeat(33 * 1024 * 1024);
    server.write(format!(r#"{{"jsonrpc":"2.0","id":"first","method":"ping","params":{{"a":"{long}"}}}}"#).as_bytes());
    server.write(b"\n");
    assert_eq!(server.answer_to(&json!("first"))["error"]["code"], -32600);
    server.write(format!(r#"{{"method":"ping","params":{{"a":"{long}"}},"jsonrpc":"2.0","id":77}}"#).as_bytes());
    server.write(b"\n");
    assert_eq!(server.answer_to(&json!(77))["error"]["code"], -32600);
    server.read("Fern.md");
}

#[test]
fn a_line_of_nearly_the_limit_is_served() {
    let place = garden();
    let mut server = place.hello(&["--allow", "write"]);
    let answer = server.ask("ping", json!({"_meta": {"pad": "x".repeat(31 * 1024 * 1024)}}));
    assert_eq!(answer["result"], json!({}));
}

#[test]
fn garbage_is_survived() {
    let place = garden();
    let mut server = place.hello(&[]);
    let deep = ["[".repeat(200_000), "]".repeat(200_000)].concat();
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"name":"read_note","arguments":{{"path":{deep}}}}}}}"#
    );
    let lines: [&[u8]; 15] = [
        b"{",
        b"not json",
        b"\xff\xfe\x00",
        b"",
        b"  \r",
        b"null",
        b"{}",
        b"[]",
        b"[3141]",
        br#"[{"jsonrpc":"2.0","id":"batched","method":"ping"}]"#,
        br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","method":5}"#,
        br#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        deep.as_bytes(),
        nested.as_bytes(),
    ];
    for line in lines {
        server.write(line);
        server.write(b"\n");
        server.ask("ping", json!({}));
    }
    assert!(server.seen.iter().all(|message| message["id"] != "batched"), "batches are not executed");
    assert!(server.seen.iter().all(|message| message["id"] != 3141), "what stands in a list is no id");
    assert_eq!(server.answer_to(&json!("deep"))["error"]["code"], -32600);
    server.read("Fern.md");
}

#[test]
fn a_message_is_read_whatever_blanks_surround_it() {
    let place = garden();
    let mut server = place.hello(&[]);
    for (before, after) in [("\u{feff}", ""), ("  ", " \t"), ("", "\r"), ("\n\n", "")] {
        let id = server.next_id();
        server.write(format!("{before}{}{after}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).as_bytes());
        assert_eq!(server.answer_to(&id)["result"], json!({}));
    }
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol_that_names_it() {
    let place = garden();
    let mut server = place.hello(&[]);
    let error = server.ask("tools/call", json!({"name": "no_such_tool", "arguments": {}}))["error"].take();
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("`no_such_tool`"));
    let error = server.ask("tools/call", json!({"name": "x".repeat(100_000)}))["error"].take();
    assert!(error.to_string().len() < 1000, "a long name is not repeated");
}

#[test]
fn an_unknown_method_and_an_unknown_page_are_errors_of_the_protocol() {
    let place = garden();
    let mut server = place.hello(&[]);
    let missing =
        ["no/such", "prompts/list", "resources/list", "resources/templates/list", "tasks/get", "subscriptions/listen"];
    for method in missing {
        let params = json!({"taskId": "1", "notifications": {}});
        let error = server.ask(method, params)["error"].take();
        assert_eq!(error, json!({"code": -32601, "message": format!("there is no method `{method}`")}));
    }
    let error = server.ask("logging/setLevel", json!({"level": "info"}))["error"].take();
    assert_eq!(error["message"], "there is no method `logging/setLevel`");
    assert_eq!(server.ask("tools/list", json!({"cursor": "x"}))["error"]["code"], -32602);
    assert_eq!(server.ask("tools/call", json!({"name": "read_note", "arguments": "x"}))["error"]["code"], -32602);
}

#[test]
fn an_answer_is_the_same_json_twice() {
    let place = garden();
    let result = place.hello(&[]).read("Fern.md");
    assert_eq!(result["isError"], false);
    let [block] = &result["content"].as_array().unwrap()[..] else { panic!("one block") };
    let text: Value = serde_json::from_str(block["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
}

#[test]
fn an_answer_of_grep_fits_as_text_and_as_json() {
    let line = format!("{}\"owl\"\n", "\u{1}".repeat(300));
    let place = garden().note("Noise.md", &line.repeat(300));
    let mut server = place.hello(&[]);
    let result =
        server.call("grep_notes", json!({"pattern": r#"(?-u)"o\w"#, "regex": true, "context": 5, "limit": 500}));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    assert!(text.chars().count() <= 25_000, "{}", text.chars().count());
    assert_eq!(result["structuredContent"]["totalMatches"], 300);
    assert_eq!(result["structuredContent"]["truncated"], true);
}

#[test]
fn a_refusal_is_text_for_the_model_and_nothing_else() {
    let place = garden();
    let mut server = place.hello(&[]);
    let refusals = [
        (json!({"path": "Missing.md"}), "not_found"),
        (json!({"path": "../outside.md"}), "invalid_path"),
        (json!({}), "invalid_argument"),
        (json!({"path": 5}), "invalid_argument"),
        (json!({"path": "Fern.md", "nonsense": 1}), "invalid_argument"),
    ];
    for (arguments, code) in refusals {
        let result = server.call("read_note", arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}");
        assert!(result.get("structuredContent").is_none());
        let error = error_of(&result);
        assert_eq!(error["code"], code, "{arguments}");
        assert!(!error["hint"].as_str().unwrap().is_empty());
        assert!(!error.to_string().contains(place.folder().to_str().unwrap()), "no absolute path");
    }
}

#[test]
fn a_switch_takes_effect_at_the_next_call_of_every_running_server() {
    let place = garden();
    let mut servers = [place.hello(&[]), place.hello(&[])];
    for (n, server) in servers.iter_mut().enumerate() {
        assert!(!has_tool(&server.tools(), "create_note"));
        let refused = server.create(&format!("Early {n}"));
        assert_eq!(error_of(&refused)["code"], "permission_denied");
        assert_eq!(error_of(&refused)["switch"], "write");
        assert!(error_of(&refused)["hint"].as_str().unwrap().contains("`vault --vault . allow write`"));
    }
    place.vault(&["allow", "write"]).well();
    for (n, server) in servers.iter_mut().enumerate() {
        assert_eq!(server.create(&format!("Allowed {n}"))["isError"], false);
        server.until(|message| message["method"] == "notifications/tools/list_changed");
        assert!(has_tool(&server.tools(), "create_note"));
    }
    place.vault(&["deny", "write"]).well();
    for server in &mut servers {
        assert_eq!(error_of(&server.create("Late"))["code"], "permission_denied");
    }
    place.vault(&["deny", "read"]).well();
    for server in &mut servers {
        assert_eq!(error_of(&server.read("Fern.md"))["switch"], "read");
        assert_eq!(server.tools(), json!([]));
    }
}

#[test]
fn a_person_who_does_what_the_refusal_says_lets_the_next_call_through() {
    let place = garden();
    let mut server = place.hello(&[]);
    let hint = error_of(&server.create("Early"))["hint"].take();
    let command = hint.as_str().unwrap().split('`').nth(1).unwrap();
    let mut words = command.split(' ');
    let mut command = place.command(words.next().unwrap(), &words.collect::<Vec<_>>());
    command.env_remove("VAULT").current_dir(place.vault_folder()).output().unwrap().well();
    assert_eq!(server.create("Allowed")["isError"], false);
}

#[test]
fn a_subscription_is_told_what_it_can_hear_of() {
    let place = garden();
    let mut server = place.server(&[]);
    server.ask("tools/list", stateless(json!({})));
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                        "resourceSubscriptions": ["file:///note"]});
    let wanted = stateless(json!({"notifications": wanted}));
    server.send(&json!({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen", "params": wanted}));
    let told = server.until(|message| message["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(told["params"]["notifications"], json!({"toolsListChanged": true}));
}

#[test]
fn a_subscription_of_the_stateless_revision_hears_of_switches() {
    let place = garden();
    let mut server = place.server(&[]);
    server.ask("tools/list", stateless(json!({})));
    let wanted = stateless(json!({"notifications": {"toolsListChanged": true}}));
    server.send(&json!({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen", "params": wanted}));
    server.until(|message| message["method"] == "notifications/subscriptions/acknowledged");
    place.vault(&["allow", "write"]).well();
    server.ask("tools/call", stateless(json!({"name": "read_note", "arguments": {"path": "Fern.md"}})));
    server.until(|message| message["method"] == "notifications/tools/list_changed");
}

#[test]
fn an_idle_client_hears_of_each_change_once() {
    let place = garden();
    let (mut greeted, mut subscribed) = (place.hello(&[]), place.server(&[]));
    greeted.tools();
    let wanted = stateless(json!({"notifications": {"toolsListChanged": true}}));
    subscribed.send(&json!({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen", "params": wanted}));
    subscribed.until(|message| message["method"] == "notifications/subscriptions/acknowledged");
    subscribed.ask("tools/list", stateless(json!({})));
    let changes = ["allow", "deny", "allow"];
    for (before, change) in changes.iter().enumerate() {
        place.vault(&[change, "write"]).well();
        for server in [&mut greeted, &mut subscribed] {
            while server.changes_told() == before {
                server.next_message();
            }
        }
        assert_eq!(has_tool(&greeted.tools(), "create_note"), *change == "allow");
        subscribed.ask("tools/list", stateless(json!({})));
    }
    for mut server in [greeted, subscribed] {
        server.read_to_the_end();
        assert_eq!(server.changes_told(), changes.len(), "{:?}", server.seen);
    }
}

#[test]
fn a_deny_beats_what_a_server_was_started_with() {
    let place = garden();
    let mut server = place.hello(&["--allow", "write,move,delete"]);
    assert_eq!(server.create("Before")["isError"], false);
    place.vault(&["deny", "write"]).well();
    assert_eq!(error_of(&server.create("After"))["code"], "permission_denied");
    assert!(!place.vault_folder().join("After.md").exists());
    place.vault(&["unset", "write"]).well();
    assert_eq!(server.create("Again")["isError"], false);
}

#[test]
fn the_command_answers_what_the_server_answers() {
    let place = garden();
    let mut server = place.hello(&[]);
    let calls: [(&str, Value, &[&str]); 4] = [
        ("read_note", json!({"path": "Fern.md"}), &["read-note", "Fern.md"]),
        (
            "read_note",
            json!({"path": "Fern.md", "offset": 2, "limit": 1}),
            &["read-note", "Fern.md", "--offset=2", "--limit=1"],
        ),
        ("list_notes", json!({"includeExcerpt": true}), &["list-notes", "--include-excerpt"]),
        ("list_folders", json!({}), &["list-folders"]),
    ];
    for (tool, arguments, command) in calls {
        let printed = place.vault(&[command, &["--json"]].concat());
        assert_eq!(server.call(tool, arguments)["structuredContent"], printed.json(), "{tool}");
    }
}

#[test]
fn the_log_holds_no_note_text() {
    let place = garden();
    let mut command = place.server_command(&["--allow", "write"]);
    command.stderr(Stdio::piped());
    let mut server = Session::start(command);
    let log = server.child.stderr.take().unwrap();
    server.initialize("2025-11-25");
    server.read("Fern.md");
    server.create("Shade");
    server.call("read_note", json!({"path": "shade loving"}));
    server.end();
    let log: Vec<String> = BufReader::new(log).lines().map(Result::unwrap).collect();
    assert_eq!(log, Vec::<String>::new());
}

#[test]
fn a_vault_that_is_not_there_is_one_line_and_exit_code_2() {
    let place = garden();
    let missing = place.folder().join("missing");
    let output = place.server_command(&[]).env("VAULT", &missing).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("missing"));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_switch_that_does_nothing_without_write_is_named_at_the_start() {
    let place = garden();
    let said =
        |switches| place.server_command(&["--allow", switches]).stdin(Stdio::null()).output().unwrap().stderr_text();
    for switches in ["move", "delete", "move,delete"] {
        let line = format!("`--allow {switches}` has no effect: move and delete work only while write is on");
        assert_eq!(said(switches), format!("vault-mcp: {line}\n"));
    }
    for switches in ["write", "write,move,delete"] {
        assert_eq!(said(switches), "");
    }
    place.vault(&["allow", "write"]).well();
    assert_eq!(said("move"), "", "a person turned write on");
    place.vault(&["deny", "write"]).well();
    assert!(said("write,move").contains("`--allow move` has no effect"));
}

#[test]
fn an_unknown_profile_or_switch_is_refused_with_those_there_are() {
    let place = garden();
    for (arguments, there) in
        [(["--profile", "memory"], "notes, files"), (["--allow", "fly"], "read, write, move, delete")]
    {
        let output = place.server_command(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains(there));
    }
}

#[test]
fn what_a_write_replaced_is_cleared_away_soon() {
    let place = garden();
    let mut server = place.hello(&["--allow", "write"]);
    server.call("update_tags", json!({"path": "Garden/Moss.md", "add": ["new"]}));
    let temp = place.vault_folder().join(".vault/tmp");
    let is_empty = || fs::read_dir(&temp).unwrap().next().is_none();
    assert!(!is_empty(), "somebody may still write into the replaced file");
    let end = Instant::now() + PATIENCE;
    while !is_empty() {
        assert!(Instant::now() < end, "it is still there");
        server.call("list_folders", json!({}));
    }
}

#[test]
fn the_sample_vault_is_read_and_written_back_without_a_trace() {
    let place = Place::with_sample_vault();
    let before = place.files();
    let mut server = place.hello(&["--allow", "write"]);
    let listed = server.call("list_notes", json!({"includeArchived": true}))["structuredContent"].take();
    assert_eq!(listed["truncated"], false);
    let rows = listed["notes"].as_array().unwrap().iter();
    let notes: Vec<&Value> = rows.filter(|row| row["kind"] == "note").map(|row| &row["path"]).collect();
    assert!(notes.len() > 40, "{}", notes.len());
    for path in notes {
        let read = server.call("read_note", json!({"path": path}))["structuredContent"].take();
        let back = json!({"path": path, "markdown": read["markdown"], "version": read["version"]});
        let written = server.call("update_note", back);
        assert_eq!(written["structuredContent"]["version"], read["version"], "{path}: {written}");
        assert!(written["structuredContent"].get("operation").is_none(), "{path}");
    }
    assert!(server.end().success());
    assert!(place.files() == before, "a byte changed, or a file came or went");
    assert!(!place.vault_folder().join(".vault").exists());
}

#[test]
fn tools_are_described_like_this() {
    let place = garden();
    let tools = place.hello(&["--allow", "write,move,delete"]).tools();
    insta::assert_json_snapshot!("tools", tools);
}

#[test]
fn the_tool_list_stays_small() {
    let place = garden();
    let tools = place.hello(&["--allow", "write,move,delete"]).tools();
    let tools = tools.as_array().unwrap();
    let told = |tool: &Value| {
        json!({"name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"]})
            .to_string()
    };
    let bytes: usize = tools.iter().map(|tool| told(tool).len()).sum();
    assert!(bytes <= 16 * 1024, "{bytes} bytes: the budget of a whole profile");
    // All tools of the contract must stay within 16 KB; these are the larger ones among them.
    assert!(bytes <= tools.len() * 560, "{bytes} bytes for {} tools", tools.len());
}

/// A vault of two notes.
/// The read's answer is waited for while the lock is held: if it came after those of the writes, they would be `busy`.
#[test]
fn a_read_does_not_wait_with_writes_that_wait_for_another_process() {
    let place = garden();
    let mut server = place.hello(&["--allow", "write"]);
    server.create("First");
    let lock = fs::File::open(place.vault_folder().join(".vault/lock")).unwrap();
    lock.lock().unwrap();
    let writes: Vec<Value> = (0..20)
        .map(|number| {
            let id = server.next_id();
            let arguments = json!({"title": format!("Waits {number}")});
            let params = json!({"name": "create_note", "arguments": arguments});
            server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
            id
        })
        .collect();
    assert_eq!(server.read("Fern.md")["structuredContent"]["path"], "Fern.md");
    lock.unlock().unwrap();
    for id in writes {
        assert_eq!(server.answer_to(&id)["result"]["isError"], false);
    }
}

fn garden() -> Place {
    let fern = "---\ntags: [plant]\n---\n# Fern\n\nA shade loving plant, see [[Moss]].\n";
    Place::new().note("Fern.md", fern).note("Garden/Moss.md", "Grows #slowly.\n")
}

impl Place {
    fn server_command(&self, arguments: &[&str]) -> Command {
        self.command("vault-mcp", arguments)
    }

    /// Starts a server and says nothing yet.
    fn server(&self, arguments: &[&str]) -> Session {
        Session::start(self.server_command(arguments))
    }

    /// Starts a server and shakes hands.
    fn hello(&self, arguments: &[&str]) -> Session {
        let mut server = self.server(arguments);
        server.initialize("2025-11-25");
        server
    }
}

/// A running server and what it has said.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: Vec<Value>,
    last_id: i64,
}

impl Session {
    fn start(mut command: Command) -> Session {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("standard output is UTF-8");
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Session { child, input, lines, seen: Vec::new(), last_id: 0 }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn next_id(&mut self) -> Value {
        self.last_id += 1;
        json!(self.last_id)
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.answer_to(&id)
    }

    fn answer_to(&mut self, id: &Value) -> Value {
        self.until(|message| message.get("method").is_none() && message.get("id") == Some(id))
    }

    /// Returns the first message that fits, of those that came and those that will.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(message) = self.seen.iter().find(|message| fits(message)) {
            return message.clone();
        }
        loop {
            let message = self.next_message();
            if fits(&message) {
                return message;
            }
        }
    }

    fn next_message(&mut self) -> Value {
        let message = self.lines.recv_timeout(PATIENCE).expect("the server says something");
        assert_eq!(message["jsonrpc"], "2.0");
        self.seen.push(message.clone());
        message
    }

    /// Closes the input and takes in what the server says until it ends.
    fn read_to_the_end(&mut self) {
        self.input = None;
        self.seen.extend(self.lines.iter());
    }

    /// How often the server has said that the tools changed.
    fn changes_told(&self) -> usize {
        self.seen.iter().filter(|message| message["method"] == "notifications/tools/list_changed").count()
    }

    fn initialize(&mut self, revision: &str) -> Value {
        let hello =
            json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = self.ask("initialize", hello)["result"].take();
        self.notify("notifications/initialized", json!({}));
        answer
    }

    fn tools(&mut self) -> Value {
        self.ask("tools/list", json!({}))["result"]["tools"].take()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    fn read(&mut self, path: &str) -> Value {
        self.call("read_note", json!({"path": path}))
    }

    fn create(&mut self, title: &str) -> Value {
        self.call("create_note", json!({"title": title, "markdown": "shade loving\n"}))
    }

    #[cfg(unix)]
    fn wait_until_it_listens(&mut self) {
        self.ask("ping", json!({}));
    }

    /// Closes the input and returns how the server ended.
    fn end(mut self) -> ExitStatus {
        self.input = None;
        self.exit()
    }

    fn exit(self) -> ExitStatus {
        // Kept until the end: a closed input would end the server too.
        let _input = self.input;
        wait(self.child)
    }
}

fn wait(mut child: Child) -> ExitStatus {
    let (sender, status) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait()));
    status.recv_timeout(PATIENCE).expect("the server ends").unwrap()
}

fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

fn error_of(result: &Value) -> Value {
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    text["error"].clone()
}

fn has_tool(tools: &Value, name: &str) -> bool {
    tools.as_array().unwrap().iter().any(|tool| tool["name"] == name)
}
