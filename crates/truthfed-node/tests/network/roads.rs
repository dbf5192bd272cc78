//! The simulated network, as the service and its clients see it.

use std::io;
use std::net::SocketAddr;

use truthfed_node::net::{Connect, Listen};
use turmoil::net::{TcpListener, TcpStream};

/// Where connections come in.
pub(crate) struct Door(TcpListener);

impl Door {
    /// A door of the host that this runs on, and where it is.
    pub(crate) async fn open(port: u16) -> io::Result<(Door, SocketAddr)> {
        let listener = TcpListener::bind(("0.0.0.0", port)).await?;
        let address = listener.local_addr()?;
        Ok((Door(listener), address))
    }
}

impl Listen for Door {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.accept().await
    }
}

/// How connections go out.
pub(crate) struct Road;

impl Connect for Road {
    type Stream = TcpStream;

    async fn connect(&self, address: &str) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}
