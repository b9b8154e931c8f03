//! The server: which tools there are at this moment, and what a call answers.

use std::borrow::Cow;
use std::future::pending;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{Peer, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use vault_core::call::Cancelled;
use vault_core::store::LateSave;
use vault_core::switches::{self, Granted, Switch};
use vault_core::{Call, Entry, Vault, VaultError};

use crate::lookout::{Changes, Lookout};
use crate::pool::{MAX_READS, MAX_WRITES, Pool};
use crate::profile::Profile;
use crate::progress;
use crate::stdio::Ending;
use crate::sweeper::Sweeper;

/// How long a call may take before it is `timeout`: a little less than clients wait.
const CALL_TIME: Duration = Duration::from_secs(50);

/// Longest name of a client in the history, in characters.
const CLIENT_NAME_CHARS: usize = 80;

/// Most characters of a caller's word that an error repeats.
const QUOTED_CHARS: usize = 64;

/// Answers both eras of the protocol for one vault. Holds nothing about a connection but whom to tell that the tools
/// changed.
pub struct Server {
    access: Access,
    writes: Pool,
    profile: Profile,
    tools: OnceLock<Vec<Tool>>,
    sweeper: Sweeper,
    /// What was allowed when anybody looked last.
    allowed: Lookout<Allowed>,
    /// Tells the client that shook hands; ends with the server.
    telling: Mutex<JoinSet<()>>,
    ending: Ending,
}

/// For each of [`Switch::ALL`] at a moment: the switch that must be turned on first, if any.
type Allowed = [Option<Switch>; Switch::ALL.len()];

impl Server {
    /// Makes a server that publishes `profile` and was started with the switches `granted`. Its session ends with `ending`.
    pub fn new(vault: Arc<Vault>, profile: Profile, granted: Granted, ending: Ending) -> Server {
        Server {
            access: Access { vault, granted: Arc::new(granted), pool: Pool::new(MAX_READS) },
            writes: Pool::new(MAX_WRITES),
            profile,
            tools: OnceLock::new(),
            sweeper: Sweeper::default(),
            allowed: Lookout::default(),
            telling: Mutex::default(),
            ending,
        }
    }

    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| self.profile.entries().iter().map(tool).collect())
    }

    /// Hears of every change of what is allowed, whoever sees it first: a call, or a look once a second.
    fn changes(&self) -> Changes<Allowed> {
        let access = self.access.clone();
        self.allowed.listen(move || {
            let looked = access.clone().run(pending(), Cancelled::default(), allowed);
            // Settings that cannot be read change nothing here; the next call says so.
            async { looked.await.flatten().ok() }
        })
    }

    /// Tells a client that shook hands and knows the tools when they change. A stateless one subscribes.
    fn tell_of_changes(&self, client: &Peer<RoleServer>) {
        let mut telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        if client.peer_info().is_none() || !telling.is_empty() {
            return;
        }
        let (mut changes, client) = (self.changes(), client.clone());
        telling.spawn(async move {
            loop {
                changes.next().await;
                if client.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Clears away, a while after a write, what it replaced, if writing is still allowed then. What other programs saved
    /// late is named on standard error.
    fn sweep_soon(&self) {
        let access = self.access_for(Switch::Write);
        self.sweeper.note_write(move || {
            let swept = access.clone().run(pending(), Cancelled::default(), sweep);
            async {
                for late in swept.await.flatten().unwrap_or_default() {
                    eprintln!("vault-mcp: a late save of `{}` is in the log as version {}", late.path, late.version);
                }
            }
        });
    }

    fn access_for(&self, effect: Switch) -> Access {
        let pool = if effect == Switch::Read { &self.access.pool } else { &self.writes };
        Access { pool: pool.clone(), ..self.access.clone() }
    }

    /// Waits until nobody waits for the answer any more.
    async fn unawaited(&self, context: &Context) {
        tokio::select! {
            () = context.ct.cancelled() => {}
            () = self.ending.given_up() => {}
        }
    }

    async fn run(&self, entry: &'static Entry, arguments: Map<String, Value>, context: &Context) -> Answer {
        let mut call = Call::begin(&client_name(context.client_info()));
        call.deadline = Some(Instant::now() + CALL_TIME);
        call.progress = progress::listener(context);
        let cancelled = call.cancelled.clone();
        let work = move |vault: &Vault, granted: &Granted| {
            let allowed = match allowed(vault, granted) {
                Ok(allowed) => allowed,
                Err(refusal) => return Answer { allowed: None, result: refused(&refusal) },
            };
            let answer = match blocking(&allowed, entry.effect) {
                None => entry.call(arguments, vault, &call).map(|reply| reply.value()),
                Some(switch) => Err(VaultError::PermissionDenied { switch }),
            };
            let result = answer.map_or_else(|refusal| refused(&refusal), CallToolResult::structured);
            Answer { allowed: Some(allowed), result }
        };
        let answer = self.access_for(entry.effect).run(self.unawaited(context), cancelled, work).await;
        answer.unwrap_or_else(|refusal| Answer { allowed: None, result: refused(&refusal) })
    }
}

/// The vault, and where blocking work on it runs.
#[derive(Clone)]
struct Access {
    vault: Arc<Vault>,
    granted: Arc<Granted>,
    pool: Pool,
}

impl Access {
    /// Runs `work` as [`Pool::run`] does.
    async fn run<T: Send + 'static>(
        self,
        gone: impl Future<Output = ()>,
        cancelled: Cancelled,
        work: impl FnOnce(&Vault, &Granted) -> T + Send + 'static,
    ) -> Result<T, VaultError> {
        let Access { vault, granted, pool } = self;
        pool.run(gone, cancelled, move || work(&vault, &granted)).await
    }
}

type Context = RequestContext<RoleServer>;

struct Answer {
    allowed: Option<Allowed>,
    result: CallToolResult,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let mut name = Implementation::new("vault-mcp", env!("CARGO_PKG_VERSION"));
        name.title = Some("Vault".into());
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(self.profile.instructions())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params("there is no such page: `cursor` comes from `nextCursor`", None));
        }
        let looked = self.access.clone().run(self.unawaited(&context), Cancelled::default(), allowed).await;
        let allowed = looked.flatten().map_err(|refusal| ErrorData::internal_error(refusal.to_string(), None))?;
        self.allowed.note(allowed);
        self.tell_of_changes(&context.peer);
        let both = self.profile.entries().iter().zip(self.tools());
        let visible =
            both.filter(|(entry, _)| blocking(&allowed, entry.effect).is_none()).map(|(_, tool)| tool.clone());
        Ok(ListToolsResult::with_all_items(visible.collect()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = self.profile.entry(&request.name) else {
            let problem = format!("there is no tool `{}`: `tools/list` has their names", quoted(&request.name));
            return Err(ErrorData::invalid_params(problem, None));
        };
        let answer = self.run(entry, request.arguments.unwrap_or_default(), &context).await;
        if entry.effect != Switch::Read && answer.result.is_error != Some(true) {
            self.sweep_soon();
        }
        if let Some(allowed) = answer.allowed {
            self.allowed.note(allowed);
        }
        Ok(answer.result.into())
    }

    async fn on_custom_request(&self, request: CustomRequest, _: Context) -> Result<CustomResult, ErrorData> {
        // A request of the protocol lands here when its parameters are not what the protocol says.
        if matches!(&*request.method, "initialize" | "tools/call" | "tools/list" | "subscriptions/listen") {
            let problem = format!("`params` of `{}` are not as the protocol says", request.method);
            return Err(ErrorData::invalid_params(problem, None));
        }
        // The bare name, as the protocol library refuses those it knows: the transport makes a sentence of both.
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, quoted(&request.method), None))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // There are no prompts and no resources.
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = (subscription.accepted().tools_list_changed == Some(true)).then(|| self.changes());
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                // The end of input waits for what is in flight.
                () = self.ending.ended() => return Ok(()),
                () = next(changes.as_mut()) => {
                    if subscription.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

async fn next(changes: Option<&mut Changes<Allowed>>) {
    match changes {
        Some(changes) => changes.next().await,
        None => pending().await,
    }
}

fn allowed(vault: &Vault, granted: &Granted) -> Result<Allowed, VaultError> {
    let settings = vault.settings()?;
    Ok(Switch::ALL.map(|switch| switches::blocking(&settings, granted, switch)))
}

fn sweep(vault: &Vault, granted: &Granted) -> Result<Vec<LateSave>, VaultError> {
    if !vault.allows(granted, Switch::Write)? {
        return Ok(vec![]);
    }
    vault.sweep()
}

fn blocking(allowed: &Allowed, switch: Switch) -> Option<Switch> {
    Switch::ALL.into_iter().zip(allowed).find(|(each, _)| *each == switch).and_then(|(_, blocking)| *blocking)
}

fn refused(refusal: &VaultError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(refusal.to_json().to_string())])
}

fn tool(entry: &Entry) -> Tool {
    let annotations = ToolAnnotations::with_title(title(entry.name))
        .read_only(entry.effect == Switch::Read)
        .destructive(entry.destructive)
        .idempotent(entry.idempotent || entry.effect == Switch::Read)
        .open_world(false);
    let described = |schema: &Map<String, Value>| {
        let mut schema = schema.clone();
        // Said once, as the tool's own description.
        schema.shift_remove("description");
        Arc::new(schema)
    };
    Tool::new(entry.name, Cow::Owned(entry.description()), described((entry.input_schema)()))
        .with_raw_output_schema(described((entry.output_schema)()))
        .with_annotations(annotations)
}

/// Makes `Read note` of `read_note`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns what the history calls the client: its name and version, in one line.
fn client_name(client: Option<Implementation>) -> String {
    let Some(client) = client else {
        return "unknown".into();
    };
    let name = format!("{} {}", client.name, client.version);
    let name: String = name.chars().filter(|c| !c.is_control()).take(CLIENT_NAME_CHARS).collect();
    match name.trim() {
        "" => "unknown".into(),
        name => name.to_owned(),
    }
}

fn quoted(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(QUOTED_CHARS).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes folders and looks at what is left there")]
mod tests {
    use std::path::Path;

    use rmcp::ServiceExt;
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;
    use crate::Stdio;

    /// Serves one call in a vault that has nothing of ours but a folder to sweep, and tells whether it was swept there in
    /// the hours after: that takes the lock.
    async fn is_swept_after(granted: &[Switch], tool: &str, arguments: Value) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let hidden = folder.path().join(".vault");
        let mut session = Session::of(folder.path(), granted);
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        session.ask("initialize", hello).await;
        session.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        if hidden.exists() {
            std::fs::remove_dir_all(&hidden).unwrap();
        }
        std::fs::create_dir_all(hidden.join("tmp")).unwrap();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        session.end().await;
        hidden.join("lock").exists()
    }

    struct Session {
        requests: WriteHalf<DuplexStream>,
        answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
        serving: JoinHandle<()>,
    }

    impl Session {
        fn of(folder: &Path, granted: &[Switch]) -> Session {
            let (vault, ending) = (Arc::new(Vault::open(folder).unwrap()), Ending::default());
            let server = Server::new(vault, Profile::Notes, Granted(granted.to_vec()), ending.clone());
            let (client, ours) = tokio::io::duplex(1 << 20);
            let (input, output) = tokio::io::split(ours);
            let serving = tokio::spawn(async move {
                let session = server.serve(Stdio::new(input, output, ending)).await.unwrap();
                session.waiting().await.unwrap();
            });
            let (answers, requests) = tokio::io::split(client);
            Session { requests, answers: BufReader::new(answers).lines(), serving }
        }

        /// Sends a request and waits for one message.
        async fn ask(&mut self, method: &str, params: Value) -> String {
            let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
            self.requests.write_all(format!("{request}\n").as_bytes()).await.unwrap();
            self.answers.next_line().await.unwrap().unwrap()
        }

        async fn end(mut self) {
            self.requests.shutdown().await.unwrap();
            self.serving.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_does_not_outlive_its_client() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::of(folder.path(), &[]);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        session.ask("tools/list", json!({"_meta": meta})).await;
        let wanted = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
        let told = session.ask("subscriptions/listen", wanted).await;
        assert!(told.contains("acknowledged"), "{told}");
        let begin = Instant::now();
        session.end().await;
        assert_eq!(begin.elapsed(), Duration::ZERO, "by the paused clock: nothing waits for a time");
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_write_that_happened_is_swept_after() {
        let write = [Switch::Write];
        let made = json!({"title": "Fern"});
        assert!(is_swept_after(&write, "create_note", made.clone()).await);
        assert!(!is_swept_after(&[], "create_note", made).await, "writing is off");
        assert!(!is_swept_after(&write, "create_note", json!({"title": ""})).await, "a refused call");
        assert!(!is_swept_after(&write, "list_notes", json!({})).await, "a read");
    }

    #[test]
    fn a_client_is_named_in_one_short_line() {
        let client = |name: &str, version: &str| client_name(Some(Implementation::new(name, version)));
        assert_eq!(client("claude-code", "2.1.280"), "claude-code 2.1.280");
        assert_eq!(client("a\nb\u{1b}[31m", ""), "ab[31m");
        assert_eq!(client(&"x".repeat(500), "1").len(), CLIENT_NAME_CHARS);
        assert_eq!(client("", ""), "unknown");
        assert_eq!(client_name(None), "unknown");
    }

    #[test]
    fn titles_are_words() {
        assert_eq!(title("list_notes"), "List notes");
    }
}
