//! The `vault` program: arguments in, one operation or command, an exit code out.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use vault_cli::output::Output;
use vault_cli::{command, failure, find, index, status, switch};
use vault_core::{Call, Entry, OPERATIONS, Vault, VaultError};

const RULES: &str = "\
A text argument that is `-` is read from standard input; write an argument that begins with a dash after `--`.
Errors, with `--json` too, and the version of a note go to standard error; standard output has the answer alone.
Exit codes: 0 done, 2 wrong usage, 3 not found, 4 ambiguous, 5 conflict (no version, another version, or taken),
6 not permitted, 1 anything else.";

/// Gives memory back that building an index needed, and takes half the time of the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = root().get_matches();
    let output = Output { json: matches.get_flag("json") };
    let (code, printed) = match run(&matches, output) {
        Ok(printed) => (0, printed),
        Err(refusal) => (failure::exit_code(&refusal), output.refusal(&refusal)),
    };
    match printed {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: printing failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> Command {
    let vault = Arg::new("vault").long("vault").value_name("DIR").value_parser(value_parser!(PathBuf));
    let vault =
        vault.help("Folder of the vault; else what VAULT says, else the nearest one above with a `.vault` folder");
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the answer, or the error, as JSON");
    Command::new("vault")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Read and write the notes of a vault, and say what agents may do in it")
        .after_help(RULES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args([vault, json].map(|everywhere| everywhere.global(true).display_order(900)))
        .subcommands(OPERATIONS.iter().map(command::command_of))
        .subcommands(switch::commands())
        .subcommand(index::command())
        .subcommand(status::command())
}

fn run(matches: &ArgMatches, output: Output) -> Result<io::Result<()>, VaultError> {
    let (name, arguments) = matches.subcommand().expect("clap requires a subcommand");
    let here = env::current_dir().unwrap_or_default();
    let named = matches.get_one("vault").cloned().or_else(|| env::var_os("VAULT").map(PathBuf::from));
    let root = find::vault_root(named.filter(|root| !root.as_os_str().is_empty()), &here)?;
    let vault = find::open(&root)?;
    if let Some(entry) = OPERATIONS.iter().find(|entry| command::dashed(entry.name) == name) {
        return operation(entry, arguments, &vault, output);
    }
    if name == index::NAME {
        let indexed = index::run(arguments, &vault)?;
        return Ok(output.answer(|| indexed.value(), || indexed.text(), None));
    }
    let settings = switch::run(name, arguments, &vault).unwrap_or_else(|| vault.settings())?;
    Ok(output.answer(|| status::value(&root, &settings), || status::text(&root, &settings), None))
}

fn operation(
    entry: &Entry,
    arguments: &ArgMatches,
    vault: &Vault,
    output: Output,
) -> Result<io::Result<()>, VaultError> {
    let request = command::request(entry, arguments, io::stdin())?;
    // The limit on answers saves the context of a model; a person has a pager.
    let call = Call { max_answer_chars: usize::MAX, ..Call::begin(&client()) };
    vault_index::attach(vault);
    let reply = entry.call(request, vault, &call)?;
    Ok(output.answer(|| reply.value(), || reply.text(), reply.version.as_ref()))
}

/// Returns what the history says about who did it.
fn client() -> String {
    let program = concat!("vault ", env!("CARGO_PKG_VERSION"));
    let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| env::var(name).ok());
    match user.filter(|user| !user.is_empty() && !user.contains(char::is_control)) {
        Some(user) => format!("{program} {user}"),
        None => program.to_owned(),
    }
}
