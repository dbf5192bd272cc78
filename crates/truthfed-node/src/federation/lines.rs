//! Finds and changes single keys in the text of a TOML file, so that its comments stay.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line, counted from 1, of a key such as `terms.bandit.dimension`, or of the header of a table.
pub(super) fn find(text: &str, key: &str) -> Option<usize> {
    let start = value_of(text, key)?.span().start;
    Some(text[..start].matches('\n').count() + 1)
}

/// The text with another value, written as TOML, for a key that it has.
pub(super) fn set(text: &str, key: &str, value: &str) -> Option<String> {
    let old = value_of(text, key).filter(|old| !old.get_ref().is_table())?;
    let mut changed = text.to_owned();
    changed.replace_range(old.span(), value);
    Some(changed)
}

fn value_of<'t>(text: &'t str, key: &str) -> Option<Spanned<DeValue<'t>>> {
    let root = DeValue::Table(DeTable::parse(text).ok()?.into_inner());
    let mut parts = key.split('.');
    let first = root.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get_ref().get(part)).cloned()
}

/// The text with one more key, on the line after a key of the same section.
pub(super) fn insert_after(text: &str, key: &str, name: &str, value: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.insert(find(text, key)?, format!("{name} = {value}"));
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# top\nname = \"x\"\n\n[a]\nname = 1\n# why\nother = 2 # how\n[a.b]\nother = 3\n";

    #[test]
    fn keys_are_found_in_their_own_section() {
        let lines = ["name", "a.name", "a.other", "a.b.other", "b.other", "a.b.name"].map(|key| find(TEXT, key));
        assert_eq!(lines, [Some(2), Some(5), Some(7), Some(9), None, None]);
        assert_eq!(["a", "a.b", "a.name.x"].map(|key| find(TEXT, key)), [Some(4), Some(8), None]);
    }

    #[test]
    fn keys_are_found_however_they_are_written() {
        let find = |text| find(text, "a.b.c");
        assert_eq!(find("\n[a]\nb = { x = \"\"\"\nc = 0\n\"\"\", c = 1 }"), Some(5));
        assert_eq!(find("\n[a]\n\nb.\"c\" = 1"), Some(4));
        assert_eq!(find("a.b.c = 1"), Some(1));
        assert_eq!(find("x = '''\n[a.b]\nc = 0'''\n[a.b]\nc=1"), Some(5));
    }

    #[test]
    fn one_value_changes_and_comments_stay() {
        assert_eq!(set(TEXT, "a.other", "[7]").unwrap(), TEXT.replace("other = 2", "other = [7]"));
        assert_eq!(set(TEXT, "a.nothing", "7"), None);
        assert_eq!(set(TEXT, "a.b", "7"), None);
        let inserted = insert_after(TEXT, "a.name", "more", "7").unwrap();
        assert_eq!(inserted, TEXT.replace("name = 1\n", "name = 1\nmore = 7\n"));
    }
}
