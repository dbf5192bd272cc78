//! Two coordinators on one PostgreSQL: the first is stopped in the middle of a round, the second takes over.

use truthfed::protocol::RoundId;
use truthfed_node::agent::{Https, Link};
use truthfed_node::federation::{Bundle, open_bundle};
use truthfed_node::wire::{Call, SyncRequest};
use truthfed_proof::forwarder::{Forwarder, Target};
use truthfed_proof::load::world::copy;

use super::{End, Kind, Life, Plan, Process, Site, Template, Trace, await_end, port, serve, set};

/// The second coordinator: the same folder with other addresses.
struct Standby {
    process: Process,
    listen: u16,
    admin: u16,
}

impl Standby {
    /// Starts it, and waits until it stands by.
    fn start(life: &mut Life) -> Standby {
        let (folder, listen, admin) = (life.site.path("second"), port(), port());
        copy(&life.site.path("fed"), &folder).unwrap();
        set(&folder.join("federation.toml"), "listen", &format!("127.0.0.1:{listen}"));
        set(&folder.join("federation.toml"), "admin", &format!("127.0.0.1:{admin}"));
        let process = serve(&life.site, "second", None);
        life.until("the second stands by", |_| process.log().contains("standing by").then_some(()));
        Standby { process, listen, admin }
    }

    /// Waits until it has taken over, and leads everyone there. The first is handed back.
    fn take_over(self, life: &mut Life, forwarder: &Forwarder) -> Process {
        life.site.admin = self.admin;
        life.until("the second takes over", Site::entries);
        forwarder.point_to(Target::Port(self.listen));
        std::mem::replace(&mut life.coordinator, self.process)
    }
}

/// The first coordinator stops itself at a point, or is stopped when it has nothing to do.
pub(crate) fn live(template: &Template, stop_at: Option<&str>) -> Trace {
    let mut site = Site::new(template, Kind::Postgres);
    // A busy machine must not make the first one look gone.
    site.lease_ms = 2000;
    let first = site.listen;
    let forwarder = Forwarder::new(port(), Target::Port(first)).unwrap();
    site.reach(forwarder.port);
    let coordinator = serve(&site, "fed", stop_at);
    let mut life = Life::with(site, coordinator, Plan::default());
    let standby = Standby::start(&mut life);
    life.first_offers();
    if stop_at.is_none() {
        life.coordinator.signal("STOP");
    }
    life.turn(2, |life| {
        let mut stopped = standby.take_over(life, &forwarder);
        life.recorded(3);
        check_fenced(life, &mut stopped, first);
    });
    life.first_deliveries();
    life.between();
    life.second_round();
    life.end()
}

/// Continued, the first refuses whoever asks it, writes nothing, and ends.
fn check_fenced(life: &Life, first: &mut Process, listen: u16) {
    let head = || life.site.store().open_existing().unwrap().head().unwrap();
    let before = head();
    let bundle = open_bundle(&life.site.path("fed/members/m1")).unwrap();
    let link = Https::new(&Bundle { coordinator: format!("127.0.0.1:{listen}"), ..bundle }).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // It waits at the door of the one that is stopped.
    let asked =
        runtime.spawn(async move { link.call(Call::Sync(SyncRequest { have: RoundId(0), waiting: None })).await });
    first.signal("CONT");
    let refused = runtime.block_on(asked).unwrap();
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(await_end(first), End::Code(Some(2)), "{}", first.log());
    assert!(first.log().contains("another coordinator took over with a later epoch than 1"), "{}", first.log());
    assert_eq!(head(), before);
}
