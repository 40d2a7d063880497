// Starts a new instance with a copy of this one's history up to an event.

import { useState, type ReactElement } from "react";
import { instances } from "../../api/endpoints.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { toast } from "../../parts/toasts.tsx";
import { addressTo, go } from "../../router/hash-location.ts";

export function ForkDialog({
  id,
  execution,
  before,
  onClose,
}: {
  readonly id: string;
  readonly execution: number;
  readonly before?: number | undefined;
  readonly onClose: () => void;
}): ReactElement {
  const [sequence, setSequence] = useState(before === undefined ? "" : String(before));
  const [newId, setNewId] = useState("");
  const isNumber = /^\d+$/.test(sequence) && Number(sequence) >= 2;
  const fork = async (): Promise<void> => {
    const made = await instances.fork(id, {
      beforeSequence: Number(sequence),
      execution,
      ...(newId.trim() === "" ? {} : { id: newId.trim() }),
    });
    toast(`Forked as ${made.id}.`);
    go(addressTo(["instances", made.id]));
  };
  return (
    <Dialog
      title={`Fork ${id}`}
      confirm="Fork"
      isReady={isNumber}
      onConfirm={fork}
      onClose={onClose}
    >
      <p>
        Creates a new instance with the events of execution {execution} before the event below. The
        new instance continues from there. This instance does not change.
      </p>
      <label className="field">
        <span>Before event number</span>
        <input
          className="input"
          inputMode="numeric"
          required
          autoFocus={before === undefined}
          value={sequence}
          aria-invalid={sequence !== "" && !isNumber}
          onChange={(event) => setSequence(event.target.value)}
        />
        <span className="hint">Must be 2 or more: event 1 is the start.</span>
      </label>
      <label className="field">
        <span>Id of the new instance (optional)</span>
        <input
          className="input mono"
          value={newId}
          onChange={(event) => setNewId(event.target.value)}
        />
      </label>
    </Dialog>
  );
}
