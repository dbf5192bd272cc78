//! The style sheet of a page, with the colours and the font of its figures.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::text::{FAMILY, FONT};
use crate::theme::declarations;

/// Tells the browser what the page promises: nothing is loaded from elsewhere and nothing is run.
pub(super) const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
     style-src 'unsafe-inline'; font-src data:\">\n";

const SHEET: &str = include_str!("style.css");

/// The whole sheet; the font only when there are figures to use it.
pub(super) fn sheet(figures: bool) -> String {
    let light = format!(":root{{{}}}", declarations(false));
    let dark = format!("@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}", declarations(true));
    let mut font = String::new();
    if figures {
        let data = STANDARD.encode(FONT);
        font = format!("@font-face{{font-family:{FAMILY};src:url(data:font/ttf;base64,{data})format('truetype');}}");
    }
    format!("\n{light}\n{dark}\n{font}\n{SHEET}")
}
