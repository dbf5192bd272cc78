//! A figure as PNG: opaque, small, at twice the resolution of a screen.

use png::{AdaptiveFilterType, BitDepth, ColorType, Compression, Encoder, EncodingError, PixelDimensions, Unit};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::Tree;

/// Pixels of the picture per pixel of the figure.
pub(super) const SCALE: u32 = 2;

/// 192 pixels per inch, so that word processors show the picture at the size of the figure.
const PIXELS_PER_METRE: u32 = 7559;

pub(super) fn size(tree: &Tree) -> (u32, u32) {
    let size = tree.size().to_int_size();
    (size.width().saturating_mul(SCALE), size.height().saturating_mul(SCALE))
}

/// Draws the figure; nothing when it is too large for memory.
pub(super) fn draw(tree: &Tree) -> Option<Pixmap> {
    let (width, height) = size(tree);
    let mut pixels = Pixmap::new(width, height)?;
    resvg::render(tree, Transform::from_scale(SCALE as f32, SCALE as f32), &mut pixels.as_mut());
    Some(pixels)
}

/// The file. Figures have an opaque ground, so transparency is dropped.
pub(super) fn encode(pixels: &Pixmap) -> Result<Vec<u8>, EncodingError> {
    let rgb: Vec<u8> = pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Best);
    encoder.set_adaptive_filter(AdaptiveFilterType::Adaptive);
    let dimensions = PixelDimensions { xppu: PIXELS_PER_METRE, yppu: PIXELS_PER_METRE, unit: Unit::Meter };
    encoder.set_pixel_dims(Some(dimensions));
    encoder.write_header()?.write_image_data(&rgb)?;
    Ok(file)
}
