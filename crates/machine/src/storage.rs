//! The storage device: a queue of limited depth, a latency, a bandwidth.

use crate::Time;
use crate::platform::{Prices, Storage as Shape};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One request to the storage device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Its length.
    pub bytes: u64,
    /// Whether it writes.
    pub write: bool,
}

/// The device.
///
/// At most the queue's depth of requests are under way; a further one waits for the first to end.
/// Their data go one after the other at the bandwidth of their direction; then the latency passes.
#[derive(Debug)]
pub(crate) struct Storage {
    depth: usize,
    /// When the requests under way end.
    under_way: BinaryHeap<Reverse<Time>>,
    /// When the data of all requests so far are through.
    through: Time,
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl Storage {
    pub(crate) fn new(shape: Shape) -> Self {
        let depth = usize::from(shape.queue_depth);
        Self { depth, under_way: BinaryHeap::new(), through: Time::ZERO, read: 0, written: 0 }
    }

    /// Starts a transfer at `now`, no earlier than any before; when it is done.
    pub(crate) fn start(&mut self, prices: &Prices, now: Time, transfer: Transfer) -> Time {
        while self.under_way.peek().is_some_and(|done| done.0 <= now) {
            self.under_way.pop();
        }
        let admitted = match self.under_way.len() < self.depth {
            true => now,
            false => self.under_way.pop().map_or(now, |first| first.0),
        };
        let (latency, bandwidth) = match transfer.write {
            true => (prices.write_latency, prices.bandwidth_write),
            false => (prices.read_latency, prices.bandwidth_read),
        };
        match transfer.write {
            true => self.written += transfer.bytes,
            false => self.read += transfer.bytes,
        }
        self.through = self.through.max(admitted) + bandwidth.time(transfer.bytes);
        let done = self.through + latency;
        self.under_way.push(Reverse(done));
        done
    }
}
