//! The tables, by version, in a schema of their own.

use ::postgres::{Client, GenericClient, IsolationLevel};

use super::error::Failure;
use super::get;
use crate::store::StoreError;
use crate::store::batch::check_same;

/// What brings the schema from each version to the next, from an empty one on.
const MIGRATIONS: [&str; 2] = [
    include_str!("../../../migrations/postgres/0001_journal.sql"),
    include_str!("../../../migrations/postgres/0002_payouts.sql"),
];
const CURRENT: i64 = MIGRATIONS.len() as i64;
/// Held while tables are made, so that two coordinators do not make them at once: `tfed`.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1953916260)";

/// Lists what is in the schema.
const DESCRIBE: &str = include_str!("describe.sql");
/// What that is after all migrations, sorted. PostgreSQL makes it of them; readers cannot make tables to compare with.
const DESCRIPTION: &str = include_str!("../../../migrations/postgres/schema.txt");

/// Makes the tables, or brings them up to date, whole or not at all. Fails when they were changed.
pub(super) fn migrate(client: &mut Client) -> Result<(), Failure> {
    if version(client)? != Some(CURRENT) {
        make(client)?;
    }
    check_unaltered(client)
}

fn make(client: &mut Client) -> Result<(), Failure> {
    kill_point!(before(&"maintenance"));
    let mut transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start()?;
    transaction.batch_execute(LOCK)?;
    let found = match version(&mut transaction)? {
        Some(found @ 1..=CURRENT) => found,
        Some(found) => return Err(StoreError::Version { found, expected: CURRENT }.into()),
        None => create(&mut transaction)?,
    };
    for migration in MIGRATIONS.iter().skip(found as usize) {
        transaction.batch_execute(migration)?;
    }
    transaction.batch_execute(&format!("UPDATE truthfed.version SET version = {CURRENT}"))?;
    kill_point!(inside(&"maintenance"));
    transaction.commit()?;
    kill_point!(committed(&"maintenance"));
    Ok(())
}

/// Whether the tables are there, of this version, and as they were made.
pub(super) fn check_current(client: &mut Client) -> Result<(), Failure> {
    match version(client)? {
        Some(CURRENT) => check_unaltered(client),
        Some(found) => Err(StoreError::Version { found, expected: CURRENT }.into()),
        None => Err(StoreError::Unusable("the database has no tables of truthfed".to_owned()).into()),
    }
}

fn check_unaltered(client: &mut Client) -> Result<(), Failure> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute("SET LOCAL search_path TO ''")?;
    let rows = transaction.query_typed(DESCRIBE, &[])?;
    let found: Vec<String> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    Ok(check_same(DESCRIPTION.lines().map(str::to_owned), found)?)
}

/// The version of the tables, if there are any.
fn version(client: &mut impl GenericClient) -> Result<Option<i64>, Failure> {
    // From the catalogue itself: `to_regclass` may answer from a cache that is older than the lock.
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
               WHERE nspname = 'truthfed' AND relname = 'version')";
    let exists = client.query_typed_one(sql, &[])?;
    if !get::<bool>(&exists, 0)? {
        return Ok(None);
    }
    let rows = client.query_typed("SELECT version FROM truthfed.version", &[])?;
    let row = rows.first().ok_or_else(|| StoreError::Damaged("the schema has no version".to_owned()))?;
    Ok(Some(get(row, 0)?))
}

/// An empty schema, of version 0. One that is there must be empty: else it is of a version nobody knows.
fn create(client: &mut impl GenericClient) -> Result<i64, Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'truthfed'), \
               (SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'truthfed')";
    let row = client.query_typed_one(sql, &[])?;
    let (exists, tables): (bool, i64) = (get(&row, 0)?, get(&row, 1)?);
    if tables > 0 {
        return Err(StoreError::Version { found: 0, expected: CURRENT }.into());
    }
    if !exists {
        client.batch_execute("CREATE SCHEMA truthfed")?;
    }
    client.batch_execute(
        "CREATE TABLE truthfed.version (id INTEGER PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
         INSERT INTO truthfed.version VALUES (1, 0)",
    )?;
    Ok(0)
}
