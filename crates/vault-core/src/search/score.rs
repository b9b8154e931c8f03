//! How well a note answers: BM25F, which weighs a word by the field it stands in before it counts how often it occurs.
//!
//! Source: Robertson, Zaragoza, Taylor, "Simple BM25 Extension to Multiple Weighted Fields" (2004).

/// Parts of a note that are searched: title, tags, path, headings, body.
pub const N_FIELDS: usize = 5;

/// What an occurrence counts, by field.
const BOOSTS: [f32; N_FIELDS] = [6.0, 4.0, 1.0, 3.0, 1.0];

/// How much a long field makes an occurrence count less, by field: 0 not at all, 1 in proportion.
const LENGTH: [f32; N_FIELDS] = [0.75, 0.5, 0.75, 0.75, 0.75];

/// How soon further occurrences count less.
const SATURATION: f32 = 2.0;

/// Returns what finding something is worth that `n_with` of `n_docs` notes have.
pub fn idf(n_with: u64, n_docs: u64) -> f32 {
    let (n_with, n_docs) = (n_with as f32, n_docs as f32);
    (1.0 + (n_docs - n_with + 0.5).max(0.0) / (n_with + 0.5)).ln()
}

/// Returns the score of one word or phrase in one note.
///
/// `frequencies`: how often it occurs, by field; `lengths`: how many terms each field has there, `averages`: on average.
pub fn unit_score(
    frequencies: &[f32; N_FIELDS],
    lengths: &[u32; N_FIELDS],
    idf: f32,
    averages: &[f32; N_FIELDS],
) -> f32 {
    let mut weighted = 0.0;
    for field in (0..N_FIELDS).filter(|field| frequencies[*field] > 0.0) {
        let relative = lengths[field] as f32 / averages[field].max(1.0);
        weighted += BOOSTS[field] * frequencies[field] / (1.0 - LENGTH[field] + LENGTH[field] * relative);
    }
    idf * weighted * (SATURATION + 1.0) / (SATURATION + weighted)
}

/// Number of low bits of a length that are kept besides its first one.
const LENGTH_BITS: u32 = 3;

/// Lengths below which each is told apart.
const EXACT_LENGTHS: u32 = 24;

/// Rounds a length down to the steps in which the index keeps lengths: one byte holds all of them.
pub fn in_steps(length: u32) -> u32 {
    let beyond = length.saturating_sub(EXACT_LENGTHS);
    let shift = beyond.checked_ilog2().unwrap_or(0).saturating_sub(LENGTH_BITS);
    length.min(EXACT_LENGTHS) + (beyond >> shift << shift)
}

/// Returns more than any score of something in any note.
pub fn most(idf: f32) -> f32 {
    idf * (SATURATION + 1.0)
}

/// What a query's units are worth, and how long fields are, in the whole vault.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Of the wanted units, and then of the optional ones: see [`idf`].
    pub idfs: Vec<f32>,
    /// How many terms a field has on average.
    pub averages: [f32; N_FIELDS],
    /// What a note gets that holds all wanted units: more than one that lacks some can have.
    pub all: f32,
}

impl Weights {
    /// Weighs units of which so many of `n_docs` notes have each: the wanted ones, then the optional ones.
    pub fn of(n_with: &[u64], n_docs: u64, n_terms: &[u64; N_FIELDS]) -> Weights {
        let n_docs = n_docs.max(1);
        let idfs: Vec<f32> = n_with.iter().map(|n| idf((*n).min(n_docs), n_docs)).collect();
        let all = idfs.iter().map(|idf| most(*idf)).sum();
        Weights { idfs, averages: n_terms.map(|n| n as f32 / n_docs as f32), all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_titles_and_short_notes_count_more() {
        let averages = [3.0, 1.0, 3.0, 10.0, 100.0];
        let score = |frequencies, length, n_with| {
            unit_score(&frequencies, &[3, 1, 3, 10, length], idf(n_with, 1000), &averages)
        };
        let once = [0.0, 0.0, 0.0, 0.0, 1.0];
        assert!(score(once, 100, 1) > score(once, 100, 10));
        assert!(score(once, 50, 10) > score(once, 100, 10));
        assert!(score([1.0, 0.0, 0.0, 0.0, 0.0], 100, 10) > score([0.0, 0.0, 0.0, 1.0, 0.0], 100, 10));
        let twice = score([0.0, 0.0, 0.0, 0.0, 2.0], 100, 10);
        assert!(twice > score(once, 100, 10) && twice < 2.0 * score(once, 100, 10));
        assert!(idf(1000, 1000) > 0.0, "a word that all notes have still counts");
    }
}
