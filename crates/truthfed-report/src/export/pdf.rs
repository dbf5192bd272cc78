//! A figure as PDF, with text as text, and the same bytes each time.
//!
//! svg2pdf lists the resources of a page in the order of a hash map, which is another one in every run. The order
//! means nothing and the names are unique, so the entries are sorted in place: no object moves, and the table of
//! offsets stays right. One font keeps all else in order; a second one would have its objects numbered by chance.

use resvg::usvg::Tree;
use svg2pdf::{ConversionError, ConversionOptions, PageOptions, to_pdf};

/// Pixels of a figure per inch of a page.
const DPI: f32 = 96.0;

/// What stands before the resources of a page.
const RESOURCES: &[u8] = b"/Type /Page\n  /Resources <<\n";

/// What stands before each of their names: the indentation of a dictionary within.
const ENTRY: &[u8] = b"      /";

pub(super) fn encode(tree: &Tree) -> Result<Vec<u8>, ConversionError> {
    let mut bytes = to_pdf(tree, ConversionOptions::default(), PageOptions { dpi: DPI })?;
    sort_resources(&mut bytes);
    Ok(bytes)
}

fn sort_resources(bytes: &mut [u8]) {
    let Some(start) = find(bytes, RESOURCES).map(|at| at + RESOURCES.len()) else { return };
    let Some(length) = find(&bytes[start..], b"\n  >>\n") else { return };
    let resources = &mut bytes[start..start + length];
    let lines: Vec<&[u8]> = resources.split(|byte| *byte == b'\n').collect();
    let mut sorted = Vec::with_capacity(lines.len());
    for run in lines.chunk_by(|a, b| a.starts_with(ENTRY) && b.starts_with(ENTRY)) {
        let mut run = run.to_vec();
        run.sort_unstable();
        sorted.extend(run);
    }
    let sorted = sorted.join(&b'\n');
    resources.copy_from_slice(&sorted);
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_within_their_dictionary_and_nothing_else_moves() {
        let page = |first: &str, second: &str| {
            format!(
                "1 0 obj\n<<\n  /Type /Page\n  /Resources <<\n    /ExtGState <<\n      {first}\n      {second}\n    >>\n    \
                 /Font <<\n      /a 1 0 R\n    >>\n  >>\n  /Z 1\n  /A 2\n>>\nendobj\n"
            )
        };
        let mut bytes = page("/gs1 18 0 R", "/gs0 7 0 R").into_bytes();
        sort_resources(&mut bytes);
        assert_eq!(String::from_utf8(bytes).unwrap(), page("/gs0 7 0 R", "/gs1 18 0 R"));
    }
}
