// Raises an event. An event that the instance does not wait for stays unread until the code waits for it.

import { useId, useState, type ReactElement } from "react";
import { whyNotAwaited } from "../../../src/core/history/awaited-event.ts";
import { instances } from "../api/endpoints.ts";
import type { Instance } from "../api/types.ts";
import { JsonField } from "../forms/json-field.tsx";
import { parseJson } from "../forms/parsed-json.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { toast } from "../parts/toasts.tsx";

export function RaiseDialog({
  instance,
  name: given,
  onDone,
  onClose,
}: {
  readonly instance: Instance;
  readonly name?: string | undefined;
  readonly onDone: () => void;
  readonly onClose: () => void;
}): ReactElement {
  const awaited = instance.waitingFor.flatMap((wait) =>
    wait.kind === "event" && wait.internal !== true ? [wait.name] : [],
  );
  const [name, setName] = useState(given ?? awaited[0] ?? "");
  const [data, setData] = useState("");
  const listId = useId();
  const parsed = parseJson(data);
  const warning = name.trim() === "" ? undefined : whyNotAwaited(instance, name.trim());
  const raise = async (): Promise<void> => {
    await instances.raise(instance.id, {
      name: name.trim(),
      ...(parsed.kind === "value" ? { data: parsed.value } : {}),
    });
    const raised = `Raised "${name.trim()}".`;
    toast(
      warning === undefined ? raised : `${raised} ${warning}`,
      warning === undefined ? "good" : "warn",
    );
    onDone();
  };
  return (
    <Dialog
      title="Raise an event"
      confirm="Raise"
      isReady={name.trim() !== "" && parsed.kind !== "wrong"}
      onConfirm={raise}
      onClose={onClose}
    >
      <label className="field">
        <span>Name</span>
        <input
          className="input"
          required
          autoFocus={name === ""}
          list={listId}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <datalist id={listId}>
          {[...new Set(awaited)].map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
      <div role="status">
        {warning !== undefined ? (
          <p className="note" data-tone="warn">
            <Icon name="warning" />
            <span className="grow">{warning}</span>
          </p>
        ) : awaited.includes(name.trim()) ? (
          <p className="hint">The instance waits for this event.</p>
        ) : null}
      </div>
      <JsonField label="Data" text={data} onText={setData} />
    </Dialog>
  );
}
