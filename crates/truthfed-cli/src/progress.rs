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
    bar: Option<ProgressBar>,
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
        let bar = std::io::stderr().is_terminal().then(|| bar(what, total));
        Progress { what, total, count: Mutex::new(Count { done: 0, kept: 0, start: Instant::now() }), bar }
    }

    /// Starts the clock, with some parts already done.
    pub fn start(&self, kept: u64) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) = Count { done: kept, kept, start: Instant::now() };
        if let Some(bar) = &self.bar {
            bar.set_position(kept);
            bar.reset_eta();
        }
    }

    pub fn step(&self) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.done += 1;
        let is_news = tenths(count.done, self.total) > tenths(count.done - 1, self.total);
        let elapsed = count.start.elapsed();
        match &self.bar {
            Some(bar) => bar.set_position(count.done),
            None if is_news && elapsed >= QUIET => say(&self.line(&count, elapsed)),
            None => {}
        }
    }

    /// Prints a line without disturbing the bar.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
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
        let progress = Progress { what: "cells", total: 8, count: Mutex::new(count(0, 0)), bar: None };
        let line = |done| progress.line(&count(done, 1), Duration::from_secs(60));
        assert_eq!(line(3), "3 of 8 cells, 37 %, about 3 minutes left"); // 2 in a minute, 5 to do
        assert_eq!(line(8), "8 of 8 cells in 60 seconds");
    }

    fn count(done: u64, kept: u64) -> Count {
        Count { done, kept, start: Instant::now() }
    }

    #[test]
    fn every_tenth_is_told_once() {
        let told = |total: u64| (1..=total).filter(|&done| tenths(done, total) > tenths(done - 1, total)).count();
        assert_eq!([told(1), told(4), told(10), told(1234)], [1, 4, 10, 10]);
    }
}
