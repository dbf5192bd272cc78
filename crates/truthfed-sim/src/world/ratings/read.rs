//! A log of ratings: who liked what.
//!
//! A line is a rating: user, item, value; further fields are ignored. Users and items are names, values numbers.
//! What separates fields is seen from the first line: a tab (MovieLens `u.data`, LastFM `user_artists.dat`), `::`
//! (MovieLens `ratings.dat`) or else a comma (MovieLens `ratings.csv`). The first line is a header when none of its
//! fields is a number. A field may stand in quotes, with quotes in it doubled, and then hold the separator; it may not hold
//! a line end. Of several ratings of an item by one user the last counts. The file may be packed by gzip.
//!
//! Promises: users and items are numbered in the order in which they appear; memory is linear in the number of
//! ratings, and no line is held that is not one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::super::error::{LineProblem, WorldError, number};
use crate::gzip::unpacked;

/// Lines that a log may have.
const MOST_LINES: usize = 50_000_000;
/// Bytes that a line may have.
const MOST_BYTES: usize = 4096;

/// From which value on an item is liked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Liked {
    /// The median of the log's values (the default): about half of the ratings, or more, are likes.
    #[default]
    Median,
    AtLeast(f64),
}

/// Who liked what.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    pub(super) path: String,
    /// The least value of a liked item.
    pub(super) threshold: f64,
    items: usize,
    /// Where the likes of each user start in `likes`, and where the last ones end.
    starts: Vec<usize>,
    /// Items, ascending for each user.
    likes: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Rating {
    user: u32,
    item: u32,
    value: f64,
}

impl Log {
    /// Reads a log. Fails when the file cannot be read, a line is not a rating, or there is none. Names the file, line
    /// and field.
    pub fn read(path: &Path, liked: Liked) -> Result<Log, WorldError> {
        let name = || path.display().to_string();
        let io = |error| WorldError::Io { path: name(), error };
        let mut reader = BufReader::new(unpacked(File::open(path).map_err(io)?).map_err(io)?);
        let mut table = Table::default();
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            // No line is held longer than it takes to see that it is too long.
            let got = (&mut reader).take(MOST_BYTES as u64 + 1).read_until(b'\n', &mut bytes).map_err(io)?;
            if got == 0 {
                break;
            }
            let rating = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            table.add(line, rating).map_err(|problem| WorldError::Line { path: name(), line, problem })?;
        }
        match table.ratings.is_empty() {
            true => Err(WorldError::Empty { path: name(), what: "ratings" }),
            false => Ok(table.into_log(name(), liked)),
        }
    }

    pub fn users(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn items(&self) -> usize {
        self.items
    }

    /// The items that a user liked, ascending.
    pub fn likes(&self, user: usize) -> &[u32] {
        &self.likes[self.starts[user]..self.starts[user + 1]]
    }
}

/// What was read so far.
#[derive(Default)]
struct Table {
    separator: Option<&'static str>,
    users: Names,
    items: Names,
    ratings: Vec<Rating>,
}

impl Table {
    fn add(&mut self, line: usize, bytes: &[u8]) -> Result<(), LineProblem> {
        if line > MOST_LINES {
            return Err(LineProblem::TooMany { most: MOST_LINES });
        }
        if bytes.len() > MOST_BYTES {
            return Err(LineProblem::TooLong { most: MOST_BYTES });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| LineProblem::NotUtf8)?;
        let text = text.strip_prefix('\u{feff}').filter(|_| line == 1).unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(());
        }
        let first = self.separator.is_none();
        let separator = *self.separator.get_or_insert_with(|| separator(text));
        let (fields, rest) = fields(text, separator)?;
        let mut all = fields.iter().map(AsRef::as_ref).chain(rest.split(separator).map(str::trim));
        if first && all.all(|field| field.parse::<f64>().is_err()) {
            return Ok(());
        }
        let [user, item, value] = fields;
        let value = number("value", &value)?;
        let (user, item) = (number_of(&user, &mut self.users), number_of(&item, &mut self.items));
        self.ratings.push(Rating { user, item, value });
        Ok(())
    }

    fn into_log(mut self, path: String, liked: Liked) -> Log {
        // A stable sort keeps ratings of one item by one user in the order of the file, so that the last one stays.
        self.ratings.sort_by_key(|rating| (rating.user, rating.item));
        self.ratings.dedup_by(|next, kept| {
            let same = (next.user, next.item) == (kept.user, kept.item);
            if same {
                kept.value = next.value;
            }
            same
        });
        let threshold = match liked {
            Liked::Median => median(self.ratings.iter().map(|rating| rating.value).collect()),
            Liked::AtLeast(value) => value,
        };
        let mut starts = vec![0; self.users.len() + 1];
        let mut likes = Vec::new();
        for rating in self.ratings.iter().filter(|rating| rating.value >= threshold) {
            starts[rating.user as usize + 1] += 1;
            likes.push(rating.item);
        }
        (1..starts.len()).for_each(|user| starts[user] += starts[user - 1]);
        Log { path, threshold, items: self.items.len(), starts, likes }
    }
}

/// Numbers for names, in the order in which they appear. Names are only looked up, so that the order of the map
/// is never seen.
type Names = HashMap<Box<str>, u32>;

fn number_of(name: &str, names: &mut Names) -> u32 {
    if let Some(&number) = names.get(name) {
        return number;
    }
    let next = u32::try_from(names.len()).expect("no more names than lines");
    names.insert(name.into(), next);
    next
}

fn separator(text: &str) -> &'static str {
    ["\t", "::"].into_iter().find(|separator| text.contains(separator)).unwrap_or(",")
}

/// The first three fields, and the rest of the line.
fn fields<'t>(text: &'t str, separator: &str) -> Result<([Cow<'t, str>; 3], &'t str), LineProblem> {
    let mut rest = Some(text);
    let mut next = |field: &'static str, got: usize| {
        let text = rest.ok_or(LineProblem::FewFields { got })?;
        let (value, after) = match text.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(field, quoted, separator)?,
            None => {
                let (value, after) =
                    text.split_once(separator).map_or((text, None), |(value, rest)| (value, Some(rest)));
                (Cow::Borrowed(value.trim()), after)
            }
        };
        rest = after;
        Ok((field, value))
    };
    let found = [next("user", 0)?, next("item", 1)?, next("value", 2)?];
    if let Some((field, _)) = found.iter().find(|(_, value)| value.is_empty()) {
        return Err(LineProblem::EmptyField { field });
    }
    Ok((found.map(|(_, value)| value), rest.unwrap_or_default()))
}

/// What stands in quotes, after the first of them, and the rest of the line, if there is one.
fn unquoted<'t>(
    field: &'static str,
    text: &'t str,
    separator: &str,
) -> Result<(Cow<'t, str>, Option<&'t str>), LineProblem> {
    let open = || LineProblem::OpenQuote { field, text: format!("\"{text}") };
    let mut from = 0;
    let end = loop {
        let quote = from + text[from..].find('"').ok_or_else(open)?;
        if !text[quote + 1..].starts_with('"') {
            break quote;
        }
        from = quote + 2;
    };
    let value = &text[..end];
    let value = if value.contains('"') { Cow::Owned(value.replace("\"\"", "\"")) } else { Cow::Borrowed(value) };
    let after = text[end + 1..].trim_start_matches(' ');
    match after.strip_prefix(separator) {
        Some(rest) => Ok((value, Some(rest))),
        None if after.trim().is_empty() => Ok((value, None)),
        None => Err(LineProblem::AfterQuote { field, text: format!("\"{text}") }),
    }
}

/// The upper one of the two in the middle: the values at or above it are those at or above their mean.
fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_at_most_fifty_million_lines() {
        let mut table = Table::default();
        assert_eq!(table.add(MOST_LINES, b"1,2,3"), Ok(()));
        assert_eq!(table.add(MOST_LINES + 1, b"1,2,3"), Err(LineProblem::TooMany { most: 50_000_000 }));
    }
}
