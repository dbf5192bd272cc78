//! A figure as files: SVG and PDF for papers, PNG for slides, CSV for everyone's own plots.
//!
//! Promise: the same figure gives the same bytes, for only the embedded font is ever used and no file holds a time.
//!
//! Not here: drawing ([`chart`](super::chart)).

mod pdf;
mod png;

use std::sync::{Arc, LazyLock};

use resvg::usvg::{Options, Tree, fontdb};

use super::chart::Figure;
use super::text::{FAMILY, FONT};

/// Why a figure has no files.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Caller: choose another id.
    #[error("figure id {id:?} cannot name files: use letters, digits, - and _")]
    Id { id: String },
    /// Caller: the figure has too many charts to be one picture.
    #[error("figure {id} is too large for a picture: {width} x {height}")]
    Size { id: String, width: u32, height: u32 },
    /// Ours: the drawing is not what a converter takes. Please report it.
    #[error("figure {id} cannot become {format}: {reason}")]
    Convert { id: String, format: &'static str, reason: String },
}

/// The files of a figure by name: `<id>.svg`, `<id>.pdf`, `<id>-column.pdf` (3.3 inches wide), `<id>.png` and `<id>.csv`; and
/// `<id>-seeds.csv` if the figure has the values behind its means.
pub fn figure_files(figure: &Figure) -> Result<Vec<(String, Vec<u8>)>, ExportError> {
    let can_name = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if figure.id.is_empty() || !figure.id.chars().all(can_name) {
        return Err(ExportError::Id { id: figure.id.clone() });
    }
    let svg = figure.to_svg();
    let tree = parse(&figure.id, &svg)?;
    let (pdf, png) = (to_pdf(&figure.id, &tree)?, to_png(&figure.id, &tree)?);
    let column = to_pdf(&figure.id, &parse(&figure.id, &figure.for_column().to_svg())?)?;
    let csv = figure.to_csv().into_bytes();
    let files = [(".svg", svg.into_bytes()), (".pdf", pdf), ("-column.pdf", column), (".png", png), (".csv", csv)];
    let seeds = figure.to_seeds_csv().map(|csv| ("-seeds.csv", csv.into_bytes()));
    Ok(files.into_iter().chain(seeds).map(|(ending, bytes)| (format!("{}{ending}", figure.id), bytes)).collect())
}

/// The embedded font and no other, parsed once.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

fn parse(id: &str, svg: &str) -> Result<Tree, ExportError> {
    let options = Options { fontdb: FONTS.clone(), font_family: FAMILY.to_owned(), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|error| failed(id, "SVG", &error))
}

fn to_png(id: &str, tree: &Tree) -> Result<Vec<u8>, ExportError> {
    let (width, height) = png::size(tree);
    let pixels = png::draw(tree).ok_or_else(|| ExportError::Size { id: id.to_owned(), width, height })?;
    png::encode(&pixels).map_err(|error| failed(id, "PNG", &error))
}

fn to_pdf(id: &str, tree: &Tree) -> Result<Vec<u8>, ExportError> {
    pdf::encode(tree).map_err(|error| failed(id, "PDF", &error))
}

fn failed(id: &str, format: &'static str, error: &dyn std::fmt::Display) -> ExportError {
    ExportError::Convert { id: id.to_owned(), format, reason: error.to_string() }
}

#[cfg(test)]
mod tests;
