// Raises an event: one that the instance waits for, or any other, which is kept until it is read.

import { useId, useState, type ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import type { Instance } from "../api/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { JsonField, parseJson } from "../parts/json-field.tsx";
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
  const raise = async (): Promise<void> => {
    await instances.raise(instance.id, {
      name: name.trim(),
      ...(parsed.kind === "value" ? { data: parsed.value } : {}),
    });
    toast(`Event "${name.trim()}" is raised.`);
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
        <span className="hint">
          {awaited.includes(name.trim())
            ? "The instance waits for it."
            : "Nothing waits for this name now; the event is kept until it is read."}
        </span>
      </label>
      <JsonField label="Data" text={data} onText={setData} />
    </Dialog>
  );
}
