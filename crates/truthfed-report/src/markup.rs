//! Escaping of text, and a small writer of elements that SVG and HTML share.
//!
//! Promise: whatever the text, the result is well-formed.

use std::fmt::Write;

/// Attributes of an element, in the order they are written.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a str)];

/// Makes text safe inside elements and quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no way to write these, and a parser refuses the whole document.
            '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            _ => out.push(character),
        }
    }
    out
}

/// A length or coordinate: at most two decimals, no trailing zeros, never `-0`.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[derive(Debug, Default)]
pub(super) struct Markup {
    out: String,
}

impl Markup {
    /// Opens an element; [`Markup::close`] closes it.
    pub(super) fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.tag(name, attributes, ">\n");
    }

    pub(super) fn close(&mut self, name: &str) {
        let _ = writeln!(self.out, "</{name}>");
    }

    /// An element without content, closed the XML way.
    pub(super) fn empty(&mut self, name: &str, attributes: Attributes<'_>) {
        self.tag(name, attributes, "/>\n");
    }

    /// An element around text, which is escaped.
    pub(super) fn leaf(&mut self, name: &str, attributes: Attributes<'_>, text: &str) {
        self.wrap(name, attributes, &escape(text));
    }

    /// An element around markup that is already safe.
    pub(super) fn wrap(&mut self, name: &str, attributes: Attributes<'_>, inner: &str) {
        self.tag(name, attributes, ">");
        self.out.push_str(inner);
        self.close(name);
    }

    /// Markup that is already safe.
    pub(super) fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    fn tag(&mut self, name: &str, attributes: Attributes<'_>, end: &str) {
        let _ = write!(self.out, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.out, " {key}=\"{}\"", escape(value));
        }
        self.out.push_str(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_of_markup_is_escaped_and_characters_that_xml_forbids_are_replaced() {
        assert_eq!(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
        assert_eq!(escape("a\u{0}b\u{1b}c\td"), "a\u{fffd}b\u{fffd}c\td");
    }

    #[test]
    fn lengths_are_short_and_have_no_negative_zero() {
        assert_eq!([px(1.0), px(2.5), px(-0.001), px(1.0 / 3.0), px(100.0)], ["1", "2.5", "0", "0.33", "100"]);
    }

    #[test]
    fn attributes_and_text_are_escaped() {
        let mut markup = Markup::default();
        markup.leaf("p", &[("title", "\"<")], "a < b");
        assert_eq!(markup.finish(), "<p title=\"&quot;&lt;\">a &lt; b</p>\n");
    }
}
