//! The storage device: a queue of limited depth, a latency, a bandwidth.

use crate::Time;
use crate::platform::{Prices, Storage as Shape};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A request to the storage device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The number of bytes.
    pub bytes: u64,
    /// True if the transfer writes.
    pub write: bool,
}

/// The storage device.
///
/// At most the queue's depth of requests are under way; a further one waits for the first to end.
/// Their data go one after the other at the bandwidth of their direction; then the latency passes.
#[derive(Debug)]
pub(crate) struct Storage {
    depth: usize,
    /// The times at which the requests under way end.
    under_way: BinaryHeap<Reverse<Time>>,
    /// The time at which the data of all requests so far are through.
    through: Time,
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl Storage {
    pub(crate) fn new(shape: Shape) -> Self {
        let depth = usize::from(shape.queue_depth);
        Self { depth, under_way: BinaryHeap::new(), through: Time::ZERO, read: 0, written: 0 }
    }

    /// Starts a transfer at `now`, no earlier than any before, and returns the time at which it is
    /// done.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{Draw, Platform};

    fn device(queue_depth: u16) -> (Storage, Prices) {
        let platform = Platform::named("x86-server-class").expect("a shipped platform");
        (Storage::new(Shape { queue_depth }), platform.prices(Draw::Nominal))
    }

    const READ: Transfer = Transfer { bytes: 4096, write: false };
    const WRITE: Transfer = Transfer { bytes: 4096, write: true };

    #[test]
    fn a_lone_request_takes_its_data_and_the_latency() {
        let (mut storage, prices) = device(64);
        let now = Time::from_ns(500);
        let read = now + prices.bandwidth_read.time(4096) + prices.read_latency;
        assert_eq!(storage.start(&prices, now, READ), read);
        let later = read + Time::from_ns(1);
        let write = later + prices.bandwidth_write.time(4096) + prices.write_latency;
        assert_eq!(storage.start(&prices, later, WRITE), write);
        assert_eq!((storage.read, storage.written), (4096, 4096));
    }

    #[test]
    fn latencies_overlap_and_data_follow_one_another() {
        let (mut storage, prices) = device(64);
        let data = prices.bandwidth_read.time(4096);
        for i in 1..=64 {
            let done = storage.start(&prices, Time::ZERO, READ);
            assert_eq!(done, data * i + prices.read_latency);
        }
    }

    #[test]
    fn a_full_queue_waits_for_the_first_to_end() {
        let (mut storage, prices) = device(2);
        let data = prices.bandwidth_read.time(4096);
        let one = data + prices.read_latency;
        let done: Vec<_> = (0..4).map(|_| storage.start(&prices, Time::ZERO, READ)).collect();
        assert!(data < prices.read_latency, "else the queue would not matter");
        assert_eq!(done, [one, one + data, one + one, one + one + data]);
        let idle = done[3] + one;
        assert_eq!(storage.start(&prices, idle, READ), idle + one, "all ended long ago");
    }
}
