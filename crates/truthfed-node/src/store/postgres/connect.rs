//! Making a connection on which nothing waits for ever.

use std::path::Path;
use std::time::Duration;

use ::postgres::config::{SslMode, TargetSessionAttrs};
use ::postgres::{Client, Config, NoTls};

use super::error::{Failure, words};
use super::tls::Tls;
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
    /// If the connection is encrypted.
    tls: Option<Tls>,
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
        let (url, tls) = encryption(url).map_err(StoreError::Unusable)?;
        let mut config: Config = url.parse().map_err(|error| StoreError::Unusable(words(&error)))?;
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        config.application_name("truthfed").tcp_user_timeout(2 * PATIENCE);
        config.keepalives_idle(PATIENCE).keepalives_interval(Duration::from_secs(2)).keepalives_retries(3);
        Ok(Address { config, tls, session: "SET default_transaction_read_only = on" })
    }

    pub(super) fn connect(&self) -> Result<Client, StoreError> {
        let client = match &self.tls {
            None => self.config.connect(NoTls),
            Some(tls) => self.config.connect(tls.clone()),
        };
        let connected = client.map_err(Failure::from).map_err(unreachable).and_then(|mut client| {
            client.batch_execute(SESSION)?;
            client.batch_execute(self.session)?;
            check(&mut client)?;
            Ok(client)
        });
        connected.map_err(Failure::into_store)
    }
}

/// Nothing is known to be wrong but that there is no connection.
fn unreachable(failure: Failure) -> Failure {
    match failure {
        Failure::Lost(why) => Failure::Lost(format!("{why}: check that PostgreSQL runs, and its address in `store`")),
        failure => failure,
    }
}

/// The URL without what it says about encryption, and that. The words of an error name no part of the URL but the file.
fn encryption(url: &str) -> Result<(String, Option<Tls>), String> {
    let (address, options) = url.split_once('?').unwrap_or((url, ""));
    let (mut mode, mut root, mut others) = (None, None, Vec::new());
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value),
            Some(("sslrootcert", value)) => root = Some(value.replace("%2F", "/").replace("%2f", "/")),
            _ => others.push(option),
        }
    }
    let tls = match (mode, root) {
        (None | Some("disable"), None) => None,
        (Some("verify-full"), Some(root)) => Some(Tls::trusting(Path::new(&root))?),
        (Some("verify-full"), None) => {
            return Err("sslmode=verify-full needs sslrootcert=FILE, the certificate of the authority that certified \
                        the server"
                .to_owned());
        }
        (None | Some("disable"), Some(_)) => {
            return Err(
                "sslrootcert is there, but the connection would not be encrypted: add sslmode=verify-full".to_owned()
            );
        }
        (Some(_), _) => {
            return Err(
                "sslmode must be verify-full, with sslrootcert=FILE, or disable: every other mode does not check \
                        which server it talks to"
                    .to_owned(),
            );
        }
    };
    Ok((format!("{address}?{}", others.join("&")), tls))
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
