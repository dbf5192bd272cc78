//! Who may call the plain listeners of this machine: programs, but no page in a browser except our own.
//!
//! A page can send requests to loopback, and can read the answers if its own host name resolves to loopback. A browser then
//! says so in its headers: an `Origin`, or a `Host` that is not this machine's.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::{Code, Refusal};

/// A layer that refuses requests with an `Origin`, or to a host that is neither `localhost` nor a loopback address.
pub(crate) async fn only_from_here(request: Request, next: Next) -> Response {
    match check_sender(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// A layer for our own page: refuses what another page sends, and requests to a host that is not this machine.
pub(crate) async fn only_own_page(request: Request, next: Next) -> Response {
    match check_page(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check_sender(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(header::ORIGIN) {
        return Err(Refusal::new(Code::WrongType, "header Origin: this API is not for pages in a browser"));
    }
    check_host(headers).map(drop)
}

fn check_page(headers: &HeaderMap) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(Refusal::new(Code::WrongType, message));
    let Some(host) = check_host(headers)? else { return refuse("header Host: is missing") };
    if headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes() != format!("http://{host}").as_bytes()) {
        return refuse("header Origin: must be this page's own");
    }
    // A browser says how the page that asks is related to us; `none` is whoever types the address.
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => refuse("header Sec-Fetch-Site: must be same-origin"),
    }
}

/// The host that is asked, if the request says.
fn check_host(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    match headers.get(header::HOST).map(|host| host.to_str()) {
        None => Ok(None),
        Some(Ok(host)) if is_this_machine(host) => Ok(Some(host)),
        Some(_) => Err(Refusal::new(Code::WrongType, "header Host: must be localhost or a loopback address")),
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_page_is_taken_as_such() {
        let check = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| {
                let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
                (name, HeaderValue::from_str(value).unwrap())
            });
            check_page(&headers.collect())
        };
        let host = ("host", "127.0.0.1:7400");
        for own in [
            &[host][..],
            &[host, ("origin", "http://127.0.0.1:7400")],
            &[host, ("sec-fetch-site", "same-origin")],
            &[host, ("sec-fetch-site", "none")],
        ] {
            check(own).unwrap();
        }
        for foreign in [
            &[][..],
            &[("host", "attacker.example")],
            &[("host", "attacker.example"), ("origin", "http://attacker.example")],
            &[host, ("origin", "http://attacker.example")],
            &[host, ("origin", "null")],
            &[host, ("origin", "https://127.0.0.1:7400")],
            &[host, ("origin", "http://127.0.0.1:7401")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            assert_eq!(check(foreign).unwrap_err().code, Code::WrongType, "{foreign:?}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_taken_as_host() {
        for host in ["localhost", "LOCALHOST:7400", "127.0.0.1", "127.0.0.2:80", "[::1]", "[::1]:7400"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["", "example.org", "localhost.example.org", "127.0.0.1.example.org:80", "10.0.0.1", "[::2]:80"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
