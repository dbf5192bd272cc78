//! Reads whole texts (rounds, configurations, sweeps) from a file or standard input, packed by gzip or not, and writes files whole.

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::Context;
use truthfed_sim::gzip::unpacked;

/// Largest configuration, in bytes: far more than any grid needs.
pub(crate) const MAX_CONFIG: u64 = 16 << 20;
/// Largest round, in bytes: millions of clients in five dimensions.
pub(crate) const MAX_ROUND: u64 = 4 << 30;

/// The name of a source in errors.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads a text of at most `most` bytes; `-` is standard input.
pub(crate) fn read(path: &Path, most: u64) -> anyhow::Result<String> {
    read_text(path, most).with_context(|| format!("cannot read {}", name(path)))
}

fn read_text(path: &Path, most: u64) -> anyhow::Result<String> {
    let mut text = String::new();
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(std::fs::File::open(path)?),
    };
    let bytes = unpacked(source)?.take(most + 1).read_to_string(&mut text)?;
    anyhow::ensure!(bytes as u64 <= most, "it is larger than {most} bytes");
    Ok(text)
}

/// Writes a file whole or not at all, with the permissions of any new file.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".truthfed-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut out = BufWriter::new(builder.tempfile_in(folder)?);
    write(&mut out)?;
    out.into_inner()?.persist(path)?;
    Ok(())
}
