//! `vault index`: bringing the search index up to date while one watches.

use std::io::IsTerminal;
use std::time::Instant;

use clap::{Arg, ArgAction, ArgMatches, Command};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use vault_core::{Vault, VaultError};

/// Name of the command.
pub const NAME: &str = "index";

/// Returns the command.
pub fn command() -> Command {
    let anew = Arg::new("rebuild").long("rebuild").action(ArgAction::SetTrue);
    Command::new(NAME)
        .about("Bring the search index up to date, or make it anew; servers do that by themselves")
        .arg(anew.help("Throw the index away first"))
}

/// What was done.
pub struct Indexed {
    n_files: usize,
    seconds: f64,
}

/// Brings the index up to date, with a progress bar where a person looks on.
pub fn run(matches: &ArgMatches, vault: &Vault) -> Result<Indexed, VaultError> {
    let begin = Instant::now();
    let index = vault_index::attach(vault);
    let bar = bar();
    let build = if matches.get_flag("rebuild") { vault_index::rebuild } else { vault_index::build };
    let n_files = build(vault, &index, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    Ok(Indexed { n_files, seconds: begin.elapsed().as_secs_f64() })
}

impl Indexed {
    /// Returns it for programs.
    pub fn value(&self) -> Value {
        json!({"files": self.n_files, "seconds": (self.seconds * 1000.0).round() / 1000.0})
    }

    /// Returns it for people.
    pub fn text(&self) -> String {
        format!("{} files in the index, {:.1} s", self.n_files, self.seconds)
    }
}

fn bar() -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} files, {eta} left");
    let style = style.expect("the template is well formed");
    ProgressBar::with_draw_target(None, target).with_style(style)
}
