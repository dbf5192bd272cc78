//! Where a round comes from: a file, standard input, or a seed.

use std::path::Path;

use anyhow::Context;
use truthfed::auction::{Round, RoundDocument, RoundSpec};
use truthfed::generate;

use crate::args::AuctionArgs;
use crate::report::Report;
use crate::source;

/// What `--example` prints.
pub(super) const EXAMPLE: &str = include_str!("example-round.json");

/// The round that was asked for, with coverage, reserve and purse as on the command line.
pub(super) fn round(args: &AuctionArgs) -> anyhow::Result<Round> {
    let (mut spec, name) = match (&args.round, args.generate) {
        (Some(path), _) => read(path)?,
        (None, Some((clients, dimension))) => {
            (generate::federation_spec(clients, dimension, args.seed)?, "round".to_owned())
        }
        (None, None) => anyhow::bail!("no round given: name a file, or - for standard input"),
    };
    if let Some(coverage) = args.coverage {
        spec.coverage = coverage;
    }
    if let Some(reserve) = args.reserve {
        spec.reserve = reserve;
    }
    let round = Round::new(spec).context(name)?;
    Ok(match args.purse {
        Some(purse) => purse.in_round(&round),
        None => round,
    })
}

fn read(path: &Path) -> anyhow::Result<(RoundSpec, String)> {
    let name = source::name(path);
    let text = source::read(path, source::MAX_ROUND)?;
    let spec = RoundDocument::read(&text).and_then(RoundDocument::into_spec).with_context(|| name.clone())?;
    Ok((spec, name))
}

/// Writes the round to a file, whole or not at all.
pub(super) fn write(round: &Round, path: &Path) -> anyhow::Result<Report> {
    anyhow::ensure!(path != Path::new("-"), "--write takes the name of a file; - is not one");
    replace(&RoundDocument::of(&round.spec()), path).with_context(|| format!("cannot write {}", path.display()))?;
    let (clients, dimension) = (round.admitted() + round.turned_away().len(), round.dimension());
    Ok(Report::done(format!("wrote {}: {clients} clients, dimension {dimension}\n", path.display())))
}

fn replace(document: &RoundDocument, path: &Path) -> anyhow::Result<()> {
    // What a link points to is replaced, not the link; a folder or a device is not ours to replace.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    anyhow::ensure!(path.is_file() || !path.exists(), "it is there already and not a file");
    Ok(source::write_whole(&path, |out| writeln!(out, "{document:#}"))?)
}
