//! The four switches a person sets: what agents may do. Pure; [`crate::store`] keeps the settings per machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of thing that agents do, which a person allows or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Switch {
    /// Reading and searching.
    Read,
    /// Creating and changing notes and files.
    Write,
    /// Moving and renaming; works only while write is on.
    Move,
    /// Deleting; works only while write is on.
    Delete,
}

impl Switch {
    /// All switches, in the order people see them.
    pub const ALL: [Switch; 4] = [Switch::Read, Switch::Write, Switch::Move, Switch::Delete];

    /// Returns the switch of that name.
    pub fn named(name: &str) -> Option<Switch> {
        Switch::ALL.into_iter().find(|switch| switch.name() == name)
    }

    /// Returns the name that commands and errors use.
    pub fn name(self) -> &'static str {
        match self {
            Switch::Read => "read",
            Switch::Write => "write",
            Switch::Move => "move",
            Switch::Delete => "delete",
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a person has said about one switch. Nothing said is the absence of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// Agents may.
    Allow,
    /// Agents may not, whatever a server was started with.
    Deny,
}

/// What a person has set for one vault on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Unset: granted by configuring a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Setting>,
    /// Unset: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Setting>,
    /// Unset: off.
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    pub moving: Option<Setting>,
    /// Unset: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<Setting>,
}

impl Settings {
    /// Returns the setting of one switch.
    pub fn get(&self, switch: Switch) -> Option<Setting> {
        match switch {
            Switch::Read => self.read,
            Switch::Write => self.write,
            Switch::Move => self.moving,
            Switch::Delete => self.delete,
        }
    }

    /// Sets one switch, or takes its setting back with `None`.
    pub fn set(&mut self, switch: Switch, setting: Option<Setting>) {
        match switch {
            Switch::Read => self.read = setting,
            Switch::Write => self.write = setting,
            Switch::Move => self.moving = setting,
            Switch::Delete => self.delete = setting,
        }
    }
}

/// What one process was started with (`--allow write,move`): read always, the others when named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted(pub Vec<Switch>);

/// Tells whether agents may do what `switch` stands for.
///
/// A persisted deny beats what the process was started with; move and delete need write too. Source: CONTRACT.md
/// section 6.
///
/// ```
/// use vault_core::switches::{Granted, Setting, Settings, Switch, allows};
/// let mut settings = Settings::default();
/// assert!(!allows(&settings, &Granted::default(), Switch::Write));
/// settings.set(Switch::Write, Some(Setting::Allow));
/// assert!(allows(&settings, &Granted::default(), Switch::Write));
/// ```
pub fn allows(settings: &Settings, granted: &Granted, switch: Switch) -> bool {
    blocking(settings, granted, switch).is_none()
}

/// Returns the switch that a person must turn on before agents may do what `switch` stands for: read comes before write,
/// since every change tells what is there, and write before move and delete. `None` when they may.
pub fn blocking(settings: &Settings, granted: &Granted, switch: Switch) -> Option<Switch> {
    let needed: &[Switch] = match switch {
        Switch::Read => &[Switch::Read],
        Switch::Write => &[Switch::Read, Switch::Write],
        Switch::Move => &[Switch::Read, Switch::Write, Switch::Move],
        Switch::Delete => &[Switch::Read, Switch::Write, Switch::Delete],
    };
    needed.iter().copied().find(|switch| !is_on(settings, granted, *switch))
}

fn is_on(settings: &Settings, granted: &Granted, switch: Switch) -> bool {
    match settings.get(switch) {
        Some(setting) => setting == Setting::Allow,
        None => switch == Switch::Read || granted.0.contains(&switch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persisted_deny_beats_what_the_process_was_started_with() {
        let mut settings = Settings::default();
        let granted = Granted(vec![Switch::Write, Switch::Move]);
        assert!(allows(&settings, &granted, Switch::Move));
        settings.set(Switch::Write, Some(Setting::Deny));
        assert!(!allows(&settings, &granted, Switch::Write));
        assert!(!allows(&settings, &granted, Switch::Move), "moving works only while write is on");
        assert_eq!(blocking(&settings, &granted, Switch::Move), Some(Switch::Write));
        assert_eq!(blocking(&settings, &granted, Switch::Delete), Some(Switch::Write));
        assert!(allows(&settings, &granted, Switch::Read));
        settings.set(Switch::Read, Some(Setting::Deny));
        assert!(!allows(&settings, &granted, Switch::Read));
        settings.set(Switch::Write, Some(Setting::Allow));
        assert_eq!(blocking(&settings, &granted, Switch::Write), Some(Switch::Read), "a change tells what is there");
    }
}
