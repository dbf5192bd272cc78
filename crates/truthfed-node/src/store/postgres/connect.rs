//! Making a connection on which nothing waits for ever.

use std::time::Duration;

use ::postgres::config::{SslMode, TargetSessionAttrs};
use ::postgres::{Client, Config, NoTls};

use super::error::{Failure, words};
use crate::store::StoreError;

const OLDEST: i32 = 130_000;
/// How long a server may take to answer when nothing is known to be wrong.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bounds on the side of the server: it must not keep a lock for a client that is gone. What was acknowledged must be on
/// disk, even where the server does not do so by itself.
const SESSION: &str = "
    SET lock_timeout = '10s';
    SET statement_timeout = '60s';
    SET idle_in_transaction_session_timeout = '5s';
    SET tcp_keepalives_idle = 5;
    SET tcp_keepalives_interval = 2;
    SET tcp_keepalives_count = 3;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
";

pub(super) struct Address {
    config: Config,
    session: &'static str,
}

impl Address {
    pub(super) fn for_writing(url: &str) -> Result<Address, StoreError> {
        let mut address = Address::for_reading(url)?;
        // Of several servers, the one that is not a replica.
        address.config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        address.session = "";
        Ok(address)
    }

    pub(super) fn for_reading(url: &str) -> Result<Address, StoreError> {
        let mut config: Config = url.parse().map_err(|error| StoreError::Unusable(words(&error)))?;
        if config.get_ssl_mode() == SslMode::Require {
            let why = "sslmode=require, but this program does not speak TLS to PostgreSQL: \
                       use a Unix socket, loopback or a tunnel";
            return Err(StoreError::Unusable(why.to_owned()));
        }
        config.ssl_mode(SslMode::Disable);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        config.application_name("truthfed").tcp_user_timeout(2 * PATIENCE);
        config.keepalives_idle(PATIENCE).keepalives_interval(Duration::from_secs(2)).keepalives_retries(3);
        Ok(Address { config, session: "SET default_transaction_read_only = on" })
    }

    pub(super) fn connect(&self) -> Result<Client, StoreError> {
        let connected = self.config.connect(NoTls).map_err(Failure::from).and_then(|mut client| {
            client.batch_execute(SESSION)?;
            client.batch_execute(self.session)?;
            check(&mut client)?;
            Ok(client)
        });
        connected.map_err(Failure::into_store)
    }
}

fn check(client: &mut Client) -> Result<(), Failure> {
    let sql = "SELECT current_setting('server_version_num')::int4, current_setting('server_encoding')";
    let row = client.query_typed_one(sql, &[])?;
    let (version, encoding): (i32, String) = (super::get(&row, 0)?, super::get(&row, 1)?);
    if version < OLDEST {
        return Err(StoreError::Unusable(format!("PostgreSQL {} is older than 13", version / 10_000)).into());
    }
    if encoding != "UTF8" {
        return Err(StoreError::Unusable(format!("the database has encoding {encoding}, not UTF8")).into());
    }
    Ok(())
}
