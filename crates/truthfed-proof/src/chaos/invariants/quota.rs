//! I20: no offer has more samples than fell due to its member since the last awarded round opened, or fewer than the terms allow.

use truthfed::auction::ClientId;
use truthfed::protocol::{Quota, RoundId, SamplesSetting, Time};

use super::Observer;
use crate::chaos::{Verdict, check};

/// When awarded rounds opened, by the observer's own count.
#[derive(Default)]
pub(crate) struct Openings {
    /// The open one, or the last.
    opened: Time,
    awarded: Option<Time>,
}

impl Observer {
    pub(super) fn note_opening(&mut self, at: Time) {
        self.openings.opened = at;
    }

    pub(super) fn note_award(&mut self) {
        self.openings.awarded = Some(self.openings.opened);
    }

    pub(super) fn check_quota(&self, round: RoundId, member: &ClientId, samples: u64) -> Verdict {
        let least = match self.agreement.raw().least_samples {
            SamplesSetting::Samples(least) => least,
            SamplesSetting::Rule(_) => 0,
        };
        check(samples >= least, "I20", || {
            format!("{member} offers {samples} samples in round {round}, below {least}")
        })?;
        let Quota { samples: quota, per_ms, members } = &self.agreement.raw().quota;
        let quota = u128::from(*members.get(member).unwrap_or(quota));
        let (Some(awarded), 1..) = (self.openings.awarded, quota) else { return Ok(()) };
        let due = |time: Time| quota * u128::from(time.0) / u128::from(*per_ms);
        let most = due(self.openings.opened) - due(awarded);
        check(u128::from(samples) <= most, "I20", || {
            format!("{member} offers {samples} samples in round {round}, and {most} fell due")
        })
    }
}
