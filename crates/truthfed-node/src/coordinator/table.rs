//! Every route of the coordinator. What is not here cannot be called, and what is here is in the document.

use axum::http::Method;

use super::route::{Route, for_either, for_members, for_operator};
use super::{member, openapi, operator};

/// All routes, in the order of the document.
pub(super) fn routes() -> Vec<Route> {
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    vec![
        for_members(
            get.clone(),
            "/v1/terms",
            "The terms of the federation, as the bytes whose SHA-256 every offer names.",
            member::terms,
        ),
        for_members(
            get.clone(),
            "/v1/view",
            "What a member sees now; waits for a change when it has seen this version already.",
            member::view,
        ),
        for_members(
            post.clone(),
            "/v1/ask",
            "Asks for a round: opens one, or names the one that is open.",
            member::ask,
        ),
        for_members(
            post.clone(),
            "/v1/rounds/{round}/offer",
            "Offers data at a price; the first offer binds.",
            member::offer,
        )
        .large(),
        for_members(
            post.clone(),
            "/v1/rounds/{round}/decline",
            "Has nothing to offer in a round, so that nobody waits for it.",
            member::decline,
        ),
        for_members(
            post.clone(),
            "/v1/rounds/{round}/delivery",
            "Delivers the moment that a winning offer committed to.",
            member::delivery,
        ),
        for_members(
            post.clone(),
            "/v1/sync",
            "What is settled, if it is newer than what the member has, and the receipts since.",
            member::sync,
        ),
        for_members(
            get.clone(),
            "/v1/statement",
            "All receipts of the member about decisions and payments.",
            member::statement,
        ),
        for_operator(get.clone(), "/v1/operator/members", "All members, present and past.", operator::members),
        for_operator(post, "/v1/operator/members", "Takes a member in.", operator::enrol),
        for_operator(
            delete,
            "/v1/operator/members/{member}",
            "Takes a member out: at once, also on its open connections.",
            operator::revoke,
        ),
        for_operator(
            get.clone(),
            "/v1/operator/rounds",
            "Rounds in their order, as the journal has them.",
            operator::rounds,
        ),
        for_operator(
            get.clone(),
            "/v1/operator/rounds/{round}",
            "One round, with what each member did in it.",
            operator::round,
        ),
        for_operator(get.clone(), "/v1/operator/status", "How the coordinator is doing.", operator::status),
        for_either(get, "/openapi.json", "This document.", openapi::document),
    ]
}
