//! Progress of a long command on standard error: a bar on a terminal, otherwise a line for every tenth.
//!
//! Work of less than a second prints no line.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Print no line before this much time has passed.
const QUIET: Duration = Duration::from_secs(1);

/// Counts the finished parts of some work; usable from any thread.
pub struct Progress {
    what: &'static str,
    total: u64,
    count: Mutex<Count>,
    /// Hidden where there is no terminal.
    bar: ProgressBar,
}

struct Count {
    done: u64,
    /// Parts that an earlier run had finished; they took no time.
    kept: u64,
    start: Instant,
}

impl Progress {
    /// For `total` parts, called `what` in messages.
    pub fn new(what: &'static str, total: u64) -> Progress {
        let count = Count { done: 0, kept: 0, start: Instant::now() };
        Progress { what, total, count: Mutex::new(count), bar: bar(what, total) }
    }

    /// Starts the clock, with some parts already done.
    pub fn start(&self, kept: u64) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) = Count { done: kept, kept, start: Instant::now() };
        self.bar.set_position(kept);
        self.bar.reset_eta();
    }

    pub fn step(&self) {
        self.advance(|done| done + 1);
    }

    /// So many parts are done.
    pub fn reach(&self, done: u64) {
        self.advance(|_| done);
    }

    fn advance(&self, next: impl FnOnce(u64) -> u64) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let before = count.done;
        count.done = next(before);
        let is_news = tenths(count.done, self.total) > tenths(before, self.total);
        let elapsed = count.start.elapsed();
        self.bar.set_position(count.done);
        if self.bar.is_hidden() && is_news && elapsed >= QUIET {
            say(&self.line(&count, elapsed));
        }
    }

    /// Prints a line without disturbing the bar.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }

    /// Removes the bar, as dropping this does.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, count: &Count, elapsed: Duration) -> String {
        let Progress { what, total, .. } = self;
        let Count { done, kept, .. } = count;
        if done == total {
            return format!("{done} of {total} {what} in {}", HumanDuration(elapsed));
        }
        let left = elapsed.mul_f64((total - done) as f64 / (done - kept) as f64);
        format!("{done} of {total} {what}, {} %, about {} left", 100 * done / total, HumanDuration(left))
    }
}

fn tenths(done: u64, total: u64) -> u64 {
    10 * done / total
}

fn bar(what: &'static str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} {msg}, {elapsed} passed, about {eta} left");
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    bar.set_style(style.expect("the template is valid"));
    bar.set_message(what);
    bar
}

/// One line on standard error.
pub fn say(line: &str) {
    // If standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_share_and_estimate() {
        let progress = Progress::new("cells", 8);
        let count = |done| Count { done, kept: 1, start: Instant::now() };
        let line = |done| progress.line(&count(done), Duration::from_secs(60));
        assert_eq!(line(3), "3 of 8 cells, 37 %, about 3 minutes left"); // 2 in a minute, 5 to do
        assert_eq!(line(8), "8 of 8 cells in 60 seconds");
    }

    #[test]
    fn every_tenth_is_told_once() {
        let told = |total: u64| (1..=total).filter(|&done| tenths(done, total) > tenths(done - 1, total)).count();
        assert_eq!([told(1), told(4), told(10), told(1234)], [1, 4, 10, 10]);
    }
}
