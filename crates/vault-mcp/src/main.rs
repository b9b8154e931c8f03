//! The `vault-mcp` program: arguments, streams, signals.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::runtime::{Builder, Runtime};
use vault_core::Vault;
use vault_core::switches::{self, Granted, Switch};
use vault_index::Keeper;
use vault_mcp::pool::{self, MAX_READS, MAX_WRITES};
use vault_mcp::{Ending, Profile, Server, Stdio, stdio};

/// Gives memory back that building an index needed, and takes half the time of the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long answers in flight may take once the process is asked to end.
const GRACE: Duration = Duration::from_secs(1);

/// Serve one vault to an agent, as an MCP server on standard input and output.
///
/// Agents may read. Writing, moving and deleting are off until a person allows them: with `--allow` for this process, or
/// with `vault --vault DIR allow` for good. `vault deny` beats both.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Folder of the vault.
    #[arg(long, env = "VAULT", value_name = "DIR")]
    vault: PathBuf,
    /// Set of tools to publish.
    #[arg(long, value_enum, default_value_t = Profile::Notes)]
    profile: Profile,
    /// What this process lets agents do beside reading: write, move, delete.
    #[arg(long, value_name = "SWITCH,…", value_delimiter = ',', value_parser = switch)]
    allow: Vec<Switch>,
}

fn switch(name: &str) -> Result<Switch, String> {
    Switch::named(name).ok_or_else(|| format!("there are {}", Switch::ALL.map(Switch::name).join(", ")))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    pool::quiet_panics();
    let vault = match Vault::open(&arguments.vault) {
        Ok(vault) => Arc::new(vault),
        Err(refusal) => {
            eprintln!("vault-mcp: `{}`: {refusal}; {}", arguments.vault.display(), refusal.hint());
            return ExitCode::from(2);
        }
    };
    let granted = Granted(arguments.allow);
    if let Some(switches) = without_effect(&vault, &granted) {
        eprintln!("vault-mcp: `--allow {switches}` has no effect: move and delete work only while write is on");
    }
    let _keeper = Keeper::start(&vault);
    let ending = Ending::default();
    let server = Server::new(vault, arguments.profile, granted, ending.clone());
    match start(server, ending) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vault-mcp: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns those of the switches `granted` that do nothing because write is off, if any.
fn without_effect(vault: &Vault, granted: &Granted) -> Option<String> {
    // Settings that cannot be read are told at the first call.
    let settings = vault.settings().ok()?;
    let lacks_write = |switch: Switch| switches::blocking(&settings, granted, switch) == Some(Switch::Write);
    let useless = [Switch::Move, Switch::Delete].into_iter().filter(|s| granted.0.contains(s) && lacks_write(*s));
    let names: Vec<_> = useless.map(Switch::name).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn start(server: Server, ending: Ending) -> anyhow::Result<()> {
    let runtime = runtime().context("starting failed")?;
    let ended = runtime.block_on(serve(server, ending));
    // A thread may still wait for input that never comes; the end of the process ends it.
    runtime.shutdown_background();
    ended
}

/// One thread for the protocol, and threads for operations while there are any.
fn runtime() -> std::io::Result<Runtime> {
    // Beside operations, two for standard streams that only a thread can wait for.
    Builder::new_current_thread().enable_all().max_blocking_threads(MAX_READS + MAX_WRITES + 2).build()
}

async fn serve(server: Server, ending: Ending) -> anyhow::Result<()> {
    let asked = asked_to_end()?;
    let (input, output) = stdio::standard_streams();
    tokio::spawn(stdio::give_up_when_unread(ending.clone()));
    let transport = Stdio::new(input, output, ending.clone());
    let session = async {
        match server.serve(transport).await {
            Ok(session) => session.waiting().await.map(|_| ()).context("the session broke"),
            // A client that leaves before or while it says hello is no fault.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::TransportError { .. }) => Ok(()),
            Err(error) => Err(error).context("the session did not begin"),
        }
    };
    tokio::select! {
        ended = session => ended,
        () = async {
            asked.await;
            ending.end();
            tokio::time::sleep(GRACE).await;
        } => Ok(()),
    }
}

#[cfg(unix)]
fn asked_to_end() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("listening for signals failed")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for signals failed")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn asked_to_end() -> anyhow::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
