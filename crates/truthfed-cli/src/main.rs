//! The one binary: see the library.

use std::process::ExitCode;

/// One thread often frees what another allocated, for which the system's allocator takes locks. Without them `ledger
/// verify` takes two thirds of the time (docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    truthfed_cli::main(std::env::args_os())
}
