//! Finds and changes single keys in the text of a TOML file, so that its comments stay.

/// The number of the line, from 0, on which a key such as `terms.bandit.dimension` stands.
pub(super) fn find(text: &str, key: &str) -> Option<usize> {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut current = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            current = header.split(']').next().unwrap_or("").trim();
        }
        let found = line.split_once('=').map(|(found, _)| found.trim());
        if current == section && found == Some(name) {
            return Some(index);
        }
    }
    None
}

/// The text with another value, written as TOML, for a key that it has on a line of its own.
pub(super) fn set(text: &str, key: &str, value: &str) -> Option<String> {
    let at = find(text, key)?;
    let name = key.rsplit('.').next().unwrap_or(key);
    let changed: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(index, line)| if index == at { format!("{name} = {value}") } else { line.to_owned() })
        .collect();
    Some(changed.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# top\nname = \"x\"\n\n[a]\nname = 1\n# why\nother = 2\n[a.b]\nother = 3\n";

    #[test]
    fn keys_are_found_in_their_own_section() {
        let lines = ["name", "a.name", "a.other", "a.b.other", "b.other", "a.b.name"].map(|key| find(TEXT, key));
        assert_eq!(lines, [Some(1), Some(4), Some(6), Some(8), None, None]);
    }

    #[test]
    fn one_value_changes_and_comments_stay() {
        assert_eq!(set(TEXT, "a.other", "[7]").unwrap(), TEXT.replace("other = 2", "other = [7]"));
        assert_eq!(set(TEXT, "a.nothing", "7"), None);
    }
}
