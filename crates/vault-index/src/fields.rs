//! What the index holds of a file: its fields, and the bridge from the analyser of `vault-core` to the index's.

use std::sync::Arc;

use tantivy::TantivyDocument;
use tantivy::schema::{
    BytesOptions, FAST, Field, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};
use vault_core::VaultPath;
use vault_core::catalog::{Note, NoteParts};
use vault_core::index::{Told, path_key};
use vault_core::path::folded;
use vault_core::search::{Analyser, N_FIELDS, Searched};

/// Name of our analyser in the index.
const ANALYSER: &str = "vault";

/// The fields of the index.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// Path, as it is on disk: what a file is known by.
    pub(crate) path: Field,
    /// Path, folded, for filters.
    pub(crate) place: Field,
    /// Tags, folders and the like, for filters.
    pub(crate) labels: Field,
    /// What the catalog keeps of the file.
    pub(crate) row: Field,
    /// When it changed last, in nanoseconds.
    pub(crate) updated: Field,
    /// What breaks ties.
    pub(crate) key: Field,
    /// The searched texts.
    pub(crate) words: [Field; N_FIELDS],
}

impl Fields {
    pub(crate) fn new() -> Fields {
        let mut builder = Schema::builder();
        let exact = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::Basic)
            .set_fieldnorms(false);
        let exact = TextOptions::default().set_indexing_options(exact);
        let words = TextFieldIndexing::default()
            .set_tokenizer(ANALYSER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let words = TextOptions::default().set_indexing_options(words);
        let [path, place, labels] = ["path", "place", "labels"].map(|name| builder.add_text_field(name, exact.clone()));
        let row = builder.add_bytes_field("row", BytesOptions::from(STORED));
        let updated = builder.add_i64_field("updated", NumericOptions::from(FAST));
        let key = builder.add_u64_field("key", NumericOptions::from(FAST));
        let words = ["title", "tags", "words_of_path", "headings", "body"]
            .map(|name| builder.add_text_field(name, words.clone()));
        Fields { schema: builder.build(), path, place, labels, row, updated, key, words }
    }

    /// Makes the index's entry of a file.
    pub(crate) fn document(&self, path: &VaultPath, told: &Told) -> TantivyDocument {
        let searched = searched(path, told);
        let mut document = TantivyDocument::default();
        document.add_text(self.path, path.as_str());
        document.add_text(self.place, folded(path.as_str()));
        searched.labels().iter().for_each(|label| document.add_text(self.labels, label));
        document.add_bytes(self.row, &pack(path, &told.note));
        document.add_i64(self.updated, updated(&told.note));
        document.add_u64(self.key, path_key(path));
        for (field, text) in self.words.iter().zip(searched.texts()) {
            if !text.is_empty() {
                document.add_text(*field, &**text);
            }
        }
        document
    }
}

/// Returns the searched texts of a file.
pub(crate) fn searched<'a>(path: &'a VaultPath, told: &'a Told) -> Searched<'a> {
    match &told.document {
        Some(document) => Searched::of_note(path, &told.note, document, &told.text),
        None => Searched::of_sheet(path, &told.text),
    }
}

pub(crate) fn updated(note: &Note) -> i64 {
    i64::try_from(note.stat.modified.as_nanosecond()).unwrap_or(i64::MAX)
}

/// Writes what the catalog keeps of a file.
fn pack(path: &VaultPath, note: &Arc<Note>) -> Vec<u8> {
    postcard::to_stdvec(&(path.as_str(), NoteParts::of(path, note))).expect("parts of a note are plain data")
}

/// Reads what [`pack`] wrote.
pub(crate) fn unpack(row: &[u8]) -> Option<(VaultPath, Arc<Note>)> {
    let (path, parts): (&str, NoteParts) = postcard::from_bytes(row).ok()?;
    let path = VaultPath::parse(path).ok()?;
    let note = parts.into_note(&path);
    Some((path, Arc::new(note)))
}

/// Returns the analysers that the index needs.
pub(crate) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(ANALYSER, TextAnalyzer::from(Words::default()));
    manager
}

/// Our analyser as the index calls it.
#[derive(Default)]
struct Words {
    analyser: Analyser,
    /// The terms of a text, one after another.
    letters: String,
    /// Where each ends in there, and its position in the text.
    terms: Vec<(usize, u32)>,
}

impl Clone for Words {
    fn clone(&self) -> Words {
        Words::default()
    }
}

impl Tokenizer for Words {
    type TokenStream<'a> = Terms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms<'a> {
        let Words { analyser, letters, terms } = self;
        letters.clear();
        terms.clear();
        analyser.analyse(text, 0, &mut |term, position, _| {
            letters.push_str(term);
            terms.push((letters.len(), position));
        });
        Terms { letters, terms: terms.iter(), begin: 0, token: Token::default() }
    }
}

/// The terms of one text, in order.
struct Terms<'a> {
    letters: &'a str,
    terms: std::slice::Iter<'a, (usize, u32)>,
    begin: usize,
    token: Token,
}

impl TokenStream for Terms<'_> {
    fn advance(&mut self) -> bool {
        let Some((end, position)) = self.terms.next() else { return false };
        self.token.text.clear();
        self.token.text.push_str(&self.letters[self.begin..*end]);
        self.token.position = *position as usize;
        self.begin = *end;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::INDEX_VERSION;

    /// Whoever changes terms or rows raises the version with this: an older index is read otherwise.
    #[test]
    fn terms_and_rows_are_those_of_this_version() {
        let mut words = Words::default();
        let mut stream = words.token_stream("Running snake_case, Café v1.2 検索中");
        let mut terms = vec![];
        while stream.advance() {
            terms.push(format!("{}@{}", stream.token().text.escape_debug(), stream.token().position));
        }
        let path = VaultPath::parse("a/x.md").expect("a path");
        let epoch = Default::default();
        let stat = vault_core::store::Stat {
            kind: vault_core::store::EntryKind::File,
            size: 300,
            modified: epoch,
            changed: epoch,
            created: None,
            inode: 7,
            device: 8,
            writable: true,
        };
        let note = Note::new(&path, stat, None, epoch);
        let row: String = pack(&path, &Arc::new(note)).iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = "running@0 =run@0 snake@1 case@2 cafe@3 v1@4 1@4 2@5 検@6 検索@6 索中@7 中@8";
        assert_eq!((INDEX_VERSION, terms.join(" ").as_str()), (1, expected));
        assert_eq!(row, "06612f782e6d64ac020000000708010000000000000000");
    }
}
