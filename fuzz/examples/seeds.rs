//! Writes the seeds that follow from the code into the corpus.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for seed in truthfed_fuzz::seeds() {
        let folder = corpus.join(seed.target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(seed.name), seed.bytes)?;
    }
    Ok(())
}
