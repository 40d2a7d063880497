// The dialog that starts an instance: a registered name, an input, an id.

import { useId, useState, type ReactElement } from "react";
import { instances, store } from "../api/endpoints.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { JsonField } from "../forms/json-field.tsx";
import { parseJson } from "../forms/parsed-json.ts";
import { Dialog } from "../parts/dialog.tsx";
import { toast } from "../parts/toasts.tsx";
import { addressTo, go } from "../router/hash-location.ts";

export function StartDialog({ onClose }: { readonly onClose: () => void }): ReactElement {
  const [name, setName] = useState("");
  const [id, setId] = useState("");
  const [input, setInput] = useState("");
  const listId = useId();
  const { data: runtimes = [] } = useLoaded("runtimes", store.runtimes);
  const names = runtimes.flatMap(({ registered }) => registered?.orchestrations ?? []);
  const parsed = parseJson(input);
  const start = async (): Promise<void> => {
    const started = await instances.start({
      name: name.trim(),
      ...(id.trim() === "" ? {} : { id: id.trim() }),
      ...(parsed.kind === "value" ? { input: parsed.value } : {}),
    });
    toast(`Started ${started.id}.`);
    go(addressTo(["instances", started.id]));
  };
  return (
    <Dialog
      title="Start an instance"
      confirm="Start"
      isReady={name.trim() !== "" && parsed.kind !== "wrong"}
      onConfirm={start}
      onClose={onClose}
    >
      <label className="field">
        <span>Name of the orchestration or flow</span>
        <input
          className="input"
          required
          autoFocus
          list={listId}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <datalist id={listId}>
          {[...new Set(names.map((each) => each.name))].map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
      <label className="field">
        <span>Id (optional)</span>
        <input className="input mono" value={id} onChange={(event) => setId(event.target.value)} />
      </label>
      <JsonField label="Input" text={input} onText={setInput} />
    </Dialog>
  );
}
