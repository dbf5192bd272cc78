//! Tells in time that a certificate expires.

use std::future::Future;
use std::time::{Duration, SystemTime};

use super::Certificate;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// From when on it is told: long enough to bring back the authority's key, or to move a bundle.
const NOTICE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Logs at once, and then every day, if a certificate expires within 30 days or has expired, with what to do about it.
pub fn watch_expiry(certificate: Certificate, remedy: &'static str) -> impl Future<Output = ()> + Send {
    tell(&certificate, SystemTime::now(), remedy);
    async move {
        loop {
            tokio::time::sleep(DAY).await;
            tell(&certificate, SystemTime::now(), remedy);
        }
    }
}

fn tell(certificate: &Certificate, now: SystemTime, remedy: &str) {
    let (digest, date) = (certificate.digest(), certificate.last_day());
    match certificate.expires().duration_since(now) {
        Ok(left) if left >= NOTICE => {}
        Ok(left) => {
            let days = left.as_secs() / DAY.as_secs();
            tracing::warn!(certificate = %digest, date, days, remedy, "the certificate expires soon");
        }
        Err(_) => tracing::error!(certificate = %digest, date, remedy, "the certificate has expired"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::super::{Authority, Validity};
    use super::*;
    use crate::coordinator::logging::{Format, Level, subscriber};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn expiring(until: SystemTime) -> Certificate {
        let authority = Authority::create("test", Validity::authority()).unwrap();
        authority.issue_operator(Validity { from: SystemTime::UNIX_EPOCH, until }).certificate().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn an_expiry_is_told_at_once_and_every_day() {
        let lines = Lines::default();
        let writer = lines.clone();
        let _log = tracing::subscriber::set_default(subscriber(Format::Json, Level::Info, move || writer.clone()).0);
        let certificate = expiring(SystemTime::UNIX_EPOCH + DAY);
        let watched = tokio::time::timeout(3 * DAY - Duration::from_secs(1), watch_expiry(certificate, "renew it"));
        assert!(watched.await.is_err(), "it goes on for ever");
        let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(log.matches("the certificate has expired").count(), 3, "{log}");
        assert!(log.contains(r#""date":"1970-01-02""#) && log.contains(r#""remedy":"renew it""#), "{log}");
    }

    #[test]
    fn the_end_of_a_certificate_is_read_to_the_second() {
        // Beyond 2049 certificates write the year with four digits.
        for seconds in [86_400, 1_893_456_000, 2_524_607_999, 2_524_608_000, 4_102_444_800] {
            let until = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(expiring(until).expires(), until);
        }
    }
}
