// Runs an ended instance again from the start with another input, or another version of its code.

import { useState, type ReactElement } from "react";
import { inspect, instances, store } from "../../api/endpoints.ts";
import type { HistoryEvent, Instance } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { JsonField } from "../../forms/json-field.tsx";
import { parseJson } from "../../forms/parsed-json.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { shortVersion } from "../../parts/format.ts";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { ReasonField } from "../../parts/reason-field.tsx";
import { toast } from "../../parts/toasts.tsx";
import { isUnreadable } from "../../values/shown-value.ts";
import { RepeatedWork } from "./repeated-work.tsx";

export function EditDialog({
  instance,
  onDone,
  onClose,
}: {
  readonly instance: Instance;
  readonly onDone: () => void;
  readonly onClose: () => void;
}): ReactElement {
  const { id, name, execution } = instance;
  const [edited, setEdited] = useState<string | null>(null);
  const [version, setVersion] = useState("");
  const [reason, setReason] = useState("");
  const start = useLoaded(`event ${id} ${execution} 1`, (signal) =>
    inspect.event(id, 1, execution, signal),
  );
  const { data: runtimes = [] } = useLoaded("runtimes", store.runtimes);
  const text = edited ?? (start.data === undefined ? "" : inputText(start.data));
  const parsed = parseJson(text);
  const versions = [
    ...new Set(
      runtimes
        .flatMap(({ registered }) => registered?.orchestrations ?? [])
        .flatMap((each) => (each.name === name ? each.versions : [])),
    ),
  ].filter((each) => each !== instance.version);
  const run = async (): Promise<void> => {
    await instances.restart(id, {
      ...(edited === null ? {} : { input: parsed.kind === "value" ? parsed.value : UNDEFINED }),
      ...(version === "" ? {} : { version }),
      ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
    });
    toast("Running again from the start.");
    onDone();
  };
  return (
    <Dialog
      title={`Edit the input of ${id} and run it again?`}
      confirm="Run again"
      isReady={start.data !== undefined && parsed.kind !== "wrong"}
      onConfirm={run}
      onClose={onClose}
    >
      <p>Runs the code again from the start, as a new execution.</p>
      <RepeatedWork id={id} />
      {start.problem !== undefined ? (
        <ProblemNote problem={start.problem} retry={start.refresh} />
      ) : start.data === undefined ? (
        <Loading rows={2} />
      ) : (
        <>
          {isUnreadable(start.data.input) ? (
            <p className="hint">The input cannot be read. Unless you enter one, it stays.</p>
          ) : null}
          <JsonField label="Input" text={text} onText={setEdited} />
        </>
      )}
      <label className="field">
        <span>Version</span>
        <select
          className="input"
          value={version}
          onChange={({ target: { value } }) => setVersion(value)}
        >
          <option value="">{shortVersion(instance.version)} (as before)</option>
          {versions.map((each) => (
            <option key={each} value={each}>
              {shortVersion(each)}
            </option>
          ))}
        </select>
      </label>
      <ReasonField reason={reason} onReason={setReason} />
    </Dialog>
  );
}

/** The HTTP form of undefined (src/server/views/values.ts). */
const UNDEFINED = { $perdure: ["~u"] };

function inputText({ input }: HistoryEvent): string {
  return input === undefined || isUnreadable(input) ? "" : JSON.stringify(input, null, 2);
}
