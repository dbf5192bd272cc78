//! `claims.json` of `reproduce`, read back: what the page shows of it.
//!
//! Types of their own, because [`crate::reproduce`] writes names that are part of the program. Fields that the page does not show are
//! not read.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use truthfed_report::page::VerdictKind;

use crate::source;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    readings: Vec<Reading>,
    rule: String,
    paper: Vec<Claim>,
    ours: Vec<Own>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    name: String,
    about: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Claim {
    id: String,
    source: String,
    claim: String,
    synthesis: String,
    cells: Vec<Cell>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Cell {
    readings: Vec<String>,
    #[serde(flatten)]
    evidence: Evidence,
}

#[derive(Debug, Serialize, Deserialize)]
struct Own {
    id: String,
    claim: String,
    #[serde(flatten)]
    evidence: Evidence,
}

#[derive(Debug, Serialize, Deserialize)]
struct Evidence {
    verdict: VerdictKind,
    measured: String,
    numbers: Vec<Number>,
    sample: Sample,
    command: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Number {
    name: String,
    /// Null if it is not finite.
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    /// On which side of which bound the claim has it, such as `{"above": 0}`.
    claimed: Option<BTreeMap<String, f64>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sample {
    kind: String,
    from: u64,
    to: u64,
}

impl Claims {
    pub(super) fn read(path: &Path) -> anyhow::Result<Claims> {
        let expected = || format!("{} is not a claims.json of `truthfed reproduce`", path.display());
        let text = source::read(path, source::MAX_CONFIG).with_context(expected)?;
        let claims: Claims = serde_json::from_str(&text).with_context(expected)?;
        // Each claim is a row of the matrix: it needs exactly one mark in every column.
        for claim in &claims.paper {
            for Reading { name, .. } in &claims.readings {
                let cells = claim.cells.iter().filter(|cell| cell.readings.contains(name)).count();
                let id = &claim.id;
                ensure!(cells == 1, "{}: claim {id} has {cells} cells for reading {name}, not one", expected());
            }
        }
        Ok(claims)
    }
}
