//! Gzip: written where files are long, read wherever a file may be packed.
//!
//! Promises: the same content gives the same bytes, for the header holds neither a time nor a name. What is read is known by
//! its first two bytes and not by its name, so standard input can be packed too.
//!
//! Not here: a bound on what is unpacked. A few bytes can become gigabytes, so every reader counts what it takes.

use std::io::{self, Cursor, Read};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::output::Writer;

/// How every member of a gzip file begins.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Writes what `fill` writes, packed.
pub(crate) fn pack(out: &mut Writer<'_>, fill: impl FnOnce(&mut Writer<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut packed = GzEncoder::new(out, Compression::default());
    fill(&mut packed)?;
    packed.finish()?.flush()
}

/// What a reader holds, unpacked if it is packed.
pub fn unpacked<'r>(mut reader: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut begin = Vec::with_capacity(MAGIC.len());
    reader.by_ref().take(MAGIC.len() as u64).read_to_end(&mut begin)?;
    let is_packed = begin == MAGIC;
    let whole = Cursor::new(begin).chain(reader);
    Ok(if is_packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&mut bytes, |out| out.write_all(text.as_bytes())).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        unpacked(bytes)?.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn what_is_packed_is_read_back_and_what_is_not_is_read_as_it_is() {
        for text in ["", "x", "xy", "a longer text\n".repeat(1000).as_str()] {
            assert_eq!(read(text.as_bytes()).unwrap(), text);
            assert_eq!(read(&packed(text)).unwrap(), text);
            assert_eq!(read(&[packed(text), packed("and more")].concat()).unwrap(), format!("{text}and more"));
        }
        assert!(packed(&"0".repeat(10_000)).len() < 100);
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        let whole = packed("a text that is long enough to be cut");
        assert!(read(&whole[..whole.len() - 9]).is_err());
        assert!(read(&MAGIC).is_err());
    }

    #[test]
    fn the_header_holds_neither_a_time_nor_a_name() {
        assert_eq!(packed("x")[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    }
}
