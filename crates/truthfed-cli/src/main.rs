//! The one binary: see the library.

use std::process::ExitCode;

/// Memory is often given back by another thread than took it, for which the system's allocator takes locks: without them
/// a ledger is verified in two thirds of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    truthfed_cli::main(std::env::args_os())
}
