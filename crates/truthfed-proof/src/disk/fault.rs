//! What is to go wrong, and when.

/// Something that is to go wrong once a disk has taken so many further steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Steps that still succeed; of reads, if reads are to fail.
    pub after: u64,
    /// What happens at the next step of its kind.
    pub fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The power is lost in the middle of the step. Every call fails until [`crate::disk::Disk::restart`].
    PowerLoss,
    /// The process is killed in the middle of the step. Every call fails until [`crate::disk::Disk::restart`].
    Crash,
    /// There is no room for a write; if it lasts, the capacity becomes what the files have.
    Full(Lasts),
    /// The medium fails.
    Failure(Operation, Lasts),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    Once,
    /// Until [`crate::disk::Disk::mend`], or for a full disk [`crate::disk::Disk::set_capacity`].
    ForEver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    /// The creation, truncation or deletion of a file.
    Change,
    Sync,
    /// Any of these but a read.
    Any,
}

/// Plans, and the steps that bring them about.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) steps: u64,
    pub(crate) reads: u64,
    /// With the number of the step, or read, from which on each is due.
    pub(crate) plans: Vec<(u64, Fault)>,
}

impl Faults {
    pub(crate) fn add(&mut self, Plan { after, fault }: Plan) {
        let count = if fault.is_of(Operation::Read) { self.reads } else { self.steps };
        self.plans.push((count + after + 1, fault));
    }

    /// Counts a step, and says what goes wrong with it.
    pub(crate) fn strike(&mut self, operation: Operation) -> Option<Fault> {
        let count = if operation == Operation::Read { &mut self.reads } else { &mut self.steps };
        *count += 1;
        let is_due = |(due, fault): &(u64, Fault)| due <= count && fault.is_of(operation);
        let index = self.plans.iter().position(is_due)?;
        let (_, fault) = self.plans[index];
        if !matches!(fault, Fault::Failure(_, Lasts::ForEver)) {
            self.plans.remove(index);
        }
        Some(fault)
    }
}

impl Fault {
    fn is_of(self, operation: Operation) -> bool {
        match self {
            Fault::PowerLoss | Fault::Crash | Fault::Failure(Operation::Any, _) => operation != Operation::Read,
            Fault::Full(_) => operation == Operation::Write,
            Fault::Failure(failing, _) => operation == failing,
        }
    }
}
