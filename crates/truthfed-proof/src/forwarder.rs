//! A TCP proxy, as an operator would have it: it leads to where it is told.

use std::fs::File;
use std::io::{self, copy};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::net::{Shutdown, shutdown};

#[derive(Debug, Clone)]
pub enum Target {
    /// Whoever comes is sent away.
    Nobody,
    /// A port of this machine.
    Port(u16),
    /// A socket in a folder.
    Socket(PathBuf),
}

/// Leads connections on, until it is dropped.
#[derive(Debug)]
pub struct Forwarder {
    pub port: u16,
    shared: Arc<Mutex<Option<Leads>>>,
}

#[derive(Debug)]
struct Leads {
    target: Target,
    ends: Vec<File>,
}

impl Forwarder {
    /// Listens on a port of this machine; on any that is free, if it is 0.
    pub fn new(port: u16, target: Target) -> io::Result<Forwarder> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Mutex::new(Some(Leads { target, ends: Vec::new() })));
        let at_work = shared.clone();
        std::thread::spawn(move || {
            for from in listener.incoming() {
                let mut shared = lock(&at_work);
                let Some(leads) = shared.as_mut() else { return };
                // Whoever is not there is not reached.
                let _ = from.and_then(|from| leads.forward(from));
            }
        });
        Ok(Forwarder { port, shared })
    }

    /// Cuts all connections, and leads to another from now on.
    pub fn point_to(&self, target: Target) {
        if let Some(leads) = lock(&self.shared).as_mut() {
            leads.cut();
            leads.target = target;
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        if let Some(mut leads) = lock(&self.shared).take() {
            leads.cut();
        }
        // Wakes it up to see that it is over.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Leads {
    fn forward(&mut self, from: TcpStream) -> io::Result<()> {
        from.set_nodelay(true)?;
        let to: OwnedFd = match &self.target {
            Target::Nobody => return Ok(()),
            Target::Port(port) => {
                let to = TcpStream::connect((Ipv4Addr::LOCALHOST, *port))?;
                to.set_nodelay(true)?;
                to.into()
            }
            Target::Socket(path) => UnixStream::connect(path)?.into(),
        };
        let (from, to) = (File::from(OwnedFd::from(from)), File::from(to));
        for (from, to) in [(&from, &to), (&to, &from)] {
            let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
            std::thread::spawn(move || {
                // Until one side has said all, or is gone.
                let _ = copy(&mut from, &mut to);
                let _ = shutdown(&to, Shutdown::Write);
            });
        }
        self.ends.extend([from, to]);
        Ok(())
    }

    fn cut(&mut self) {
        for end in self.ends.drain(..) {
            // It may be closed already.
            let _ = shutdown(&end, Shutdown::Both);
        }
    }
}

fn lock(shared: &Mutex<Option<Leads>>) -> MutexGuard<'_, Option<Leads>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
