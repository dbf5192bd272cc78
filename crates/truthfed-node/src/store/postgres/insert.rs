//! Writes a batch, each table's rows in one statement.

use ::postgres::GenericClient;
use ::postgres::types::Type;

use super::Parameter;
use super::error::Failure;
use crate::store::batch::to_column;
use crate::store::{Batch, StandingRow};

pub(super) fn insert(client: &mut impl GenericClient, batch: &Batch) -> Result<(), Failure> {
    let Batch { rows, replies, postings, standing } = batch;
    if !rows.is_empty() {
        let columns: [Parameter<'_>; 3] = [
            (&column(rows, |row| to_column(row.number)), Type::INT8_ARRAY),
            (&column(rows, |row| row.body.as_str()), Type::TEXT_ARRAY),
            (&column(rows, |row| row.hash.0.as_slice()), Type::BYTEA_ARRAY),
        ];
        client.execute_typed("INSERT INTO truthfed.journal SELECT * FROM unnest($1, $2, $3)", &columns)?;
        kill_point!(inside(rows.as_slice()));
    }
    if !replies.is_empty() {
        let columns: [Parameter<'_>; 5] = [
            (&column(replies, |reply| reply.key.member.as_str()), Type::TEXT_ARRAY),
            (&column(replies, |reply| to_column(reply.key.round.0)), Type::INT8_ARRAY),
            (&column(replies, |reply| reply.key.kind.name()), Type::TEXT_ARRAY),
            (&column(replies, |reply| reply.request.0.as_slice()), Type::BYTEA_ARRAY),
            (&column(replies, |reply| reply.body.as_str()), Type::TEXT_ARRAY),
        ];
        client.execute_typed("INSERT INTO truthfed.replies SELECT * FROM unnest($1, $2, $3, $4, $5)", &columns)?;
    }
    if !postings.is_empty() {
        let columns: [Parameter<'_>; 7] = [
            (&column(postings, |posting| to_column(posting.number)), Type::INT8_ARRAY),
            (&column(postings, |posting| to_column(posting.entry)), Type::INT8_ARRAY),
            (&column(postings, |posting| posting.cause.round_column()), Type::INT8_ARRAY),
            (&column(postings, |posting| posting.member.as_str()), Type::TEXT_ARRAY),
            (&column(postings, |posting| posting.account.column()), Type::TEXT_ARRAY),
            (&column(postings, |posting| posting.micros), Type::INT8_ARRAY),
            (&column(postings, |posting| posting.cause.reference_column()), Type::TEXT_ARRAY),
        ];
        let sql = "INSERT INTO truthfed.postings SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)";
        client.execute_typed(sql, &columns)?;
    }
    if let Some(StandingRow { entry, body }) = standing {
        let sql = "INSERT INTO truthfed.standing VALUES (1, $1, $2) \
                   ON CONFLICT (id) DO UPDATE SET entry = excluded.entry, body = excluded.body";
        client.execute_typed(sql, &[(&to_column(*entry), Type::INT8), (body, Type::TEXT)])?;
    }
    Ok(())
}

fn column<'a, T, V>(items: &'a [T], of: fn(&'a T) -> V) -> Vec<V> {
    items.iter().map(of).collect()
}
