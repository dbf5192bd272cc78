//! Every message that is no offer and no delivery, to the coordinator, from it, and between an agent and its application.

use truthfed_node::agent::Status;
use truthfed_node::agent::local::{Choice, ChooseRequest, LearnRequest, Learned};
use truthfed_node::coordinator::operator::{EnrolRequest, MembersReply, RoundReply, RoundsReply, StatusReply};
use truthfed_node::error::Refusal;
use truthfed_node::ledger::{Checkpoint, Statement};
use truthfed_node::log::Proof;
use truthfed_node::wire::{
    DeclineReply, DeliveryContent, Envelope, OfferContent, ReceiptContent, ReceiptReply, StatementReply, SyncReply,
    SyncRequest, View,
};

use crate::text::message;

type Reader = fn(&[u8]) -> bool;

const READERS: &[Reader] = &[
    is::<Checkpoint>,
    is::<Choice>,
    is::<ChooseRequest>,
    is::<DeclineReply>,
    is::<DeliveryContent>,
    is::<EnrolRequest>,
    is::<Envelope>,
    is::<LearnRequest>,
    is::<Learned>,
    is::<MembersReply>,
    is::<OfferContent>,
    is::<Proof>,
    is::<ReceiptContent>,
    is::<ReceiptReply>,
    is::<Refusal>,
    is::<RoundReply>,
    is::<RoundsReply>,
    is::<Statement>,
    is::<StatementReply>,
    is::<Status>,
    is::<StatusReply>,
    is::<SyncReply>,
    is::<SyncRequest>,
    is::<View>,
];

/// Any message.
pub fn messages(bytes: &[u8]) -> bool {
    // All of them are tried: a message may be of several kinds.
    READERS.iter().filter(|is_read| is_read(bytes)).count() > 0
}

fn is<T: serde::Serialize + serde::de::DeserializeOwned>(bytes: &[u8]) -> bool {
    message::<T>(bytes).is_some()
}
