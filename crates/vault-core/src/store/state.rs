//! What belongs to this machine and not to the vault: who we are, and what a person has switched on.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::disk::Stat;
use crate::switches::{Setting, Settings, Switch};

/// Names this machine in the vault's log without telling which one it is: a hash of its id, host name and user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId(String);

impl MachineId {
    /// Names the machine that has this secret, e.g. what `/etc/machine-id` holds.
    pub fn of(secret: &[u8]) -> MachineId {
        let hash = blake3::derive_key("vault machine id v1", secret);
        MachineId(hash[..8].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the name: 16 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The folder where this machine keeps what it knows of one vault.
#[derive(Debug, Clone)]
pub(super) struct State {
    root: PathBuf,
    base: PathBuf,
    vault: PathBuf,
    cache: PathBuf,
}

impl State {
    /// Finds the folder of a vault by its canonical path and its identity on this machine. Nothing is made.
    pub(super) fn of(root: &Path, stat: &Stat) -> State {
        let base = base_folder();
        let mut hash = blake3::Hasher::new_derive_key("vault id v1");
        hash.update(root.as_os_str().as_encoded_bytes());
        hash.update(&stat.device.to_le_bytes()).update(&stat.inode.to_le_bytes());
        let id = hash.finalize().to_hex();
        let id = &id.as_str()[..32];
        State { root: root.to_owned(), vault: base.join(id), cache: cache_folder().join(id), base }
    }

    pub(super) fn with_cache(self, folder: &Path) -> State {
        State { cache: folder.to_owned(), ..self }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn cache(&self) -> &Path {
        &self.cache
    }

    pub(super) fn folder(&self) -> &Path {
        &self.vault
    }

    /// Reads what a person has set. A file that cannot be understood allows nothing, and says so.
    pub(super) fn settings(&self) -> io::Result<Settings> {
        match fs::read(self.vault.join(SETTINGS)) {
            Ok(bytes) => understand(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Settings::default()),
            Err(error) => Err(error),
        }
    }

    /// Changes what a person has set. Starts from "deny everything" when the file cannot be understood.
    pub(super) fn change(&self, change: impl FnOnce(&mut Settings)) -> io::Result<Settings> {
        make_private_folder(&self.vault)?;
        let lock = File::options().create(true).append(true).open(self.vault.join("lock"))?;
        lock.lock()?;
        let mut settings = match self.settings() {
            Ok(settings) => settings,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => nothing_allowed(),
            Err(error) => return Err(error),
        };
        change(&mut settings);
        write_private(&self.vault, SETTINGS, &serde_json::to_vec_pretty(&settings)?)?;
        Ok(settings)
    }

    /// Names this machine. Where the system has no id of its own, a random one is made and kept.
    pub(super) fn machine(&self) -> io::Result<MachineId> {
        let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| fs::read(path).ok());
        let id = id.filter(|id| id.len() >= 16).map_or_else(|| self.own_machine_id(), Ok)?;
        Ok(MachineId::of(&[&id[..], b"\0", host().as_bytes(), b"\0", user().as_bytes()].concat()))
    }

    fn own_machine_id(&self) -> io::Result<Vec<u8>> {
        if let Ok(id) = fs::read(self.base.join(MACHINE)) {
            return Ok(id);
        }
        make_private_folder(&self.base)?;
        let lock = File::options().create(true).append(true).open(self.base.join("lock"))?;
        lock.lock()?;
        if let Ok(id) = fs::read(self.base.join(MACHINE)) {
            return Ok(id);
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        write_private(&self.base, MACHINE, &random)?;
        Ok(random.to_vec())
    }
}

const SETTINGS: &str = "switches.json";
const MACHINE: &str = "machine";

/// By way of a map: a list would be taken for settings that are all unset.
fn understand(bytes: &[u8]) -> serde_json::Result<Settings> {
    let map: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes)?;
    serde_json::from_value(map.into())
}

fn nothing_allowed() -> Settings {
    let mut settings = Settings::default();
    for switch in Switch::ALL {
        settings.set(switch, Some(Setting::Deny));
    }
    settings
}

/// New file, synced, renamed over the old one: a reader sees one or the other.
fn write_private(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temp = folder.join(format!(".{name}.{}", std::process::id()));
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temp)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temp, folder.join(name))?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Makes a folder, and those above it, that only the present user may enter. One that is there stays as it is. Errors are
/// the system's.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Where programs keep state for the present user.
fn base_folder() -> PathBuf {
    user_folder("XDG_STATE_HOME", &[".local", "state"], &["Library", "Application Support"]).join("vault")
}

/// Where programs keep for the present user what they can make again.
fn cache_folder() -> PathBuf {
    let folder = user_folder("XDG_CACHE_HOME", &[".cache"], &["Library", "Caches"]).join("vault");
    // state and cache share a folder there
    if cfg!(windows) { folder.join("cache") } else { folder }
}

/// `named` is the variable that names the folder on systems that follow the XDG rules; both lists begin at home.
fn user_folder(named: &str, usual: &[&str], on_mac: &[&str]) -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || variable("HOME").or_else(|| variable("USERPROFILE")).unwrap_or_else(|| PathBuf::from("/"));
    let below_home = |names: &[&str]| home().join(names.iter().collect::<PathBuf>());
    if cfg!(windows) {
        variable("LOCALAPPDATA").unwrap_or_else(|| below_home(&["AppData", "Local"]))
    } else if cfg!(target_os = "macos") {
        below_home(on_mac)
    } else {
        variable(named).filter(|path| path.is_absolute()).unwrap_or_else(|| below_home(usual))
    }
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

#[cfg(unix)]
fn user() -> String {
    rustix::process::getuid().as_raw().to_string()
}

#[cfg(not(unix))]
fn user() -> String {
    std::env::var("USERNAME").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(dir: &Path) -> State {
        let cache = dir.join("cache/one");
        State { root: dir.to_owned(), base: dir.join("state"), vault: dir.join("state/one"), cache }
    }

    #[test]
    fn settings_are_shared_at_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (state(dir.path()), state(dir.path()));
        assert_eq!(one.settings().unwrap(), Settings::default());
        assert!(!one.base.exists(), "reading makes nothing");
        one.change(|settings| settings.set(Switch::Write, Some(Setting::Allow))).unwrap();
        assert_eq!(other.settings().unwrap().write, Some(Setting::Allow));
        other.change(|settings| settings.set(Switch::Move, Some(Setting::Deny))).unwrap();
        let settings = one.settings().unwrap();
        assert_eq!((settings.write, settings.moving), (Some(Setting::Allow), Some(Setting::Deny)));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(one.vault.clone()), mode(one.vault.join(SETTINGS))), (0o700, 0o600));
        }
    }

    #[test]
    fn a_damaged_setting_allows_nothing_until_a_person_sets_it_again() {
        let dir = tempfile::tempdir().unwrap();
        let state = state(dir.path());
        fs::create_dir_all(&state.vault).unwrap();
        for damaged in ["", "{", "[]", r#"{"write":"yes"}"#] {
            fs::write(state.vault.join(SETTINGS), damaged).unwrap();
            assert_eq!(state.settings().unwrap_err().kind(), io::ErrorKind::InvalidData, "{damaged}");
        }
        let settings = state.change(|settings| settings.set(Switch::Read, Some(Setting::Allow))).unwrap();
        assert_eq!((settings.read, settings.write), (Some(Setting::Allow), Some(Setting::Deny)));
        assert_eq!(state.settings().unwrap(), settings);
    }

    #[test]
    fn a_machine_keeps_its_name_and_does_not_tell_its_id() {
        let dir = tempfile::tempdir().unwrap();
        let state = state(dir.path());
        let name = state.machine().unwrap();
        assert_eq!(state.machine().unwrap(), name);
        assert_eq!(state.own_machine_id().unwrap(), state.own_machine_id().unwrap());
        assert_eq!(name.as_str().len(), 16);
    }
}
