//! What the figures were measured on, and how many files it lets us open.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::load::figures::{Figure, Spread, ms};

/// Synced writes that are timed.
const WRITES: usize = 25;
/// Files that are open besides connections.
const OTHERS: u64 = 256;

/// Cores, how busy they are, and how long a synced write takes in a folder.
pub fn describe(folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").context("this program needs /proc")?;
    let load = load.split(' ').next().and_then(|load| load.parse().ok()).context("/proc/loadavg has a number")?;
    Ok(vec![
        Figure::told("cores", cores as f64, ""),
        Figure::told("load at the start, of others", load, ""),
        Figure::told("a synced write of 4 KiB, median", ms(synced_write(folder)?), "ms"),
    ])
}

fn synced_write(folder: &Path) -> anyhow::Result<Duration> {
    let mut file = tempfile::tempfile_in(folder)?;
    let mut times = Vec::with_capacity(WRITES);
    for _ in 0..WRITES {
        file.write_all(&[1; 4096])?;
        let started = Instant::now();
        file.sync_all()?;
        times.push(started.elapsed());
    }
    Ok(Spread::of(times).median())
}

/// Sees to it that so many connections can be open, in this process and in those it starts.
pub fn allow_connections(connections: u64) -> anyhow::Result<()> {
    let needed = connections + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if maximum.is_some_and(|maximum| maximum < needed) {
        let most = maximum.unwrap_or_default();
        bail!(
            "{connections} connections need {needed} open files, the system allows {most}: raise the hard limit, such as by \
             `sudo prlimit --pid $$ --nofile={needed}`, or measure less with --agents and --hostile"
        );
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).context("the limit of open files")
}

pub fn resident_bytes(process: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).context("the coordinator's process")?;
    resident(&status).context("/proc/PID/status has VmRSS in kB")
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_the_status_of_a_process() {
        assert_eq!(resident("Name:\tload\nVmHWM:\t    9 kB\nVmRSS:\t   1234 kB\n"), Some(1234 * 1024));
        assert_eq!(resident("Name:\tload\n"), None);
        assert_eq!(resident("VmRSS:\t many kB\n"), None);
        assert!(resident_bytes(std::process::id()).unwrap() > 1024 * 1024);
    }

    #[test]
    fn what_the_system_allows_is_allowed_and_what_it_does_not_is_told() {
        allow_connections(1).unwrap();
        if getrlimit(Resource::Nofile).maximum.is_some() {
            let error = allow_connections(u64::MAX / 2).unwrap_err().to_string();
            assert!(error.contains("raise the hard limit"), "{error}");
        }
    }
}
