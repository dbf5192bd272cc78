// What the coordinator answers (crates/truthfed-node/src/coordinator/page/views.rs). Money is text: a decimal number of units.

export interface Journal {
  entries: number;
  checked: number;
  hash: string;
  problem: string | null;
}

export interface Expiry {
  of: string;
  until: string;
  days: number;
}

export interface Figure {
  round: number;
  state: "settled" | "aborted" | "ruled";
  words: string;
  opened_ms: number;
  ended_ms: number | null;
  offers: number;
  winners: number;
  defaulted: number;
  essential: number;
  held: string[];
  coverage: number | null;
  target: number | null;
  awarded: string;
  paid: string;
  waiting: string;
}

export interface Doubt {
  member: string;
  is_held: boolean;
  samples: number;
  since: number;
  payments: number;
  waiting: string;
}

export interface OpenRound {
  round: number;
  phase: "offers" | "deliveries";
  remaining_ms: number;
  phase_ms: number;
  opened_ms: number | null;
  asked_by: string | null;
  offers: number | null;
  declined: number | null;
  winners: number | null;
  deliveries: number | null;
  awaited: string[];
}

export interface Overview {
  name: string;
  federation: string;
  role: string;
  why: string | null;
  epoch: number;
  uptime_ms: number;
  now_ms: number;
  journal: Journal;
  open: OpenRound | null;
  closed: number;
  members: { present: number; online: number; revoked: number };
  money: {
    earned: string;
    paid_out: string;
    owed: string;
    promised: string;
    today: string;
    purse: string | null;
    daily_purse: string | null;
  };
  doubts: Doubt[];
  certificates: Expiry[];
  terms: { mechanism: string; reserve: string; dimension: number };
  rounds: Figure[];
}

export interface Member {
  member: string;
  certificate: string;
  key: string;
  is_revoked: boolean;
  is_awaited: boolean;
  seen_ms: number | null;
  is_online: boolean;
  offers: number;
  won: number;
  defaulted: number;
  held: number;
  last_round: number | null;
  mean_ask: string | null;
  earned: string;
  paid_out: string;
  owed: string;
  promised: string;
  doubts: Doubt[];
}

export interface Members {
  journal: Journal;
  now_ms: number;
  members: Member[];
}

export interface Rounds {
  journal: Journal;
  rounds: Figure[];
  more: boolean;
  all: number;
  open: number | null;
}

export interface Offer {
  member: string;
  entry: number;
  samples: number;
  ask: string | null;
  won: boolean;
  payment: string | null;
  essential: boolean;
  outcome: string;
}

export interface RoundView {
  round: number;
  state: "offers" | "deliveries" | "settled" | "aborted" | "ruled";
  words: string;
  asked_by: string;
  entry: number;
  opened_ms: number;
  ended_ms: number | null;
  offers: Offer[];
  declined: string[];
  awaited: string[];
  deliveries: number;
  defaulted: string[];
  sealed: string | null;
  sealed_ms: number | null;
  limits: { offers_ms: number; deliveries_ms: number };
  aggregate: string | null;
  paid: string;
  released: string;
  waiting: string;
  figure: Figure | null;
  first: number | null;
  last: number;
}

export interface AuctionOffer {
  member: string;
  ask: string;
  gain: number | null;
  payment: string | null;
  essential: boolean;
  why: string;
}

/** The clock after one step: who was just turned away, and the prices of those still in. */
export interface ClockStep {
  rejected: string | null;
  active: { member: string; price: string; frozen: boolean }[];
}

export interface Auction {
  mechanism: string;
  coverage: number;
  target: number;
  reserve: string;
  purse: string | null;
  bound_by_purse: boolean;
  clearing: number | null;
  /** None under other mechanisms than the clock, and in large rounds. */
  steps: ClockStep[] | null;
  offers: AuctionOffer[];
}

export interface Posting {
  posting: number;
  at: string;
  entry: number;
  account: string;
  member: string;
  round: number | null;
  reference: string | null;
  amount: string;
}

export interface Postings {
  journal: Journal;
  more: boolean;
  oldest: number | null;
  postings: Posting[];
}

export interface Entry {
  entry: number;
  kind: string;
  round: number | null;
  member: string | null;
  hash: string;
  body: unknown;
}

export interface Step {
  entry: number;
  kind: string;
  round: number | null;
  member: string | null;
  at_ms: number;
}
