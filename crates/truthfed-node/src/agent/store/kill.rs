//! The steps that a record of an agent stands for, where it can be killed.

use super::{Beside, Event};
use crate::kill::Durable;
use crate::wire::ReceiptKind;

impl Durable for (Option<&Event>, &Beside) {
    fn steps(&self) -> Vec<&'static str> {
        let (event, beside) = self;
        let event = event.map(|event| match event {
            Event::Learned(_) => "learned",
            Event::Opened { .. } => "answered",
            Event::Snapshot(_) => "synced",
        });
        let receipts = beside.receipts.iter().filter_map(|receipt| match receipt.kind {
            ReceiptKind::OfferTaken => Some("offer-receipt"),
            ReceiptKind::Won | ReceiptKind::Lost => Some("decision-receipt"),
            ReceiptKind::DeliveryTaken => Some("delivery-receipt"),
            // Written with the snapshot.
            ReceiptKind::Paid | ReceiptKind::Voided | ReceiptKind::Waiting | ReceiptKind::Forfeited => None,
        });
        event.into_iter().chain(receipts).chain(beside.head.as_ref().map(|_| "head")).collect()
    }
}
