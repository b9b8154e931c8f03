//! `vault allow`, `vault deny`, `vault unset`: what agents may do in this vault, on this machine.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use vault_core::switches::{Setting, Settings, Switch};
use vault_core::{Vault, VaultError};

const SWITCHES: &str = "switches";

/// The three commands: name, what it sets, what it is for.
const COMMANDS: [(&str, Option<Setting>, &str); 3] = [
    ("allow", Some(Setting::Allow), "Let agents do something in this vault, from their next call on"),
    ("deny", Some(Setting::Deny), "Forbid agents something in this vault, whatever a server was started with"),
    ("unset", None, "Take an `allow` or `deny` back: reading is on then, the rest only with a server's `--allow`"),
];

/// Returns the commands.
pub fn commands() -> impl Iterator<Item = Command> {
    let switches = Arg::new(SWITCHES).value_name("SWITCH").required(true).num_args(1..).value_delimiter(',');
    let switches =
        switches.help("What agents may do; write works only while read is on, move and delete only while write is");
    COMMANDS.into_iter().map(move |(name, _, about)| {
        let names = PossibleValuesParser::new(Switch::ALL.map(Switch::name));
        Command::new(name).about(about).arg(switches.clone().value_parser(names))
    })
}

/// Runs the command of that name, if it is one of these, and returns what is set now.
pub fn run(name: &str, matches: &ArgMatches, vault: &Vault) -> Option<Result<Settings, VaultError>> {
    let (_, setting, _) = COMMANDS.into_iter().find(|(command, _, _)| *command == name)?;
    let names = matches.get_many::<String>(SWITCHES).into_iter().flatten();
    let switches: Vec<Switch> = names.filter_map(|name| Switch::named(name)).collect();
    Some(vault.change_settings(|settings| switches.iter().for_each(|switch| settings.set(*switch, setting))))
}
