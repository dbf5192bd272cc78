// All members, present and past, and what the operator may do about them.
import { useState } from "preact/hooks";
import { ago, column, count, counted, money } from "../format";
import { Badge, Confirm, Problem, Round, Table, useFetched } from "../parts";
import type { Column, Plan } from "../parts";
import type { Member, Members as View } from "../types";
import { Entrance } from "./entrance";

const path = (member: string, rest = "") => `/v1/operator/members/${encodeURIComponent(member)}${rest}`;

function rule(member: string, ruling: "release" | "void" | "forget"): Plan {
  const words = {
    release: ["Release what is in doubt of", "What it delivered is settled, and the payments that wait are made. This cannot be undone.", "Release and pay"],
    void: ["Make void what is in doubt of", "What it delivered is not settled, and the payments for it are void. This cannot be undone.", "Make void"],
    forget: ["Forget", "All that it ever delivered is taken out of what the members share. What it was paid stays paid. This cannot be undone.", "Forget its data"],
  }[ruling] as [string, string, string];
  return { title: `${words[0]} ${member}?`, what: words[1], verb: words[2], method: "POST", path: path(member, "/ruling"), body: { ruling } };
}

const revoke = (member: string): Plan => ({
  title: `Revoke ${member}?`,
  what: "It may not take part any more, from now on and for good: its name and certificate are never used again. What it earned stays owed to it.",
  verb: "Revoke",
  method: "DELETE",
  path: path(member),
});

function State({ member }: { member: Member }) {
  if (member.is_revoked) return <Badge kind="bad">revoked</Badge>;
  const held = member.doubts.some((doubt) => doubt.is_held);
  return (
    <>
      {member.is_online ? <Badge kind="good">online</Badge> : <Badge kind="calm">away</Badge>} {held && <Badge kind="bad">held</Badge>}{" "}
      {!held && member.doubts.length > 0 && <Badge kind="calm">compared</Badge>} {member.is_awaited && <Badge kind="warn">awaited</Badge>}
    </>
  );
}

export function Members({ version, find }: { version: number; find: string }) {
  const { value: view, problem } = useFetched<View>("/page/members", version);
  const [plan, setPlan] = useState<Plan | null>(null);
  const [isAdding, setAdding] = useState(false);
  const [wanted, setWanted] = useState(find);
  if (view === null) return problem ? <Problem problem={problem} /> : <p class="muted">Asks the coordinator…</p>;
  const shown = view.members.filter((member) => member.member.includes(wanted));
  const sums = (of: (member: Member) => string | null) => column(shown.map(of));
  const [ask, earned, owed, promised] = [sums((m) => m.mean_ask), sums((m) => m.earned), sums((m) => m.owed), sums((m) => m.promised)];
  const columns: Column<Member>[] = [
    { name: "member", by: (member) => member.member, show: (member) => <strong title={`certificate ${member.certificate}`}>{member.member}</strong> },
    { name: "state", by: (member) => (member.is_revoked ? 2 : member.is_online ? 0 : 1), show: (member) => <State member={member} /> },
    { name: "last seen", number: true, by: (member) => member.seen_ms ?? 0, show: (member) => (member.seen_ms === null ? <span class="muted">not since the start</span> : `${ago(view.now_ms - member.seen_ms)} ago`) },
    { name: "offers", number: true, by: (member) => member.offers, show: (member) => count(member.offers) },
    { name: "won", number: true, by: (member) => member.won, show: (member) => count(member.won) },
    { name: "not delivered", number: true, by: (member) => member.defaulted, show: (member) => count(member.defaulted) },
    { name: "times held", number: true, by: (member) => member.held, show: (member) => count(member.held) },
    { name: "last offer", unit: "round", number: true, by: (member) => member.last_round ?? 0, show: (member) => member.last_round !== null && <Round round={member.last_round} /> },
    { name: "mean ask", unit: "units", number: true, by: (member) => Number(member.mean_ask ?? -1), show: (member) => ask(member.mean_ask) },
    { name: "earned", unit: "units", number: true, by: (member) => Number(member.earned), show: (member) => earned(member.earned) },
    { name: "owed", unit: "units", number: true, by: (member) => Number(member.owed), show: (member) => owed(member.owed) },
    { name: "promised", unit: "units", number: true, by: (member) => Number(member.promised), show: (member) => promised(member.promised) },
    {
      name: "actions",
      show: ({ member, doubts, is_revoked, offers }) => (
        <span class="actions">
          {doubts.length > 0 && (
            <>
              <button type="button" onClick={() => setPlan(rule(member, "release"))}>Release<span class="visually-hidden"> {member}</span></button>
              <button type="button" onClick={() => setPlan(rule(member, "void"))}>Void<span class="visually-hidden"> {member}</span></button>
            </>
          )}
          {!is_revoked && <button type="button" onClick={() => setPlan(revoke(member))}>Revoke<span class="visually-hidden"> {member}</span></button>}
          {is_revoked && offers > 0 && <button type="button" onClick={() => setPlan(rule(member, "forget"))}>Forget<span class="visually-hidden"> {member}</span></button>}
        </span>
      ),
    },
  ];
  const doubts = shown.flatMap((member) => member.doubts);
  return (
    <>
      <h1>Members</h1>
      <div class="bar">
        <label>
          Find <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
        </label>
        <p>{shown.length === view.members.length ? counted(shown.length, "member") : `${count(shown.length)} of ${counted(view.members.length, "member")}`}</p>
        <button type="button" onClick={() => setAdding(true)}>Add a member</button>
      </div>
      <Problem problem={problem} />
      {doubts.length > 0 && (
        <section class="card" aria-labelledby="doubts">
          <h2 id="doubts">In doubt</h2>
          <ul class="plain">
            {doubts.map((doubt) => (
              <li key={`${doubt.member}-${doubt.is_held}`}>
                <strong>{doubt.member}</strong> <Badge kind={doubt.is_held ? "bad" : "calm"}>{doubt.is_held ? "held" : "compared"}</Badge>{" "}
                {counted(doubt.samples, "sample")} since round <Round round={doubt.since} />; {counted(doubt.payments, "payment")} of {money(doubt.waiting)} units wait.{" "}
                {doubt.is_held ? "It contradicts what others delivered, and is not settled." : "It is settled, and compared with what others deliver."}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="card">
        <Table caption="Members" columns={columns} rows={shown} name={(member) => member.member} empty="Nobody of that name." />
      </section>
      {isAdding && <Entrance close={() => setAdding(false)} plan={(plan) => { setAdding(false); setPlan(plan); }} />}
      {plan && <Confirm plan={plan} close={() => setPlan(null)} />}
    </>
  );
}
