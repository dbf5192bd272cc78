// Adds a member whom the authority has certified: what it signs with stays on another machine, and only the certificate comes here.
import { useEffect, useRef, useState } from "preact/hooks";
import { change } from "../api";
import { Problem } from "../parts";
import type { Plan } from "../parts";

interface Certified {
  member: string;
  certificate: string;
  until: string;
}

/** Longer than any certificate of a member. */
const MOST_BYTES = 6000;

/** Asks for a certificate, and has it confirmed whose it is. */
export function Entrance({ plan, close }: { plan: (plan: Plan) => void; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [pem, setPem] = useState("");
  const [problem, setProblem] = useState<Error | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  async function take(file: File | undefined): Promise<void> {
    setProblem(null);
    if (file === undefined) return;
    if (file.size > MOST_BYTES) return setProblem(new Error(`${file.name} has ${file.size} bytes: a member's certificate has at most ${MOST_BYTES}`));
    setPem(await file.text());
  }
  async function look(): Promise<void> {
    setProblem(null);
    try {
      const { member, certificate, until } = await change<Certified>("POST", "/page/certificate", { certificate: pem });
      plan({
        title: `Add ${member}?`,
        what: <>It may take part from the next round on. Its certificate lasts until {until}, with the hash <code class="whole">{certificate}</code>.</>,
        verb: "Add",
        method: "POST",
        path: "/page/members/certified",
        body: { certificate: pem },
      });
    } catch (problem) {
      setProblem(problem as Error);
    }
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="entrance-title">
      <h2 id="entrance-title">Add a member</h2>
      <p>The authority's key is not needed here, and stays where it is. There, run</p>
      <pre tabIndex={0}>truthfed members add DIR --request request.json</pre>
      <p>with the request that the member made, and give the certificate <code>DIR/roster/NAME.pem</code> to this page.</p>
      <p><label>Certificate <input type="file" accept=".pem" onChange={(event) => void take(event.currentTarget.files?.[0])} /></label></p>
      <p>
        <label>
          or its text
          <textarea rows={5} maxLength={MOST_BYTES} spellcheck={false} value={pem} onInput={(event) => setPem(event.currentTarget.value)} />
        </label>
      </p>
      <Problem problem={problem} />
      <div class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        <button type="button" class="danger" disabled={pem.trim() === ""} onClick={() => void look()}>Look whose it is</button>
      </div>
    </dialog>
  );
}
