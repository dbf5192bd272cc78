//! Texts that are read whole: configurations and sweeps, from a file or from standard input.

use std::io::Read;
use std::path::Path;

use anyhow::Context;

/// Largest text that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// What errors call it.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// The whole text; `-` is standard input.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    read_text(path).with_context(|| format!("cannot read {}", name(path)))
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(std::fs::File::open(path)?),
    };
    let bytes = source.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    anyhow::ensure!(bytes as u64 <= MAX_BYTES, "it has more than {MAX_BYTES} bytes");
    Ok(text)
}
