//! `vault status`: which vault this is, and what agents may do in it.

use std::path::Path;

use clap::Command;
use serde_json::{Map, Value, json};
use vault_core::switches::{Granted, Setting, Settings, Switch, allows, blocking};

/// Name of the command.
pub const NAME: &str = "status";

/// Returns the command.
pub fn command() -> Command {
    Command::new(NAME).about("Show which vault this is and what agents may do in it")
}

/// Returns the status for programs.
pub fn value(root: &Path, settings: &Settings) -> Value {
    let switches = Switch::ALL.map(|switch| {
        let state = json!({"set": settings.get(switch), "on": is_on(settings, switch)});
        (switch.name().to_owned(), state)
    });
    json!({"vault": root.to_string_lossy(), "switches": Map::from_iter(switches)})
}

/// Returns the status for people.
pub fn text(root: &Path, settings: &Settings) -> String {
    let mut lines = vec![format!("vault   {}", root.display())];
    lines.extend(Switch::ALL.map(|switch| {
        let on = if is_on(settings, switch) { "on" } else { "off" };
        format!("{:<8}{on:<5}{}", switch.name(), meaning(settings, switch))
    }));
    lines.join("\n")
}

/// Without what a server may be started with: that is known to the server alone.
fn is_on(settings: &Settings, switch: Switch) -> bool {
    allows(settings, &Granted::default(), switch)
}

fn meaning(settings: &Settings, switch: Switch) -> String {
    match settings.get(switch) {
        Some(Setting::Allow) => match blocking(settings, &Granted::default(), switch) {
            None => "allowed".into(),
            Some(missing) => format!("allowed, but works only while {missing} is on"),
        },
        Some(Setting::Deny) => "denied, whatever a server was started with".into(),
        None if switch == Switch::Read => "not set: on for every server that is started".into(),
        None => format!("not set: on only in a server started with `--allow {switch}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_says_what_is_set_and_what_it_comes_to() {
        let mut settings = Settings::default();
        settings.set(Switch::Move, Some(Setting::Allow));
        settings.set(Switch::Delete, Some(Setting::Deny));
        insta::assert_snapshot!(text(Path::new("/home/ada/notes"), &settings), @r"
        vault   /home/ada/notes
        read    on   not set: on for every server that is started
        write   off  not set: on only in a server started with `--allow write`
        move    off  allowed, but works only while write is on
        delete  off  denied, whatever a server was started with
        ");
        settings.set(Switch::Read, Some(Setting::Deny));
        assert_eq!(meaning(&settings, Switch::Move), "allowed, but works only while read is on");
        settings.set(Switch::Read, None);
        assert_eq!(value(Path::new("v"), &settings)["switches"]["delete"], json!({"set": "deny", "on": false}));
    }
}
