// The actions on a queue: pause, resume, and retry its failed jobs. Each asks for confirmation.

import { useState, type ReactElement } from "react";
import { queues } from "../api/endpoints.ts";
import { useSession, whyNot } from "../api/session.ts";
import { BulkDialog } from "../instances/bulk-dialog.tsx";
import type { QueueDetail } from "../api/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { plural } from "../parts/format.ts";
import { toast } from "../parts/toasts.tsx";

const RETRY = {
  title: "Retry",
  isDangerous: false,
  hasReason: true,
  does: "The activity of each failed job runs again from its first attempt, with the same input and the same idempotency key.",
};

interface DialogProps {
  readonly queue: QueueDetail;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function QueueActions({
  queue,
  onDone,
}: {
  readonly queue: QueueDetail;
  readonly onDone: () => void;
}): ReactElement {
  const [open, setOpen] = useState<"pause" | "resume" | "retry" | null>(null);
  const refusal = whyNot(useSession(), "operator", "Every action");
  const props = { queue, onDone, onClose: () => setOpen(null) };
  const button = (title: string, what: NonNullable<typeof open>): ReactElement => (
    <button
      type="button"
      className="button"
      disabled={refusal !== null}
      title={refusal ?? undefined}
      onClick={() => setOpen(what)}
    >
      {title}
    </button>
  );
  return (
    <div className="row" role="toolbar" aria-label="Actions">
      {queue.paused === undefined ? button("Pause", "pause") : button("Resume", "resume")}
      {queue.failures === 0 ? null : button("Retry failed jobs", "retry")}
      {refusal === null ? null : <span className="hint">{refusal}</span>}
      {open === "pause" ? <PauseDialog {...props} /> : null}
      {open === "resume" ? <ResumeDialog {...props} /> : null}
      {open === "retry" ? <RetryDialog {...props} /> : null}
    </div>
  );
}

function PauseDialog({ queue: { name }, onDone, onClose }: DialogProps): ReactElement {
  const [reason, setReason] = useState("");
  const run = async (): Promise<void> => {
    await queues.pause(name, reason.trim() === "" ? {} : { reason: reason.trim() });
    toast("Paused.");
    onDone();
  };
  return (
    <Dialog title={`Pause ${name}?`} confirm="Pause" onConfirm={run} onClose={onClose}>
      <p>
        No worker begins a task of this queue until you resume it. Running attempts finish, and new
        tasks wait.
      </p>
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
    </Dialog>
  );
}

function ResumeDialog({ queue: { name, depth }, onDone, onClose }: DialogProps): ReactElement {
  const run = async (): Promise<void> => {
    await queues.resume(name);
    toast("Resumed.");
    onDone();
  };
  return (
    <Dialog title={`Resume ${name}?`} confirm="Resume" onConfirm={run} onClose={onClose}>
      <p>Workers begin tasks of this queue again. {plural(depth, "task")} waiting.</p>
    </Dialog>
  );
}

function RetryDialog({ queue: { name }, onDone, onClose }: DialogProps): ReactElement {
  return (
    <BulkDialog
      action={RETRY}
      noun="failed job"
      send={(body) => queues.retryFailed(name, body)}
      onClose={onClose}
      onDone={onDone}
    />
  );
}
