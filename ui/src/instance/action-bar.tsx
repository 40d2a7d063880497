// Buttons for the actions that the state of the instance allows.

import { useState, type ReactElement } from "react";
import { useSession, whyNot } from "../api/session.ts";
import type { Instance, Role } from "../api/types.ts";
import { ActionDialog } from "./action-dialog.tsx";
import { ACTIONS, canRetry, isEnded, type Action } from "./actions.ts";
import { AskDialog, servedNames } from "./ask-dialog.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { RaiseDialog } from "./raise-dialog.tsx";
import { EditDialog } from "./repair/edit-dialog.tsx";
import { ForkDialog } from "./repair/fork-dialog.tsx";
import { RewindDialog } from "./repair/rewind-dialog.tsx";

type Open = Action | "raise" | "ask" | "retry" | "edit" | "fork" | "delete" | null;

export function ActionBar({
  instance,
  onDone,
}: {
  readonly instance: Instance;
  readonly onDone: () => void;
}): ReactElement {
  const session = useSession();
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const button = (title: string, what: Open, role: Role, kind?: string): ReactElement => {
    const refusal = whyNot(session, role);
    return (
      <button
        key={title}
        type="button"
        className="button"
        data-kind={kind}
        disabled={refusal !== null}
        title={refusal ?? undefined}
        onClick={() => setOpen(what)}
      >
        {title}
      </button>
    );
  };
  const refusals = new Set([
    whyNot(session, "operator", "Every action"),
    whyNot(session, "admin", "Delete"),
  ]);
  const awaitsEvent =
    instance.blocked === undefined &&
    instance.waitingFor.some((wait) => wait.kind === "event" && wait.internal !== true);
  return (
    <div className="row" role="toolbar" aria-label="Actions">
      {canRetry(instance)
        ? button("Retry", "retry", "operator", isEnded(instance) ? "primary" : undefined)
        : null}
      {isEnded(instance)
        ? null
        : button("Raise event", "raise", "operator", awaitsEvent ? "primary" : undefined)}
      {isEnded(instance) || servedNames(instance).length === 0
        ? null
        : button("Ask", "ask", "operator", "primary")}
      {ACTIONS.filter(({ isOpen }) => isOpen(instance)).map((action) =>
        button(action.title, action, action.role, action.isDangerous ? "danger" : undefined),
      )}
      {isEnded(instance) ? button("Edit and run again", "edit", "operator") : null}
      {button("Fork", "fork", "operator")}
      {button("Delete", "delete", "admin", "danger")}
      {[...refusals].map((refusal) =>
        refusal === null ? null : (
          <span key={refusal} className="hint">
            {refusal}
          </span>
        ),
      )}
      {typeof open === "object" && open !== null ? (
        <ActionDialog action={open} instance={instance} onDone={onDone} onClose={close} />
      ) : null}
      {open === "raise" ? (
        <RaiseDialog instance={instance} onDone={onDone} onClose={close} />
      ) : null}
      {open === "ask" ? <AskDialog instance={instance} onDone={onDone} onClose={close} /> : null}
      {open === "retry" ? (
        <RewindDialog instance={instance} onDone={onDone} onClose={close} />
      ) : null}
      {open === "edit" ? <EditDialog instance={instance} onDone={onDone} onClose={close} /> : null}
      {open === "fork" ? (
        <ForkDialog id={instance.id} execution={instance.execution} onClose={close} />
      ) : null}
      {open === "delete" ? <DeleteDialog instance={instance} onClose={close} /> : null}
    </div>
  );
}
