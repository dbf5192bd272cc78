//! Running text: escaped, with code between backticks.

use crate::markup::escape;

/// Text as markup. A backtick without a partner stays what it is.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, quoted)) = rest.split_once('`')
        && let Some((code, after)) = quoted.split_once('`')
    {
        out.push_str(&escape(before));
        out.push_str(&format!("<code>{}</code>", escape(code)));
        rest = after;
    }
    out.push_str(&escape(rest));
    out
}

/// Text without backticks, for where there is no markup.
pub(super) fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Text that ends as a sentence does.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?', ':']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks_and_is_escaped_too_and_a_lone_backtick_stays() {
        assert_eq!(inline("run `a < b` & see"), "run <code>a &lt; b</code> &amp; see");
        assert_eq!(inline("`a` and `b`"), "<code>a</code> and <code>b</code>");
        assert_eq!(inline("5` <"), "5` &lt;");
    }

    #[test]
    fn a_sentence_gets_its_full_stop_once() {
        assert_eq!([sentence("Regret"), sentence("Why?"), sentence("")], ["Regret.", "Why?", ""]);
    }
}
