//! A figure as files: SVG and PDF for papers, PNG for slides, CSV for everyone's own plots.
//!
//! Promise: the same figure gives the same bytes, for only the embedded font is ever used and no file holds a time.
//!
//! Not here: drawing ([`chart`](super::chart)).

mod pdf;
mod png;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use resvg::usvg::{Options, Tree, fontdb};

use super::chart::Figure;
use super::text::{FAMILY, FONT};

/// Why a figure was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Caller: choose another id.
    #[error("figure id {id:?} cannot name files: use letters, digits, - and _")]
    Id { id: String },
    /// Machine: no such place, no permission, or no space.
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    /// Caller: the figure has too many charts to be one picture.
    #[error("figure {id} is too large for a picture: {width} x {height}")]
    Size { id: String, width: u32, height: u32 },
    /// Ours: the drawing is not what a converter takes. Please report it.
    #[error("figure {id} cannot become {format}: {reason}")]
    Convert { id: String, format: &'static str, reason: String },
}

/// Writes the files of a figure into a folder, which is made when it is missing.
pub fn write_figure(folder: &Path, figure: &Figure) -> Result<(), ExportError> {
    let files = figure_files(figure)?;
    std::fs::create_dir_all(folder).map_err(|source| ExportError::Write { path: folder.to_owned(), source })?;
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|source| ExportError::Write { path, source })?;
    }
    Ok(())
}

/// The files of a figure, `<id>.svg`, `<id>.pdf`, `<id>.png` and `<id>.csv`, by name.
pub fn figure_files(figure: &Figure) -> Result<[(String, Vec<u8>); 4], ExportError> {
    if !is_file_name(&figure.id) {
        return Err(ExportError::Id { id: figure.id.clone() });
    }
    let svg = figure.to_svg();
    let tree = parse(&figure.id, &svg)?;
    let files = [
        ("svg", svg.clone().into_bytes()),
        ("pdf", to_pdf(&figure.id, &tree)?),
        ("png", to_png(&figure.id, &tree)?),
        ("csv", figure.to_csv().into_bytes()),
    ];
    Ok(files.map(|(extension, bytes)| (format!("{}.{extension}", figure.id), bytes)))
}

fn is_file_name(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|character| character.is_ascii_alphanumeric() || "-_".contains(character))
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
