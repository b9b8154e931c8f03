//! How a change is written down: records that can be checked, one after another, nothing between them.
//!
//! ```text
//! magic 8 | length of head 4 | length of body 4 | checksum 16 | head: JSON | body: zstd frames, one per content
//! ```
//! Numbers are little-endian; the checksum is the start of the BLAKE3 hash of everything after it and of both lengths.
//! A reader that meets anything else looks for the next magic, so one damaged record does not hide the others.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::call::OperationId;
use crate::path::VaultPath;
use crate::version::Version;

const MAGIC: &[u8; 8] = b"vaultlg1";
const CHECKSUM: usize = 16;
/// Bytes of a record before its head.
pub(super) const FRAME: usize = MAGIC.len() + 4 + 4 + CHECKSUM;
const LEVEL: i32 = 3;

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordKind {
    /// A file is about to get the content `after`.
    Write,
    /// A folder is about to be made.
    Folder,
    /// Content that a program which does not ask us had saved, kept because another one took its place.
    Outside,
    /// The change of that `id` has been made.
    Done,
    /// The change of that `id` was not made.
    Void,
    /// First record of a segment: repeats the changes that were open when it was started.
    Opening,
}

/// One record of the log, without the contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What it says.
    pub kind: RecordKind,
    /// Name of this change, or of the change that it is about; also the stem of its temporary file's name.
    pub id: String,
    /// Operation that the change is part of.
    pub operation: OperationId,
    /// When.
    #[serde(with = "rfc3339")]
    pub time: Timestamp,
    /// Operation's name, e.g. `edit_note`.
    pub tool: String,
    /// Program on whose behalf it ran.
    pub client: String,
    /// Files that change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Contents in the body, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) contents: Vec<Piece>,
    /// Changes that were open, in an opening.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) open: Vec<Record>,
}

/// What one change does to one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file.
    pub path: VaultPath,
    /// Its version before; `None` when it was not there.
    pub before: Option<Version>,
    /// Its version after; `None` when it is gone, and for folders.
    pub after: Option<Version>,
}

/// One content in a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Piece {
    pub version: Version,
    pub size: usize,
    pub packed: usize,
}

/// A record and where it lies in its segment.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub record: Record,
    pub offset: u64,
}

/// What a stretch of a segment holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub records: Vec<Placed>,
    /// Offsets where something else than a record lies before another record.
    pub damaged: Vec<u64>,
    /// End of the last whole record.
    pub end: u64,
    /// Whether something follows that is no whole record.
    pub torn: bool,
}

/// Writes records; keeps the compressor's memory between them.
pub(super) struct Encoder(zstd::bulk::Compressor<'static>);

impl Encoder {
    pub(super) fn new() -> std::io::Result<Encoder> {
        zstd::bulk::Compressor::new(LEVEL).map(Encoder)
    }

    /// Returns the bytes of a record that carries these contents.
    pub(super) fn encode(&mut self, record: &mut Record, contents: &[(&Version, &[u8])]) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        record.contents.clear();
        for (version, bytes) in contents {
            let packed = self.0.compress(bytes)?;
            let piece = Piece { version: (*version).clone(), size: bytes.len(), packed: packed.len() };
            record.contents.push(piece);
            body.extend_from_slice(&packed);
        }
        let head = serde_json::to_vec(record)?;
        Ok(frame(&head, &body))
    }
}

fn frame(head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRAME + head.len() + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(&bytes[MAGIC.len()..], head, body));
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(body);
    bytes
}

fn checksum(lengths: &[u8], head: &[u8], body: &[u8]) -> [u8; CHECKSUM] {
    let mut hash = blake3::Hasher::new();
    hash.update(lengths).update(head).update(body);
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&hash.finalize().as_bytes()[..CHECKSUM]);
    sum
}

/// Reads every record in `bytes`, which begin at `base` in their segment.
pub(super) fn scan(bytes: &[u8], base: u64) -> Scan {
    let mut scan = Scan { end: base, ..Scan::default() };
    let mut at = 0;
    let mut bad = None;
    while at < bytes.len() {
        if let Some((record, length)) = decode(&bytes[at..]) {
            scan.damaged.extend(bad.take());
            scan.records.push(Placed { record, offset: base + at as u64 });
            at += length;
            scan.end = base + at as u64;
        } else {
            bad.get_or_insert(base + at as u64);
            at = next_magic(bytes, at + 1);
        }
    }
    scan.torn = bad.is_some();
    scan
}

fn next_magic(bytes: &[u8], from: usize) -> usize {
    let found = bytes[from..].windows(MAGIC.len()).position(|window| window == MAGIC);
    found.map_or(bytes.len(), |place| from + place)
}

/// Reads the record at the start of `bytes` and its length.
fn decode(bytes: &[u8]) -> Option<(Record, usize)> {
    let (head, body) = split(bytes)?;
    let record = serde_json::from_slice(head).ok()?;
    Some((record, FRAME + head.len() + body.len()))
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (lengths, rest) = rest.split_at_checked(8)?;
    let (sum, rest) = rest.split_at_checked(CHECKSUM)?;
    let length = |at: usize| u32::from_le_bytes([lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]]);
    let (head, rest) = rest.split_at_checked(length(0) as usize)?;
    let body = rest.get(..length(4) as usize)?;
    (checksum(lengths, head, body) == sum).then_some((head, body))
}

/// Takes one content out of a record's bytes. Whatever does not have the promised version is not served.
pub(super) fn unpack(bytes: &[u8], version: &Version) -> Option<Vec<u8>> {
    let (head, body) = split(bytes)?;
    let record: Record = serde_json::from_slice(head).ok()?;
    let mut at = 0;
    for piece in &record.contents {
        if &piece.version == version {
            let content = zstd::bulk::decompress(body.get(at..at + piece.packed)?, piece.size).ok()?;
            return (&Version::of(&content) == version).then_some(content);
        }
        at += piece.packed;
    }
    None
}

mod rfc3339 {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(time)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(id: &str) -> Record {
        Record {
            kind: RecordKind::Write,
            id: id.into(),
            operation: OperationId("00000000000000000001".into()),
            time: Timestamp::UNIX_EPOCH,
            tool: "edit_note".into(),
            client: "test".into(),
            changes: vec![],
            contents: vec![],
            open: vec![],
        }
    }

    fn encoded(id: &str, contents: &[&[u8]]) -> Vec<u8> {
        let versions: Vec<Version> = contents.iter().map(|bytes| Version::of(bytes)).collect();
        let pairs: Vec<(&Version, &[u8])> = versions.iter().zip(contents.iter().copied()).collect();
        Encoder::new().unwrap().encode(&mut sample(id), &pairs).unwrap()
    }

    fn ids(scan: &Scan) -> Vec<&str> {
        scan.records.iter().map(|placed| placed.record.id.as_str()).collect()
    }

    #[test]
    fn contents_of_any_size_come_back() {
        let large: Vec<u8> = (0..5_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for content in [&b""[..], b"x", &large] {
            let bytes = encoded("a", &[b"first", content]);
            assert_eq!(unpack(&bytes, &Version::of(content)).as_deref(), Some(content));
        }
    }

    #[test]
    fn a_record_that_was_cut_short_is_torn_at_every_length() {
        let (first, second) = (encoded("a", &[b"one"]), encoded("b", &[b"two"]));
        for cut in 1..second.len() {
            let scan = scan(&[&first[..], &second[..cut]].concat(), 100);
            assert_eq!((ids(&scan), scan.torn, scan.end), (vec!["a"], true, 100 + first.len() as u64), "{cut}");
        }
    }

    #[test]
    fn one_flipped_byte_hides_one_record_and_is_reported() {
        let parts = [encoded("a", &[b"one"]), encoded("b", &[b"two"]), encoded("c", &[b"three"])];
        for at in 0..parts[1].len() {
            let mut bytes = parts.concat();
            bytes[parts[0].len() + at] ^= 0x40;
            let scan = scan(&bytes, 0);
            assert_eq!((ids(&scan), scan.torn), (vec!["a", "c"], false), "{at}");
            assert_eq!(scan.damaged, [parts[0].len() as u64], "{at}");
            assert_eq!(unpack(&bytes[parts[0].len()..], &Version::of(b"two")), None, "{at}");
        }
    }

    #[test]
    fn foreign_bytes_between_records_are_stepped_over() {
        let bytes = [encoded("a", &[]), b"garbage vaultlg1 garbage".to_vec(), encoded("b", &[])].concat();
        assert_eq!(ids(&scan(&bytes, 0)), ["a", "b"]);
    }
}
