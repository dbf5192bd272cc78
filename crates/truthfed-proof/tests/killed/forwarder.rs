//! A TCP proxy before two coordinators, as an operator would have it: it leads to the one it is told.

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

/// Leads connections to a port of this machine, until it is dropped.
pub(crate) struct Forwarder {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    /// Where to; 0 when it is over.
    target: AtomicU16,
    ends: Mutex<Vec<TcpStream>>,
}

impl Forwarder {
    pub(crate) fn new(port: u16, target: u16) -> Forwarder {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let shared = Arc::new(Shared { target: AtomicU16::new(target), ends: Mutex::default() });
        let at_work = shared.clone();
        std::thread::spawn(move || {
            for from in listener.incoming().map(Result::unwrap) {
                match at_work.target.load(Ordering::SeqCst) {
                    0 => return,
                    target => at_work.forward(from, target),
                }
            }
        });
        Forwarder { port, shared }
    }

    /// Leads to another from now on, and cuts all connections.
    pub(crate) fn point_to(&self, target: u16) {
        self.shared.target.store(target, Ordering::SeqCst);
        for end in self.shared.ends.lock().unwrap().drain(..) {
            // It may be closed already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    /// Whoever is not there is not reached.
    fn forward(&self, from: TcpStream, target: u16) {
        let Ok(to) = TcpStream::connect(("127.0.0.1", target)) else { return };
        let pair = |one: &TcpStream, other: &TcpStream| (one.try_clone().unwrap(), other.try_clone().unwrap());
        for (mut from, mut to) in [pair(&from, &to), pair(&to, &from)] {
            std::thread::spawn(move || {
                // Until one side has said all, or is gone.
                let _ = copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
        self.ends.lock().unwrap().extend([from, to]);
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.point_to(0);
        // Wakes it up to see that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
