//! Who may see the page: whoever opened a link that the operator asked for.
//!
//! A link is good once and for minutes. It is exchanged for two secrets: a cookie that no script can read, and a key that the page
//! keeps and shows in a header. Both are needed. A browser sends cookies to every port of a host, so another server on this
//! machine could read the cookie; it cannot read the key, which belongs to the origin. A foreign page has neither.
//!
//! Only hashes are kept, and compared: how long that takes says nothing about a secret.

use std::time::{Duration, Instant};

use crate::digest::{Digest, Nonce};

/// How long somebody stays logged in.
pub(super) const STAY: Duration = Duration::from_secs(8 * 60 * 60);
/// Links and logins at a time; the oldest make way.
const MOST: usize = 16;

/// Links that wait to be opened, and who opened one.
#[derive(Debug, Default)]
pub(super) struct Doors {
    links: Vec<(Digest, Instant)>,
    logins: Vec<Login>,
}

#[derive(Debug)]
struct Login {
    cookie: Digest,
    key: Digest,
    until: Instant,
}

/// What a link is exchanged for.
pub(super) struct Entered {
    pub(super) cookie: String,
    pub(super) key: String,
}

/// 256 random bits.
fn secret() -> String {
    let [first, second] = [(); 2].map(|()| Nonce::random().to_string());
    first + &second
}

impl Doors {
    /// The secret of a new link.
    pub(super) fn link(&mut self, now: Instant, lasts: Duration) -> String {
        self.forget(now);
        if self.links.len() == MOST {
            self.links.remove(0);
        }
        let link = secret();
        self.links.push((Digest::of(link.as_bytes()), now + lasts));
        link
    }

    /// Opens a link, which is then gone. None if there is no such link, or its time is over.
    pub(super) fn enter(&mut self, link: &str, now: Instant) -> Option<Entered> {
        self.forget(now);
        let link = Digest::of(link.as_bytes());
        let place = self.links.iter().position(|(known, _)| *known == link)?;
        self.links.remove(place);
        if self.logins.len() == MOST {
            self.logins.remove(0);
        }
        let entered = Entered { cookie: secret(), key: secret() };
        let [cookie, key] = [&entered.cookie, &entered.key].map(|secret| Digest::of(secret.as_bytes()));
        self.logins.push(Login { cookie, key, until: now + STAY });
        Some(entered)
    }

    pub(super) fn is_open(&self, cookie: &str, key: &str, now: Instant) -> bool {
        let (cookie, key) = (Digest::of(cookie.as_bytes()), Digest::of(key.as_bytes()));
        self.logins.iter().any(|login| login.cookie == cookie && login.key == key && now < login.until)
    }

    pub(super) fn leave(&mut self, cookie: &str) {
        let cookie = Digest::of(cookie.as_bytes());
        self.logins.retain(|login| login.cookie != cookie);
    }

    /// Whether anybody is logged in or may still open a link.
    pub(super) fn is_used(&mut self, now: Instant) -> bool {
        self.forget(now);
        !(self.links.is_empty() && self.logins.is_empty())
    }

    fn forget(&mut self, now: Instant) {
        self.links.retain(|(_, until)| now < *until);
        self.logins.retain(|login| now < login.until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_link_opens_once_and_in_time() {
        let (mut doors, now) = (Doors::default(), Instant::now());
        let link = doors.link(now, MINUTE);
        assert!(doors.enter("", now).is_none() && doors.enter(&link[1..], now).is_none());
        let Entered { cookie, key } = doors.enter(&link, now + MINUTE - Duration::from_millis(1)).unwrap();
        assert!(doors.enter(&link, now).is_none(), "it was opened");
        let late = doors.link(now, MINUTE);
        assert!(doors.enter(&late, now + MINUTE).is_none(), "its time is over");
        assert!(doors.is_open(&cookie, &key, now));
    }

    #[test]
    fn a_login_needs_both_secrets_and_ends() {
        let (mut doors, now) = (Doors::default(), Instant::now());
        let [one, two] = [(); 2].map(|()| {
            let link = doors.link(now, MINUTE);
            doors.enter(&link, now).unwrap()
        });
        assert!(doors.is_open(&one.cookie, &one.key, now) && doors.is_open(&two.cookie, &two.key, now));
        for (cookie, key) in [(&one.cookie, &two.key), (&one.cookie, &String::new()), (&one.key, &one.cookie)] {
            assert!(!doors.is_open(cookie, key, now));
        }
        assert!(!doors.is_open(&one.cookie, &one.key, now + STAY));
        doors.leave(&one.cookie);
        assert!(!doors.is_open(&one.cookie, &one.key, now) && doors.is_open(&two.cookie, &two.key, now));
        assert!(doors.is_used(now) && !doors.is_used(now + STAY));
    }

    #[test]
    fn links_and_logins_are_bounded_and_the_oldest_make_way() {
        let (mut doors, now) = (Doors::default(), Instant::now());
        let links: Vec<String> = (0..=MOST).map(|_| doors.link(now, MINUTE)).collect();
        assert!(doors.enter(&links[0], now).is_none() && doors.enter(&links[1], now).is_some());
        let first = doors.logins[0].cookie;
        for _ in 0..MOST {
            let link = doors.link(now, MINUTE);
            doors.enter(&link, now).unwrap();
        }
        assert!(doors.logins.len() == MOST && doors.logins.iter().all(|login| login.cookie != first));
    }
}
