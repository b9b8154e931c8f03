//! Letters of all scripts: which kind of run each belongs to, and the form under which they are compared.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// How a character takes part in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A letter or digit of a script that parts words by spaces.
    Word,
    /// A character of a script that does not.
    Spaceless,
    /// A picture that means something by itself.
    Emoji,
    /// Part of the character before it, and without a meaning here.
    Ignored,
    /// Everything else parts words.
    Other,
}

/// Tells the kind of a folded character.
pub(super) fn kind(c: char) -> Kind {
    match c {
        '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{200c}' | '\u{200d}' | '\u{ad}' => Kind::Ignored,
        _ if is_spaceless(c) => Kind::Spaceless,
        '\u{2600}'..='\u{27bf}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f300}'..='\u{1faff}' | '\u{2b50}' | '\u{2b55}' => {
            Kind::Emoji
        }
        _ if c.is_alphanumeric() || is_combining_mark(c) => Kind::Word,
        _ => Kind::Other,
    }
}

/// Han, Kana, Bopomofo, Hangul, Thai, Lao, Khmer, Myanmar. Korean has spaces, but particles are written onto its words.
pub(super) fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}' | '\u{0e81}'..='\u{0ece}'
        | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17dd}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{3099}'..='\u{309a}' | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3105}'..='\u{312f}' | '\u{3131}'..='\u{318e}'
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7a3}' | '\u{d7b0}'..='\u{d7fb}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

/// Tells whether a character is written onto the one before it, so that both are folded together.
pub(super) fn joins_previous(c: char) -> bool {
    // half-width voice marks, and the vowels and ends of Korean syllables in parts
    matches!(c, '\u{ff9e}' | '\u{ff9f}' | '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}') || is_combining_mark(c)
}

/// Gives each character of the form under which `text`, a character with its marks, is compared: of compatible width,
/// without case, without accents.
pub(super) fn fold(text: &str, each: &mut dyn FnMut(char)) {
    let mut letters = text.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && (letter.is_ascii() || is_plain(letter))
    {
        return each(letter.to_ascii_lowercase());
    }
    let bare = text.nfkc().default_case_fold().nfkc().nfd().filter(|c| !is_accent(*c));
    bare.nfc().for_each(|c| match c {
        'æ' => ['a', 'e'].into_iter().for_each(&mut *each),
        'œ' => ['o', 'e'].into_iter().for_each(&mut *each),
        'þ' => ['t', 'h'].into_iter().for_each(&mut *each),
        'ø' => each('o'),
        'đ' | 'ð' => each('d'),
        'ł' => each('l'),
        'ħ' => each('h'),
        'ı' => each('i'),
        c => each(c),
    });
}

/// Tells whether a character is its own folded form.
fn is_plain(c: char) -> bool {
    matches!(c,
        '\u{0e01}'..='\u{0e32}' | '\u{0e34}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}' | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}')
}

/// Marks that people leave out when they type: those of Latin, Greek and Cyrillic letters, and the vowel signs of Hebrew
/// and Arabic with the stroke that only stretches a word.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}'..='\u{05c2}' | '\u{05c4}'..='\u{05c7}'
        | '\u{0610}'..='\u{061a}' | '\u{0640}' | '\u{064b}'..='\u{065f}' | '\u{0670}' | '\u{06d6}'..='\u{06dc}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_compared_without_case_width_and_accents() {
        let folded = |text: &str| {
            let mut out = String::new();
            let mut at = 0;
            let ends = text.char_indices().chain([(text.len(), 'x')]);
            for (end, c) in ends.skip(1) {
                if end == text.len() || !joins_previous(c) {
                    fold(&text[at..end], &mut |c| out.push(c));
                    at = end;
                }
            }
            out
        };
        let cases = [
            ("Résumé", "resume"),
            ("re\u{301}sume\u{301}", "resume"),
            ("STRAẞE straße", "strasse strasse"),
            ("İstanbul ılık", "istanbul ilik"),
            ("Ærøskøbing Łódź", "aeroskobing lodz"),
            ("Ελλάδα ΣΟΦΌΣ", "ελλαδα σοφοσ"),
            ("Ёжик", "ежик"),
            ("ﬁne ＡＢＣ１", "fine abc1"),
            ("ｶﾞｷﾞ ガギ", "ガギ ガギ"),
            ("か\u{3099}", "が"),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "한글"),
            ("العَرَبِيَّة", "العربية"),
            ("שָׁלוֹם", "שלום"),
            ("ก็ น้ำ", "ก็ น้ํา"),
            ("हिन्दी", "हिन्दी"),
        ];
        for (text, expected) in cases {
            assert_eq!(folded(text), expected, "{text}");
        }
    }
}
