// What the agent answers (crates/truthfed-node/src/agent/page). Money is text: a decimal number of units.
import type { Expiry } from "../types";

export type Kind = "offer-taken" | "won" | "lost" | "delivery-taken" | "waiting" | "paid" | "voided" | "forfeited";

/** A round in which this member offered. */
export interface Line {
  round: number;
  begun_ms: number | null;
  has_ended: boolean;
  samples: number | null;
  ask: string | null;
  /** What the last receipt says; none if the receipts are wrong. */
  last: Kind | null;
  payment: string | null;
  receipts: number;
  problem: string | null;
}

export interface Sums {
  rounds: number;
  won: number;
  receipts: number;
  wrong: { round: number; problem: string }[];
}

export interface Month {
  /** None for what was heard before times were kept. */
  month: string | null;
  offers: number;
  won: number;
  payments: number;
  earned: string;
}

export interface OpenRound {
  round: number;
  phase: "offers" | "deliveries";
  remaining_ms: number;
  phase_ms: number;
  has_declined: boolean;
  samples: number | null;
  ask: string | null;
}

export interface Overview {
  federation: string;
  coordinator_key: string;
  certificate: Expiry | null;
  terms: { mechanism: string; reserve: string; dimension: number };
  open: OpenRound | null;
  sums: Sums;
  months: Month[];
  rounds: Line[];
  status: {
    member: string;
    known: number;
    unshared: number;
    in_flight: number;
    own: number;
    last_round: number;
    coordinator_reachable: boolean;
    earned: string;
    payments_waiting: number;
    problem?: string;
  };
}

export interface Rounds {
  sums: Sums;
  more: boolean;
  rounds: Line[];
}

export interface Receipt {
  kind: Kind | null;
  offer: string | null;
  heard_ms: number | null;
  problem: string | null;
  signed: unknown;
}

export interface RoundView {
  line: Line;
  receipts: Receipt[];
}
