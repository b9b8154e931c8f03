//! What the tests of both programs share: a vault and a home of their own, and what a program left behind.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A vault and a home of its own, in a folder that goes away.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    /// Makes a place whose vault is empty.
    pub(crate) fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        for folder in ["vault", "home", "state", "cache", "config", "data"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Place { root }
    }

    /// Makes a place whose vault is a copy of the sample vault.
    pub(crate) fn with_sample_vault() -> Place {
        let place = Place::new();
        copy_folder(&repository().join("docs/sample-vault"), &place.vault_folder());
        place
    }

    pub(crate) fn note(self, path: &str, text: &str) -> Place {
        let file = self.vault_folder().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.vault_folder().join(path)).unwrap()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn vault_folder(&self) -> PathBuf {
        self.root.path().join("vault")
    }

    /// Returns every file of the vault with its bytes, by path.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> =
            files_in(&self.vault_folder()).into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect();
        files.sort();
        files
    }

    /// Returns `program` with an environment that holds nothing of the machine's but `PATH`.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(built(program));
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        for (name, folder) in [
            ("VAULT", "vault"),
            ("HOME", "home"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
        ] {
            command.env(name, self.root.path().join(folder));
        }
        command.current_dir(self.root.path()).args(arguments);
        command
    }

    /// Runs the `vault` command.
    pub(crate) fn vault(&self, arguments: &[&str]) -> Output {
        self.vault_with_input(arguments, b"")
    }

    pub(crate) fn vault_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command("vault", arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that reads no input may be gone before it gets any.
        let _written = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }
}

/// Returns the folder of the workspace.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a program of the workspace, built like this test.
fn built(program: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let program = folder.join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "build {} first, or test the whole workspace", program.display());
    program
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

fn copy_folder(from: &Path, to: &Path) {
    for file in files_in(from) {
        let copy = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(file, copy).unwrap();
    }
}

/// What a finished command left behind.
pub(crate) trait Finished {
    fn code(&self) -> i32;
    fn stdout_text(&self) -> String;
    fn stderr_text(&self) -> String;
    fn json(&self) -> Value;
    /// Returns it when the command succeeded.
    fn well(self) -> Self;
}

impl Finished for Output {
    fn code(&self) -> i32 {
        self.status.code().expect("the command ends by itself")
    }

    fn stdout_text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    fn stderr_text(&self) -> String {
        String::from_utf8(self.stderr.clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout_text()).unwrap_or_else(|_| panic!("not JSON: {}", self.stdout_text()))
    }

    fn well(self) -> Output {
        assert!(self.status.success(), "{}{}", self.stdout_text(), self.stderr_text());
        self
    }
}
