//! What the machine and the store refuse, under the codes that members are told.

use truthfed::protocol::{AbortError, DeliveryError, OfferError, Rejection, RulingError};

use crate::error::{Code, Refusal};
use crate::store::StoreError;

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Refusal {
        let code = match &rejection {
            Rejection::NotAMember(_) => Code::NotAMember,
            Rejection::StaleRound { .. } => Code::StaleRound,
            Rejection::WrongPhase { .. } => Code::WrongPhase,
            Rejection::ConflictingRetry { .. } => Code::ConflictingRetry,
            Rejection::Excluded { .. } => Code::Excluded,
            Rejection::Suspended(_) => Code::Suspended,
            Rejection::TooSoon { .. } => Code::TooSoon,
            Rejection::TriggerNotMet { .. } => Code::TriggerNotMet,
            Rejection::PurseSpent { .. } => Code::PurseSpent,
            Rejection::CapacityReached(_) => Code::CapacityReached,
            Rejection::Offer(error) => code_of(error),
            Rejection::Delivery(error) => code_of_delivery(error),
        };
        Refusal::new(code, rejection.to_string())
    }
}

impl From<RulingError> for Refusal {
    fn from(error: RulingError) -> Refusal {
        let code = match &error {
            RulingError::RoundOpen(_) => Code::RoundOpen,
            RulingError::NothingDelivered(_) | RulingError::NothingInDoubt(_) => Code::NothingInDoubt,
            RulingError::StillAMember(_) => Code::StillAMember,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<AbortError> for Refusal {
    fn from(error: AbortError) -> Refusal {
        let code = match &error {
            AbortError::NotOpen(_) => Code::NoOpenRound,
            AbortError::Awarded(_) => Code::RoundAwarded,
        };
        Refusal::new(code, error.to_string())
    }
}

fn code_of(error: &OfferError) -> Code {
    match error {
        OfferError::OtherClient { .. } => Code::OtherMember,
        OfferError::WrongDimension { .. } => Code::WrongDimension,
        OfferError::NotPositive { .. } => Code::NotPositive,
        OfferError::TraceTooLarge { .. } => Code::TraceTooLarge,
        OfferError::TooManySamples { .. } => Code::TooManySamples,
        OfferError::TooFewSamples { .. } => Code::TooFewSamples,
        OfferError::NoSamples { .. } => Code::DataWithoutSamples,
        OfferError::RankTooHigh { .. } => Code::RankTooHigh,
    }
}

fn code_of_delivery(error: &DeliveryError) -> Code {
    match error {
        DeliveryError::WrongDimension { .. } => Code::WrongDimension,
        DeliveryError::OutOfRange { .. } => Code::OutOfRange,
        DeliveryError::OutsideGram { .. } => Code::MomentOutOfRange,
        DeliveryError::EnergyTooLarge { .. } => Code::MomentEnergy,
    }
}

/// Members are told no details of the store.
impl From<&StoreError> for Refusal {
    fn from(error: &StoreError) -> Refusal {
        Refusal::from(match error {
            StoreError::Full => Code::StorageFull,
            StoreError::Unavailable(_) | StoreError::InDoubt(_) | StoreError::Held => Code::Busy,
            StoreError::NotLeader(_) => Code::NotLeader,
            _ => Code::Internal,
        })
    }
}
