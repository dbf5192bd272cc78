//! What goes wrong with disks.

use crate::disk::{Fault, Lasts, Operation, Plan};

use crate::chaos::world::World;

impl World<'_> {
    /// Something that goes wrong with somebody's disk within so many steps. It is counted unless it ends everything, which is
    /// counted when it does.
    pub(crate) fn draw_disk_fault(&mut self, whose: &str, kind: &'static str, within: usize) -> Plan {
        let after = self.dice.between(0, within) as u64;
        let fault = draw(self.dice.uniform());
        if !matches!(fault, Fault::PowerLoss | Fault::Crash) {
            self.count(kind);
        }
        self.trace.say(self.now, format_args!("the disk of {whose} meets {fault:?} after {after} steps"));
        Plan { after, fault }
    }
}

fn draw(chance: f64) -> Fault {
    match chance {
        x if x < 0.35 => Fault::PowerLoss,
        x if x < 0.6 => Fault::Crash,
        x if x < 0.65 => Fault::Full(Lasts::Once),
        x if x < 0.75 => Fault::Failure(Operation::Any, Lasts::Once),
        x if x < 0.85 => Fault::Failure(Operation::Sync, Lasts::Once),
        x if x < 0.95 => Fault::Failure(Operation::Any, Lasts::ForEver),
        _ => Fault::Failure(Operation::Read, Lasts::Once),
    }
}
