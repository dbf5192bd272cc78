//! Writes a batch, each table's rows in one statement.

use ::postgres::GenericClient;
use ::postgres::types::Type;

use super::Parameter;
use super::error::Failure;
use crate::journal::Row;
use crate::ledger::Posting;
use crate::store::batch::to_column;
use crate::store::{Batch, StandingRow, StoredReply};

pub(super) fn insert(client: &mut impl GenericClient, batch: &Batch) -> Result<(), Failure> {
    let Batch { rows, replies, postings, standing } = batch;
    if !rows.is_empty() {
        insert_rows(client, rows)?;
        kill_point!(inside(rows.as_slice()));
    }
    if !replies.is_empty() {
        insert_replies(client, replies)?;
    }
    if !postings.is_empty() {
        insert_postings(client, postings)?;
    }
    if let Some(StandingRow { entry, body }) = standing {
        let sql = "INSERT INTO truthfed.standing VALUES (1, $1, $2) \
                   ON CONFLICT (id) DO UPDATE SET entry = excluded.entry, body = excluded.body";
        client.execute_typed(sql, &[(&to_column(*entry), Type::INT8), (body, Type::TEXT)])?;
    }
    Ok(())
}

fn insert_rows(client: &mut impl GenericClient, rows: &[Row]) -> Result<(), Failure> {
    let numbers: Vec<i64> = rows.iter().map(|row| to_column(row.number)).collect();
    let bodies: Vec<&str> = rows.iter().map(|row| row.body.as_str()).collect();
    let hashes: Vec<&[u8]> = rows.iter().map(|row| row.hash.0.as_slice()).collect();
    let sql = "INSERT INTO truthfed.journal SELECT * FROM unnest($1, $2, $3)";
    let columns: [Parameter<'_>; 3] =
        [(&numbers, Type::INT8_ARRAY), (&bodies, Type::TEXT_ARRAY), (&hashes, Type::BYTEA_ARRAY)];
    client.execute_typed(sql, &columns)?;
    Ok(())
}

fn insert_replies(client: &mut impl GenericClient, replies: &[StoredReply]) -> Result<(), Failure> {
    let members: Vec<&str> = replies.iter().map(|reply| reply.key.member.as_str()).collect();
    let rounds: Vec<i64> = replies.iter().map(|reply| to_column(reply.key.round.0)).collect();
    let kinds: Vec<&str> = replies.iter().map(|reply| reply.key.kind.name()).collect();
    let requests: Vec<&[u8]> = replies.iter().map(|reply| reply.request.0.as_slice()).collect();
    let bodies: Vec<&str> = replies.iter().map(|reply| reply.body.as_str()).collect();
    let sql = "INSERT INTO truthfed.replies SELECT * FROM unnest($1, $2, $3, $4, $5)";
    let columns: [Parameter<'_>; 5] = [
        (&members, Type::TEXT_ARRAY),
        (&rounds, Type::INT8_ARRAY),
        (&kinds, Type::TEXT_ARRAY),
        (&requests, Type::BYTEA_ARRAY),
        (&bodies, Type::TEXT_ARRAY),
    ];
    client.execute_typed(sql, &columns)?;
    Ok(())
}

fn insert_postings(client: &mut impl GenericClient, postings: &[Posting]) -> Result<(), Failure> {
    let integers = |of: fn(&Posting) -> i64| -> Vec<i64> { postings.iter().map(of).collect() };
    let numbers = integers(|posting| to_column(posting.number));
    let entries = integers(|posting| to_column(posting.entry));
    let rounds = integers(|posting| to_column(posting.round.0));
    let micros = integers(|posting| posting.micros);
    let members: Vec<&str> = postings.iter().map(|posting| posting.member.as_str()).collect();
    let accounts: Vec<&str> = postings.iter().map(|posting| posting.account.column()).collect();
    let sql = "INSERT INTO truthfed.postings SELECT * FROM unnest($1, $2, $3, $4, $5, $6)";
    let columns: [Parameter<'_>; 6] = [
        (&numbers, Type::INT8_ARRAY),
        (&entries, Type::INT8_ARRAY),
        (&rounds, Type::INT8_ARRAY),
        (&members, Type::TEXT_ARRAY),
        (&accounts, Type::TEXT_ARRAY),
        (&micros, Type::INT8_ARRAY),
    ];
    client.execute_typed(sql, &columns)?;
    Ok(())
}
