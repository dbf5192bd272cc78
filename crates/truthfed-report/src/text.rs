//! The one font of the figures, and how much room its text takes.
//!
//! Figures must look the same on every machine, so the font is part of the program: Inter 4.1 under the SIL Open
//! Font License (`font/OFL.txt`), cut to Latin, Greek and signs of mathematics by `font/subset.py`. Widths leave out
//! kerning, which only ever makes lines shorter by a hair.

use std::sync::LazyLock;

use ttf_parser::Face;

pub(super) static FONT: &[u8] = include_bytes!("font/Inter-Figures.ttf");

/// The name of the family inside the file.
pub(super) const FAMILY: &str = "Inter";

/// What a figure asks for: our font, else the narrower ones that machines have.
pub(super) const FAMILIES: &str = "Inter, Helvetica, Arial, sans-serif";

/// Height of capital letters and digits, as a share of the font size.
pub(super) const CAP_HEIGHT: f64 = 0.7275;

/// Distance of lines, as a share of the font size: letters with accents do not touch the line above.
pub(super) const LEADING: f64 = 1.3;

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FONT, 0).expect("the font is embedded and was parsed by the tests"));

pub(super) fn width(text: &str, size: f64) -> f64 {
    let units: f64 = text.chars().map(advance).sum();
    units * size / f64::from(FACE.units_per_em())
}

pub(super) fn widest<'a>(lines: impl IntoIterator<Item = &'a str>, size: f64) -> f64 {
    lines.into_iter().map(|line| width(line, size)).fold(0.0, f64::max)
}

/// Breaks text into lines of at most that width, after spaces and hyphens. A word that is wider stays whole.
pub(super) fn wrap(text: &str, size: f64, limit: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        let longer = format!("{line}{piece}");
        if !line.is_empty() && width(longer.trim_end(), size) > limit {
            lines.push(line.trim_end().to_owned());
            line = piece.to_owned();
        } else {
            line = longer;
        }
    }
    lines.push(line.trim_end().to_owned());
    lines.retain(|line| !line.is_empty());
    lines
}

fn advance(character: char) -> f64 {
    let glyph = FACE.glyph_index(character);
    let units = glyph.and_then(|glyph| FACE.glyph_hor_advance(glyph));
    // What the font lacks is drawn by another one, whose letters are about that wide.
    units.map_or(f64::from(FACE.units_per_em()) * 0.6, f64::from)
}

/// Splits where a line may end: after a space, and after a hyphen between letters.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut before) = (0, ' ');
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let hyphen = character == '-' && before.is_alphanumeric() && next.is_some_and(char::is_alphabetic);
        if hyphen || (character.is_whitespace() && next.is_some_and(|next| !next.is_whitespace())) {
            pieces.push(&text[start..at + character.len_utf8()]);
            start = at + character.len_utf8();
        }
        before = character;
    }
    pieces.push(&text[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits_are_equally_wide() {
        let first = width("0", 10.0);
        assert!(first > 5.0 && first < 8.0);
        assert!(('1'..='9').all(|digit| width(&digit.to_string(), 10.0) == first));
    }

    #[test]
    fn the_font_has_greek_and_the_signs_of_tick_labels() {
        let needed = "αβγδεθλμπσφωΔΣΩ0123456789⁰¹²³⁴⁵⁶⁷⁸⁹⁻−×±≤≥≈≠∞√→…–·ε̂";
        let missing: Vec<char> = needed.chars().filter(|c| FACE.glyph_index(*c).is_none()).collect();
        assert_eq!(missing, [] as [char; 0]);
    }

    #[test]
    fn the_font_is_of_the_family_that_figures_ask_for() {
        let named = FACE.names().into_iter().find(|name| name.name_id == ttf_parser::name_id::FAMILY);
        assert_eq!(named.and_then(|name| name.to_string()).as_deref(), Some(FAMILY));
    }

    #[test]
    fn lines_break_after_spaces_and_hyphens_but_not_inside_numbers() {
        assert_eq!(wrap("truth-fedban at -5", 10.0, 1.0), ["truth-", "fedban", "at", "-5"]);
        assert_eq!(wrap("two words", 10.0, 1000.0), ["two words"]);
        assert_eq!(wrap("", 10.0, 10.0), [] as [&str; 0]);
    }
}
