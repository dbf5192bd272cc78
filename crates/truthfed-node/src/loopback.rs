//! Who may call the plain listeners of this machine: programs, but no page in a browser.
//!
//! A page can send requests to loopback, and can read the answers if its own host name resolves to loopback. A browser then
//! says so in its headers: an `Origin`, or a `Host` that is not this machine's.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, header};
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

fn check_sender(headers: &HeaderMap) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(Refusal::new(Code::WrongType, message));
    if headers.contains_key(header::ORIGIN) {
        return refuse("header Origin: this API is not for pages in a browser");
    }
    match headers.get(header::HOST).map(|host| host.to_str()) {
        None => Ok(()),
        Some(Ok(host)) if is_this_machine(host) => Ok(()),
        Some(_) => refuse("header Host: must be localhost or a loopback address"),
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
    fn only_names_of_this_machine_are_taken_as_host() {
        for host in ["localhost", "LOCALHOST:7400", "127.0.0.1", "127.0.0.2:80", "[::1]", "[::1]:7400"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["", "example.org", "localhost.example.org", "127.0.0.1.example.org:80", "10.0.0.1", "[::2]:80"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
