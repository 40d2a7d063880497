// Asks for confirmation of an action, and for a reason if the action has one.

import { useState, type ReactElement } from "react";
import type { Instance } from "../api/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ReasonField } from "../parts/reason-field.tsx";
import { toast } from "../parts/toasts.tsx";
import type { Action } from "./actions.ts";
import { RepeatedWork } from "./repair/repeated-work.tsx";

export function ActionDialog({
  action,
  instance,
  onDone,
  onClose,
}: {
  readonly action: Action;
  readonly instance: Instance;
  readonly onDone: () => void;
  readonly onClose: () => void;
}): ReactElement {
  const [reason, setReason] = useState("");
  const { title, question, does, hasReason, isDangerous, repeatsWork, done } = action;
  const run = async (): Promise<void> => {
    await action.run(instance, reason.trim() === "" ? {} : { reason: reason.trim() });
    toast(done);
    onDone();
  };
  return (
    <Dialog
      title={question?.(instance.id) ?? `${title} ${instance.id}?`}
      confirm={title}
      tone={isDangerous === true ? "danger-fill" : "primary"}
      onConfirm={run}
      onClose={onClose}
    >
      <p>{does}</p>
      {repeatsWork === true ? <RepeatedWork id={instance.id} /> : null}
      {hasReason === true ? <ReasonField reason={reason} onReason={setReason} isFocused /> : null}
    </Dialog>
  );
}
