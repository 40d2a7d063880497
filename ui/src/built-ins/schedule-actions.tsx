// The actions on a schedule: start a run now, pause, resume. Each asks for confirmation.

import { useState, type ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import { useSession, whyNot } from "../api/session.ts";
import type { Schedule } from "../api/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { toast } from "../parts/toasts.tsx";
import { isLive } from "./schedule-facts.tsx";

type Action = "Trigger" | "Pause" | "Resume";

const DOES: Readonly<Record<Action, string>> = {
  Trigger: "Starts an additional run now, even while another run is running. Scheduled times stay.",
  Pause: "No run starts until you resume the schedule. Runs that have started continue.",
  Resume: "Starts runs again. The rule decides which of the missed times run now.",
};
const DONE: Readonly<Record<Action, string>> = {
  Trigger: "Triggered.",
  Pause: "Paused.",
  Resume: "Resumed.",
};
/** The event of a schedule that starts a run (src/schedule/state.ts). */
const TRIGGER = "trigger";

export function ScheduleActions({
  schedule,
  onDone,
}: {
  readonly schedule: Schedule;
  readonly onDone: () => void;
}): ReactElement | null {
  const [open, setOpen] = useState<Action | null>(null);
  const [reason, setReason] = useState("");
  const refusal = whyNot(useSession(), "operator", "Every action");
  const { name, instance } = schedule;
  if (!isLive(schedule)) return null;
  const run = async (action: Action): Promise<void> => {
    if (action === "Trigger") await instances.raise(name, { name: TRIGGER });
    else if (action === "Resume") await instances.resume(name);
    else await instances.pause(name, reason.trim() === "" ? {} : { reason: reason.trim() });
    toast(DONE[action]);
    onDone();
  };
  const button = (action: Action, kind?: string): ReactElement => (
    <button
      type="button"
      className="button"
      data-kind={kind}
      disabled={refusal !== null}
      title={refusal ?? DOES[action]}
      onClick={() => setOpen(action)}
    >
      {action}
    </button>
  );
  const isPaused = instance?.paused !== undefined;
  return (
    <div className="row" role="toolbar" aria-label="Actions">
      {isPaused ? null : button("Trigger", "primary")}
      {isPaused ? button("Resume", "primary") : button("Pause")}
      {refusal === null ? null : <span className="hint">{refusal}</span>}
      {open === null ? null : (
        <Dialog
          title={`${open} ${name}?`}
          confirm={open}
          onConfirm={() => run(open)}
          onClose={() => setOpen(null)}
        >
          <p>{DOES[open]}</p>
          {open !== "Pause" ? null : (
            <label className="field">
              <span>Reason</span>
              <input
                className="input"
                autoFocus
                maxLength={4_096}
                value={reason}
                onChange={(event) => setReason(event.target.value)}
              />
            </label>
          )}
        </Dialog>
      )}
    </div>
  );
}
