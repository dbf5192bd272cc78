//! An input as a source of choices: whatever its bytes are, they mean something.

use truthfed::protocol::RoundId;

/// Numbers at which arithmetic has gone wrong before.
const EDGES: [f64; 16] =
    [0.0, -0.0, 1.0, -1.0, 1e-9, 1e-5, 1e-162, 5e-324, 1e6, 1e9, 1e15, -1e15, 1e154, f64::MAX, f64::INFINITY, f64::NAN];

/// What is left of an input. After its end it goes on with zeros.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `bound`, which is at most 256.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    pub(crate) fn chance(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(crate) fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A count: mostly small, now and then at the end of the range.
    pub(crate) fn count(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=199 => u64::from(small),
            200..=219 => u64::MAX - u64::from(self.byte()),
            220..=239 => (1 << 63) + u64::from(self.byte()) - 128,
            _ => self.word(),
        }
    }

    /// A round that can be read, mostly an early one.
    pub(crate) fn round(&mut self) -> RoundId {
        RoundId(self.count().min(RoundId::LAST.0))
    }

    /// A number of moderate size, a multiple of 1/16.
    pub(crate) fn small(&mut self) -> f64 {
        f64::from(self.byte() as i8) / 16.0
    }

    /// Any number: a moderate one, one of the [`EDGES`], or any bits.
    pub(crate) fn float(&mut self) -> f64 {
        match self.byte() % 4 {
            0 | 1 => self.small(),
            2 => self.pick(&EDGES),
            _ => f64::from_bits(self.word()),
        }
    }

    pub(crate) fn floats(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.float()).collect()
    }
}
