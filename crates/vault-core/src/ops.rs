//! The list of operations, and what an operation is: one request type that is the MCP tool, the command and the
//! library call.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::call::Call;
use crate::error::VaultError;
use crate::schema;
use crate::switches::Switch;
use crate::vault::Vault;
use crate::version::Version;

mod create_folder;
mod create_note;
mod edit_note;
mod grep_notes;
mod list_files;
mod list_folders;
mod list_notes;
mod read_file;
mod read_note;
mod search_notes;
mod update_note;
mod update_tags;

pub use crate::report::{CapturedLink, DroppedBlock, WriteReport};
pub use create_folder::{CreateFolder, CreateFolderResponse};
pub use create_note::{CreateNote, CreateNoteResponse};
pub use edit_note::{EditNote, EditNoteResponse};
pub use grep_notes::{CountRow, GrepNotes, GrepNotesResponse, LineRow, OutputMode, SkippedRow};
pub use list_files::{FileRow, Include, ListFiles, ListFilesResponse};
pub use list_folders::{FolderRow, ListFolders, ListFoldersResponse};
pub use list_notes::{ListNotes, ListNotesResponse, NoteRow};
pub use read_file::{ReadFile, ReadFileResponse};
pub use read_note::{ReadNote, ReadNoteResponse};
pub use search_notes::{Mode, SearchNotes, SearchNotesResponse, SearchRow};
pub use update_note::{UpdateNote, UpdateNoteResponse};
pub use update_tags::{UpdateTags, UpdateTagsResponse};

/// Every operation of profile `notes`, in the order clients list them.
pub const OPERATIONS: &[Entry] = &[
    Entry::of::<SearchNotes>(),
    Entry::of::<GrepNotes>(),
    Entry::of::<ListNotes>(),
    Entry::of::<ReadNote>(),
    Entry::of::<ListFolders>(),
    Entry::of::<ListFiles>(),
    Entry::of::<ReadFile>(),
    Entry::of::<CreateNote>(),
    Entry::of::<UpdateNote>(),
    Entry::of::<EditNote>(),
    Entry::of::<CreateFolder>(),
    Entry::of::<UpdateTags>(),
];

/// The operations of profile `files`, for programs that think in files, as far as there are any yet.
pub const FILES: &[Entry] = &[Entry::of::<ListFolders>()];

/// One thing a vault can be asked to do. The type is the request; its doc comment and its fields' are what models and
/// `--help` show.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema + Sized + 'static {
    /// Name of the tool, e.g. `read_note`; the command has dashes instead.
    const NAME: &'static str;
    /// The switch that an agent needs.
    const EFFECT: Switch;
    /// Tells whether a call may take something away that was there before.
    const DESTRUCTIVE: bool = false;
    /// Tells whether the same call twice leaves what one leaves.
    const IDEMPOTENT: bool = false;
    /// The answer: JSON for programs, `Display` for people.
    type Response: Serialize + JsonSchema + Display + Send + 'static;

    /// Returns the version of the note that the caller holds after this answer.
    fn version(_response: &Self::Response) -> Option<&Version> {
        None
    }

    /// Does it, or refuses and changes nothing.
    fn run(self, vault: &Vault, call: &Call) -> Result<Self::Response, VaultError>;
}

/// An operation with its types erased: what front-ends loop over.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// See [`Operation::NAME`].
    pub name: &'static str,
    /// See [`Operation::EFFECT`].
    pub effect: Switch,
    /// See [`Operation::DESTRUCTIVE`].
    pub destructive: bool,
    /// See [`Operation::IDEMPOTENT`].
    pub idempotent: bool,
    /// Returns the request's schema, its description included.
    pub input_schema: fn() -> &'static Map<String, Value>,
    /// Returns the response's schema.
    pub output_schema: fn() -> &'static Map<String, Value>,
    run: Run,
}

type Run = fn(Map<String, Value>, &Vault, &Call) -> Result<Reply, VaultError>;

impl Entry {
    /// Erases the types of `O`.
    pub const fn of<O: Operation>() -> Entry {
        Entry {
            name: O::NAME,
            effect: O::EFFECT,
            destructive: O::DESTRUCTIVE,
            idempotent: O::IDEMPOTENT,
            input_schema: schema::schema_of::<O>,
            output_schema: schema::schema_of::<O::Response>,
            run: run_erased::<O>,
        }
    }

    /// Returns what the operation does, for a model or a person: the request type's doc comment.
    pub fn description(&self) -> String {
        match (self.input_schema)().get("description") {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        }
    }

    /// Checks `arguments`, then runs the operation. Permissions are the caller's business.
    ///
    /// `null` is the absence of an argument.
    pub fn call(&self, mut arguments: Map<String, Value>, vault: &Vault, call: &Call) -> Result<Reply, VaultError> {
        arguments.retain(|_, value| !value.is_null());
        arguments.values_mut().for_each(make_whole);
        schema::check((self.input_schema)(), &arguments)?;
        (self.run)(arguments, vault, call)
    }
}

/// The answer of an operation, rendered when asked for.
pub struct Reply {
    answer: Box<dyn Answer + Send>,
    /// Version of the note that the caller holds now, when the answer tells one.
    pub version: Option<Version>,
}

impl Reply {
    /// Returns the answer as programs get it.
    pub fn value(&self) -> Value {
        self.answer.value()
    }

    /// Returns the answer as people read it.
    pub fn text(&self) -> String {
        self.answer.text()
    }
}

trait Answer {
    fn value(&self) -> Value;
    fn text(&self) -> String;
}

impl<R: Serialize + Display> Answer for R {
    fn value(&self) -> Value {
        serde_json::to_value(self).expect("a response has text keys only")
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

fn run_erased<O: Operation>(arguments: Map<String, Value>, vault: &Vault, call: &Call) -> Result<Reply, VaultError> {
    let request: O = serde_json::from_value(Value::Object(arguments)).map_err(argument_error)?;
    let response = request.run(vault, call)?;
    let version = O::version(&response).cloned();
    Ok(Reply { answer: Box::new(response), version })
}

/// `20.0` is the whole number 20, in JSON Schema too.
fn make_whole(value: &mut Value) {
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    if let (Some(whole), true) = (whole, value.is_f64()) {
        *value = Value::from(whole as u64);
    }
}

/// What the schema check left over is a missing argument: serde's "missing field `path`".
fn argument_error(error: serde_json::Error) -> VaultError {
    let message = error.to_string();
    let named = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    match named {
        Some(argument) => VaultError::InvalidArgument { argument: argument.to_owned(), problem: "is missing".into() },
        None => VaultError::InvalidArgument { argument: "arguments".into(), problem: message },
    }
}

/// Writes a number with its noun: `1 note`, `2 notes`.
fn plural(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
