// Deletes an instance permanently. For a live instance the user must type its id.

import { useState, type ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import type { Instance } from "../api/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { toast } from "../parts/toasts.tsx";
import { addressTo, go } from "../router/hash-location.ts";
import { isEnded } from "./actions.ts";

export function DeleteDialog({
  instance,
  onClose,
}: {
  readonly instance: Instance;
  readonly onClose: () => void;
}): ReactElement {
  const [typed, setTyped] = useState("");
  const needsForce = !isEnded(instance) || instance.parent !== undefined;
  const { id } = instance;
  const remove = async (): Promise<void> => {
    await instances.remove(id, needsForce);
    toast(`Deleted ${id}.`);
    go(addressTo(["instances"]));
  };
  return (
    <Dialog
      title={`Delete ${id}?`}
      confirm="Delete"
      tone="danger-fill"
      isReady={!needsForce || typed === id}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>Deletes the instance, its history and its children. This cannot be undone.</p>
      {needsForce ? (
        <label className="field">
          <span>
            {isEnded(instance)
              ? "This instance is a child of another instance."
              : "This instance has not ended."}{" "}
            Type its id to delete it anyway.
          </span>
          <input
            className="input mono"
            autoFocus
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
      ) : null}
    </Dialog>
  );
}
